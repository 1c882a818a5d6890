"""The read API behind a real API server: as an aggregated API, with a person's own rights.

The server reads the sample's ledger. The Service is a name of this machine, so no pod is needed.
"""

from __future__ import annotations

import base64
import os
import signal
import ssl
import sys
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
import yaml

from tests.deploy.rendering import registered
from tests.e2e.cast import until
from tests.parts.certificates import write_certificate
from tests.parts.sample import TURNS, filled
from tidegate.cluster.go.plane import ControlPlane
from tidegate.cluster.processes import Process, spawn, stop
from tidegate.kube.client import KubernetesClient, connect
from tidegate.kube.credentials import Access
from tidegate.ports import free_ports

pytestmark = pytest.mark.real
VISIBILITY = "/apis/visibility.kueue.x-k8s.io"
WHY = "/apis/read.tidegate.dev/v1/namespaces/{}/workloads/{}/why"
SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
NAMES = ["tidegate-serve.tidegate-system.svc", "localhost"]
RULES = [
    {"apiGroups": ["kueue.x-k8s.io"], "resources": ["workloads"], "verbs": ["get", "list"]},
    {"apiGroups": ["read.tidegate.dev"], "resources": ["workloads/why"], "verbs": ["get"]},
    {
        "apiGroups": ["visibility.kueue.x-k8s.io"],
        "resources": ["localqueues/pendingworkloads"],
        "verbs": ["get"],
    },
]


class Served(NamedTuple):
    """A server of the sample's ledger, and the API server that passes on to it."""

    admin: KubernetesClient
    ann: KubernetesClient
    process: Any
    port: int
    certificate: Path


@pytest.fixture
async def served(own_plane: ControlPlane, tmp_path: Path) -> AsyncIterator[Served]:
    """Lend a registered server; ann may view namespace a."""
    with filled(f"sqlite:///{tmp_path / 'ledger.db'}", TURNS):
        process, port, certificate = serve(
            str(own_plane.kubeconfig), str(tmp_path / "ledger.db"), tmp_path
        )
    kubeconfig = str(own_plane.kubeconfig)
    async with (
        connect(Access(kubeconfig=kubeconfig)) as admin,
        connect(Access(kubeconfig=kubeconfig, impersonate="ann")) as ann,
    ):
        await register(admin, port, certificate)
        await reached(admin)
        yield Served(admin, ann, process, port, certificate)
        await unregister(admin)
    stop(process, signal.SIGTERM)


def serve(kubeconfig: str, ledger: str, folder: Path) -> tuple[Process, int, Path]:
    """Start a server; return it, its port and its certificate."""
    (port,) = free_ports(1)
    certificate, key = write_certificate(folder, NAMES)
    words = ["serve", "--auth", "--visibility", "--port", str(port)]
    words += ["--tls-cert", str(certificate), "--tls-key", str(key)]
    command = [sys.executable, "-m", "tidegate.cli.main", *words]
    given = {**os.environ, "KUBECONFIG": kubeconfig, "TIDEGATE_LEDGER": ledger}
    return spawn("serve", command, folder / "serve.log", given), port, certificate


