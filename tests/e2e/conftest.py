"""A control plane of our own, with Tidegate's objects in it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator, Generator
from pathlib import Path

import pytest

from tests.parts.kubernetes import own_api, own_plane
from tests.parts.standby import pair
from tidegate.cluster.install import install, manifests_folder
from tidegate.kube.client import connect
from tidegate.kube.credentials import Access
from tidegate.kube.ports import KubernetesApi

__all__ = ["api", "own_api", "own_plane", "pair"]


@pytest.fixture
async def api(own_api: str) -> AsyncIterator[KubernetesApi]:
    """Lend a client of the control plane, with Tidegate's CRDs, policies and roles installed."""
    async with connect(Access(kubeconfig=own_api)) as client:
        await install(client, manifests_folder(), print)
        yield client


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put the newest events of its ledgers under a test that failed: they say what was decided."""
    report = yield
    folder = getattr(item, "funcargs", {}).get("tmp_path")
    if report.failed and call.when == "call" and isinstance(folder, Path):
        report.sections += [
            (f"events of {ledger.name}", _events(ledger)) for ledger in _ledgers(folder)
        ]
    return report


def _ledgers(folder: Path) -> list[Path]:
    return sorted(folder.rglob("ledger.db"))


def _events(ledger: Path) -> str:
    words = ["events", "--tail", "40", "--ledger", f"sqlite:///{ledger}"]
    command = [sys.executable, "-m", "tidegate.cli.main", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    return done.stdout + done.stderr
