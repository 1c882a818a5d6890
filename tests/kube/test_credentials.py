"""How a client finds its API server and shows who it is, in a pod and with a URL."""

from __future__ import annotations

import ssl
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from tests.kube.test_client import PATH
from tests.parts.certificates import write_certificate
from tidegate.errors import ApiUnreachableError, NotSupportedError
from tidegate.kube import credentials
from tidegate.kube.client import connect
from tidegate.kube.credentials import Access, find_server

SHOWN = "Bearer"


@pytest.fixture
def account(tmp_path: Path) -> Path:
    """Return the folder of a pod's service account, with the authority of ``cluster``."""
    certificate, _ = write_certificate(tmp_path, ["kubernetes.default.svc"])
    (tmp_path / "ca.crt").write_bytes(certificate.read_bytes())
    (tmp_path / "token").write_text("first\n")
    return tmp_path


@asynccontextmanager
async def cluster(
    account: Path, monkeypatch: pytest.MonkeyPatch, accepted: tuple[str, ...] = ("first", "second")
) -> AsyncGenerator[list[str]]:
    """Serve an API server as a pod sees it; lend the tokens that were shown to it."""
    shown: list[str] = []

    async def answer(request: web.BaseRequest) -> web.Response:
        scheme, _, token = request.headers["Authorization"].partition(" ")
        assert scheme == SHOWN
        shown.append(token)
        return web.Response(status=200 if token in accepted else 401)

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(account / "serve.crt", account / "serve.key")
    runner = web.ServerRunner(web.Server(answer), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(runner.addresses[0][1]))
    try:
        yield shown
    finally:
        await runner.cleanup()


@pytest.mark.parametrize("quick", [False, True])
async def test_a_pod_shows_the_token_of_its_service_account(
    account: Path, monkeypatch: pytest.MonkeyPatch, *, quick: bool
) -> None:
    async with (
        cluster(account, monkeypatch) as shown,
        connect(Access(service_account=account, quick=quick)) as api,
    ):
        assert (await api.request("GET", PATH)).status == 200
    assert shown == ["first"]


async def test_a_token_that_the_kubelet_renewed_is_read(
    account: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(credentials, "TOKEN_S", 0.0)
    async with (
        cluster(account, monkeypatch) as shown,
        connect(Access(service_account=account)) as api,
    ):
        (account / "token").write_text("second")
        await api.request("GET", PATH)
        for content in ("", "two\nlines"):
            (account / "token").write_text(content)
            await api.request("GET", PATH)
        (account / "token").unlink()
        await api.request("GET", PATH)
    assert shown == ["second"] * 4


async def test_a_token_that_the_server_refuses_is_read_again_at_once(
    account: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        cluster(account, monkeypatch, accepted=("second",)) as shown,
        connect(Access(service_account=account)) as api,
    ):
        (account / "token").write_text("second")
        assert (await api.request("GET", PATH)).status == 200
    assert shown == ["first", "second"]


async def test_a_pod_trusts_its_clusters_authority_alone(
    account: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other, _ = write_certificate(tmp_path_factory.mktemp("other"), ["kubernetes.default.svc"])
    async with cluster(account, monkeypatch) as shown:
        (account / "ca.crt").write_bytes(other.read_bytes())
        async with connect(Access(service_account=account)) as api:
            with pytest.raises(ApiUnreachableError, match="certificate"):
                await api.request("GET", PATH)
    assert not shown


async def test_an_ipv6_address_is_put_in_brackets(
    account: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with cluster(account, monkeypatch):
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
        assert (await find_server(Access(service_account=account))).url == "https://[fd00::1]:443"


@pytest.mark.parametrize("missing", ["ca.crt", "token", "KUBERNETES_SERVICE_PORT"])
async def test_what_a_pod_lacks_is_named(
    account: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    async with cluster(account, monkeypatch):
        monkeypatch.delenv(missing, raising=False)
        (account / missing).unlink(missing_ok=True)
        with pytest.raises(NotSupportedError, match=rf"(?s){missing}.*give a URL, a kubeconfig"):
            async with connect(Access(service_account=account)):
                pass


@pytest.mark.parametrize("token", ["a\r\nX-Remote-User: admin", " \n"])
async def test_a_token_that_is_no_line_is_refused(token: str) -> None:
    with pytest.raises(NotSupportedError, match="the token is empty, or more than a line"):
        async with connect(Access(url="http://127.0.0.1:1", token=token)):
            pass


@pytest.mark.parametrize("service", ["ingest", "actuator"])
def test_a_service_in_a_pod_never_loads_the_client_library(service: str) -> None:
    code = f"import sys, {service}.__main__; sys.exit('kubernetes' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