async def register(admin: KubernetesClient, port: int, certificate: Path) -> None:
    bundle = base64.b64encode(certificate.read_bytes()).decode()
    for name in ("tidegate-system", "a"):
        await post(admin, "/api/v1/namespaces", {"metadata": {"name": name}})
    service = {
        "metadata": {"name": "tidegate-serve"},
        "spec": {"type": "ExternalName", "externalName": "localhost"},
    }
    await post(admin, "/api/v1/namespaces/tidegate-system/services", service)
    for obj in registered():
        obj["spec"] |= {"caBundle": bundle}
        obj["spec"]["service"]["port"] = port
        await post(admin, SERVICES, obj)
    await post(admin, f"{RBAC}/namespaces/a/roles", {"metadata": {"name": "view"}, "rules": RULES})
    binding = {
        "metadata": {"name": "view"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "view"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ann"}],
    }
    await post(admin, f"{RBAC}/namespaces/a/rolebindings", binding)


async def unregister(admin: KubernetesClient) -> None:
    for obj in registered():
        await admin.request("DELETE", f"{SERVICES}/{obj['metadata']['name']}")


async def post(admin: KubernetesClient, path: str, body: dict[str, Any]) -> None:
    answer = await admin.request("POST", path, body=msgspec.json.encode(body))
    assert answer.status in {201, 409}, answer.body


async def available(admin: KubernetesClient, name: str, wanted: str) -> bool:
    answer = await admin.request("GET", f"{SERVICES}/{name}")
    conditions = msgspec.json.decode(answer.body).get("status", {}).get("conditions", [])
    return [
        condition["status"] for condition in conditions if condition["type"] == "Available"
    ] == [wanted]


async def reached(admin: KubernetesClient) -> None:
    """Wait until requests are passed on to the server."""
    for name in ("v1beta1.visibility.kueue.x-k8s.io", "v1.read.tidegate.dev"):
        await until(partial(available, admin, name, "True"), name, 60)
    for path in (f"{VISIBILITY}/v1beta1", f"{VISIBILITY}/v1beta2", "/apis/read.tidegate.dev/v1"):
        await until(partial(passed_on, admin, path), path, 60)


async def passed_on(admin: KubernetesClient, path: str) -> bool:
    """Tell whether requests reach the server: that comes some time after it is called available."""
    return (await admin.request("GET", path)).status == 200


async def get_json(api: KubernetesClient, path: str) -> tuple[int, Any]:
    answer = await api.request("GET", path)
    return answer.status, msgspec.json.decode(answer.body)


async def test_kueues_paths_answer_through_the_api_server(served: Served) -> None:
    for version in ("v1beta1", "v1beta2"):
        root = f"{VISIBILITY}/{version}"
        status, obj = await get_json(served.admin, f"{root}/clusterqueues/team-a/pendingworkloads")
        assert status == 200, obj
        assert obj["apiVersion"] == f"visibility.kueue.x-k8s.io/{version}"
        assert [obj["metadata"]["name"] for obj in obj["items"]] == ["job-huge-d526e"]
    status, obj = await get_json(
        served.ann, f"{VISIBILITY}/v1beta2/namespaces/a/localqueues/main/pendingworkloads"
    )
    assert (status, len(obj["items"])) == (200, 1)


async def test_a_user_reads_why_by_their_own_rights(served: Served) -> None:
    status, value = await get_json(served.ann, WHY.format("a", "sweep"))
    assert (status, value["clusterQueue"]) == (200, "team-a")
    assert "job-urgent" not in str(value)
    refused = [
        WHY.format("b", "urgent"),
        f"{VISIBILITY}/v1beta2/clusterqueues/team-a/pendingworkloads",
        f"{VISIBILITY}/v1beta2/namespaces/b/localqueues/main/pendingworkloads",
    ]
    for path in refused:
        assert (await get_json(served.ann, path))[0] == 403, path


async def test_headers_of_a_stranger_count_for_nothing(served: Served) -> None:
    context = ssl.create_default_context(cafile=str(served.certificate))
    url = (
        f"https://localhost:{served.port}{VISIBILITY}/v1beta2/clusterqueues/team-a/pendingworkloads"
    )
    headers = {"X-Remote-User": "admin", "X-Remote-Group": "system:masters"}
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(urllib.request.Request(url, headers=headers), context=context)  # noqa: ASYNC210 - our server
    caught.value.close()
    assert caught.value.code == 401


async def test_its_outage_keeps_no_namespace_where_it_is_guarded(
    served: Served, own_plane: ControlPlane, tmp_path: Path
) -> None:
    process = guarded(served, own_plane, tmp_path)
    stop(served.process, signal.SIGKILL)
    name = "v1beta2.visibility.kueue.x-k8s.io"

    async def unregistered() -> bool:
        return (await served.admin.request("GET", f"{SERVICES}/{name}")).status == 404

    async def gone() -> bool:
        return (await get_json(served.admin, "/api/v1/namespaces/leaves"))[0] == 404

    try:
        await post(served.admin, "/api/v1/namespaces", {"metadata": {"name": "leaves"}})
        await served.admin.request("DELETE", "/api/v1/namespaces/leaves")
        await until(unregistered, "the guard takes it off", 90)
        await until(gone, "the namespace goes", 90)
    finally:
        stop(process, signal.SIGTERM)


def guarded(served: Served, plane: ControlPlane, folder: Path) -> Process:
    """Start a guard of what is registered."""
    listed = [
        {**obj, "spec": {**obj["spec"], "service": {**obj["spec"]["service"], "port": served.port}}}
        for obj in registered()
    ]
    (folder / "services.yaml").write_text(yaml.safe_dump_all(listed))
    words = ["guard", "--services", str(folder / "services.yaml")]
    words += ["--ca", str(served.certificate), "--url", f"https://localhost:{served.port}"]
    command = [sys.executable, "-m", "tidegate.cli.main", *words]
    given = {**os.environ, "KUBECONFIG": str(plane.kubeconfig)}
    return spawn("guard", command, folder / "guard.log", given)
