"""ClusterProfiles: which cluster and plugin count, and what a plugin is told and may say.

Source: multikueue.md 1.1 and 5.1 case 7.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any, Final

import pytest
from aiohttp import web
from msgspec.structs import replace

from dispatcher.manager import plugins
from dispatcher.manager.credentials import Credentials, KubeconfigReader, Sources, credentials_of
from dispatcher.manager.plugins import Plugin, log_in
from dispatcher.workers.fleet import client_of
from dispatcher.workers.kubeconfig import Refusal
from tests.kube.test_client import server
from tidegate.errors import ApiUnreachableError
from tidegate.service.config.access_providers import AccessProvider, ExecConfig, PluginVariable

NOT_UNDERSTOOD = (
    'cluster profile "p" is not understood: Expected `array`, got `int` - at `$.accessProviders`'
)
V1: Final = "client.authentication.k8s.io/v1"
LOGIN = ExecConfig(command="corp-login", api_version=V1, interactive_mode="Never")
CORP = AccessProvider(name="corp", exec_config=LOGIN)
CLOUD = AccessProvider(name="cloud", exec_config=replace(LOGIN, command="cloud-login"))
Object = dict[str, Any]


def access(name: str, server: str = "https://w1.example:6443", **more: Any) -> Object:  # noqa: ANN401 - fields of a cluster
    return {"name": name, "cluster": {"server": server, **more}}


async def found(
    providers: tuple[AccessProvider, ...] | None, status: Object | None
) -> Credentials | Refusal:
    """Return what a MultiKueueCluster of the profile ``p`` is reached by; None: there is none."""
    profiles: dict[str, Object] = {} if status is None else {"ours/p": {"status": status}}
    cluster = {"spec": {"clusterSource": {"clusterProfileRef": {"name": "p"}}}}
    return await credentials_of(
        cluster,
        Sources(namespace="ours", profiles=profiles, providers=providers),
        KubeconfigReader(),
    )


@pytest.mark.parametrize(
    ("providers", "status", "reason", "error"),
    [
        (
            None,
            {},
            "MultiKueueClusterProfileFeatureDisabled",
            "MultiKueueClusterProfile feature gate is disabled",
        ),
        (
            (CORP,),
            None,
            "BadClusterProfile",
            'clusterprofiles.multicluster.x-k8s.io "p" not found',
        ),
        ((), {}, "BadClusterProfile", "no access provider configured"),
        (
            (CORP,),
            {"accessProviders": [access("other")]},
            "BadClusterProfile",
            'no matching cluster accessor found for cluster profile "p"',
        ),
        (
            (CORP,),
            {"accessProviders": [access("corp", "https://no name")]},
            "BadRestConfig",
            "untrusted server endpoint",
        ),
        (
            (CORP,),
            {"accessProviders": 7},
            "BadClusterProfile",
            NOT_UNDERSTOOD,
        ),
    ],
)
async def test_why_a_profile_is_not_used(
    providers: tuple[AccessProvider, ...] | None, status: Object | None, reason: str, error: str
) -> None:
    assert await found(providers, status) == Refusal(reason=reason, error=error)


async def test_the_first_configured_plugin_that_a_profile_has_counts() -> None:
    status = {
        "credentialProviders": [access("corp", "https://old.example")],
        "accessProviders": [access("cloud"), access("corp", "https://new.example")],
    }
    used = await found((CORP, CLOUD), status)
    assert isinstance(used, Credentials)
    assert used.plugin == Plugin(config=LOGIN)
    (cluster,) = used.document["clusters"]
    assert cluster["cluster"] == {"server": "https://new.example"}


async def test_a_profile_can_neither_loosen_tls_nor_add_to_a_plugin() -> None:
    documents = [
        {"name": "clusterprofiles.multicluster.x-k8s.io/exec/additional-args", "extension": 1}
    ]
    more: Object = {"insecure-skip-tls-verify": True, "certificate-authority": "/etc/shadow"}
    kept = {"certificate-authority-data": "QQ==", "proxy-url": "http://proxy.example"}
    status = {"accessProviders": [access("corp", extensions=documents, **more, **kept)]}
    used = await found((CORP,), status)
    assert isinstance(used, Credentials)
    (cluster,) = used.document["clusters"]
    assert cluster["cluster"] == {"server": "https://w1.example:6443", **kept}
    assert used.plugin == Plugin(config=LOGIN)


async def test_a_plugin_gets_the_cluster_where_the_configuration_asks_for_it() -> None:
    documents = [{"name": "client.authentication.k8s.io/exec", "extension": {"clusterName": "one"}}]
    status = {"accessProviders": [access("corp", extensions=documents)]}
    asking = replace(CORP, exec_config=replace(LOGIN, provide_cluster_info=True))
    used = await found((asking,), status)
    assert isinstance(used, Credentials)
    assert used.plugin is not None
    assert used.plugin.cluster == {
        "server": "https://w1.example:6443",
        "config": {"clusterName": "one"},
    }


def plugin(tmp_path: Path, program: str, **more: object) -> Plugin:
    """Return a plugin that is a Python program."""
    path = tmp_path / "login.py"
    path.write_text(program)
    config = replace(LOGIN, command=sys.executable, args=(str(path),))
    return Plugin(config=replace(config, **more))


def printing(status: Object, version: str = V1) -> str:
    """Return a program that prints an ExecCredential."""
    credential = {"apiVersion": version, "kind": "ExecCredential", "status": status}
    return f"print({json.dumps(json.dumps(credential))})"


async def test_a_plugin_sees_what_it_needs_and_no_setting_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = (
        "import json, os; e = os.environ; "
        "seen = [e.get('TIDEGATE_NATS_URL'), e['OWN'], e['REGION'], e['KUBERNETES_EXEC_INFO']]; "
        f"print(json.dumps({{'apiVersion': '{V1}', 'status': {{'token': json.dumps(seen)}}}}))"
    )
    monkeypatch.setenv("TIDEGATE_NATS_URL", "nats://dispatcher:secret@nats.example")
    monkeypatch.setenv("REGION", "north")
    used = plugin(tmp_path, program, env=(PluginVariable(name="OWN", value="1"),))
    user = await log_in(replace(used, cluster={"server": "https://w1.example"}))
    bus, own, region, info = json.loads(user["token"])
    assert (bus, own, region) == (None, "1", "north")
    assert json.loads(info) == {
        "apiVersion": V1,
        "kind": "ExecCredential",
        "spec": {"interactive": False, "cluster": {"server": "https://w1.example"}},
    }


async def test_a_plugin_may_log_in_with_a_certificate(tmp_path: Path) -> None:
    status = {"clientCertificateData": "PEM", "clientKeyData": "KEY"}
    user = await log_in(plugin(tmp_path, printing(status)))
    assert user == {"client-certificate-data": "UEVN", "client-key-data": "S0VZ"}


LEAVING = """
import subprocess, sys
subprocess.run([sys.executable, "-c", "import time; time.sleep(20)"])
"""
"""Waits for a process that goes on when it is killed, and has its output open."""


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("import sys; print('hunter2', file=sys.stderr); sys.exit(3)", "failed with exit code 3"),
        ("print('hunter2')", "printed no ExecCredential"),
        ("print('x' * 2_000_000)", "printed no ExecCredential"),
        (printing({"token": "hunter2"}, "other/v1"), f"printed another version than {V1}"),
        (printing({"clientKeyData": "hunter2"}), "printed neither a token nor a certificate"),
        ("import time; time.sleep(600)", "took longer than 0.5 s"),
        (LEAVING, "took longer than 0.5 s"),
    ],
)
async def test_what_a_plugin_does_wrong_is_said_and_nothing_that_it_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, why: str
) -> None:
    if "took" in why:
        monkeypatch.setattr(plugins, "PLUGIN_S", 0.5)
    with pytest.raises(ApiUnreachableError, match=why) as error:
        async with asyncio.timeout(10):  # no login waits for what a plugin leaves behind
            await log_in(plugin(tmp_path, program))
    assert "hunter2" not in str(error.value)


async def test_a_plugin_that_is_not_there_is_named_with_what_to_install() -> None:
    config = replace(LOGIN, command="/nowhere/login", install_hint="Install corp-tools.")
    with pytest.raises(ApiUnreachableError, match=r"/nowhere/login no such file .* corp-tools\.$"):
        await log_in(Plugin(config=config))


async def test_a_login_that_expired_is_asked_for_again(tmp_path: Path) -> None:
    """The plugin counts its logins; the server takes the second token only."""

    async def answer(request: web.BaseRequest) -> web.Response:
        fresh = request.headers["Authorization"] == "Bearer 2"
        return web.Response(status=200 if fresh else 401)

    count = tmp_path / "count"
    program = f"""
import json, pathlib
count = pathlib.Path({str(count)!r})
seen = int(count.read_text()) + 1 if count.exists() else 1
count.write_text(str(seen))
print(json.dumps({{"apiVersion": "{V1}", "status": {{"token": str(seen)}}}}))
"""
    async with server(answer) as url:
        used = await found(
            (replace(CORP, exec_config=plugin(tmp_path, program).config),),
            {"accessProviders": [access("corp", url)]},
        )
        assert isinstance(used, Credentials)
        async with client_of(used) as api:
            assert (await api.request("GET", "/apis")).status == 200
