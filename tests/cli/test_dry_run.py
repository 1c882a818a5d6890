"""Server dry runs on a real API server: it checks what would be sent, and keeps nothing."""

from __future__ import annotations

import asyncio
import secrets

import pytest

from tests.cli.conftest import Tidegate
from tests.kinds.installing import install
from tests.parts.kubernetes import real_api

__all__ = ["real_api"]

pytestmark = pytest.mark.real
QUOTA = ("--nominal-quota", "default:cpu=8")


@pytest.fixture(scope="module")
def installed(real_api: str) -> str:
    """Return the kubeconfig of a control plane with CRDs and policies."""
    asyncio.run(install(real_api))
    return real_api


@pytest.fixture
def name(installed: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Lend the name of a ClusterQueue that nobody else has."""
    monkeypatch.setenv("KUBECONFIG", installed)
    return f"dry-{secrets.token_hex(4)}"


def test_a_queue_is_checked_and_not_kept(tidegate: Tidegate, name: str) -> None:
    dry = ("--dry-run", "server")
    result = tidegate("create", "cq", name, *QUOTA, *dry)
    assert result.stdout == f"clusterqueue.kueue.x-k8s.io/{name} created (server dry run)\n"
    assert name not in tidegate("list", "cq", "-o", "name").stdout
    refused = tidegate("create", "cq", name, "--queuing-strategy", "Fastest", *dry)
    assert refused.exit_code == 1
    assert "queueingStrategy" in refused.stderr


def test_a_stop_and_a_deletion_are_not_kept(tidegate: Tidegate, name: str) -> None:
    dry = ("--dry-run", "server")
    assert tidegate("create", "cq", name, *QUOTA).exit_code == 0
    stopped = tidegate("stop", "cq", name, *dry)
    assert stopped.stdout == f"clusterqueue.kueue.x-k8s.io/{name} stopped (server dry run)\n"
    deleted = tidegate("delete", "cq", name, *dry)
    assert deleted.stdout == f"clusterqueue.kueue.x-k8s.io/{name} deleted (server dry run)\n"
    listed = tidegate("list", "cq", "--field-selector", f"metadata.name={name}", "-o", "wide")
    assert "HoldAndDrain" not in listed.stdout
    assert name in listed.stdout
    assert tidegate("delete", "cq", name).exit_code == 0


def test_the_doctor_finds_what_was_installed(tidegate: Tidegate, name: str) -> None:
    assert name
    told = tidegate("doctor", "--only", "cluster", "-o", "name").stdout.split()
    assert {"ApiAnswers", "CrdsInPlace"} <= set(told)
