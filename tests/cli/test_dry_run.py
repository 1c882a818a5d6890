"""Server dry runs on a real API server: it checks what would be sent, and keeps nothing."""

from __future__ import annotations

import asyncio
import secrets

import pytest

from tests.cli.conftest import Tidegate
from tests.kinds.installing import install
from tests.parts.kubernetes import real_api
from tidegate.cli.objects.api_client import open_api

__all__ = ["real_api"]

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def installed(real_api: str) -> str:
    """Return the kubeconfig of a control plane with CRDs and policies."""
    asyncio.run(install(real_api))
    return real_api


@pytest.fixture
def name(installed: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Lend the name of a ClusterQueue that no other test has."""
    monkeypatch.setenv("KUBECONFIG", installed)
    return f"dry-{secrets.token_hex(4)}"


def test_a_stop_is_checked_and_not_kept(tidegate: Tidegate, installed: str, name: str) -> None:
    root = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues"
    queue = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue"}
    with open_api(installed) as api:
        api.request("POST", root, {**queue, "metadata": {"name": name}, "spec": {}})
        stopped = tidegate("stop", "cq", name, "--dry-run", "server")
        assert stopped.stdout == f"clusterqueue.kueue.x-k8s.io/{name} stopped (server dry run)\n"
        assert api.request("GET", f"{root}/{name}")["spec"].get("stopPolicy", "None") == "None"
        api.request("DELETE", f"{root}/{name}")


def test_the_doctor_finds_what_was_installed(tidegate: Tidegate, name: str) -> None:
    assert name
    parts = tidegate("doctor", "--only", "cluster", "-o", "name").stdout.split()
    assert {"ApiAnswers", "CrdsInPlace"} <= set(parts)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("stop", "lq", "lost", "-n", "a"), "There is no LocalQueue lost in namespace a: kubectl"),
        (("resume", "cq", "lost"), "There is no ClusterQueue lost: kubectl get clusterqueues"),
        (("stop", "cq/lost"), "There is no ClusterQueue lost: kubectl get clusterqueues"),
        (("resume", "wl/lost", "-n", "a"), "There is no Workload lost in namespace a: kubectl"),
    ],
)
def test_what_is_not_there_is_named_with_its_namespace(
    tidegate: Tidegate, name: str, words: tuple[str, ...], text: str
) -> None:
    assert name
    missed = tidegate(*words)
    assert (missed.exit_code, text in missed.stderr) == (1, True), missed.stderr
