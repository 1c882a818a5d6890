"""A process that starts in the place of one that was killed does not wait for its lease."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.e2e.cast import eventually
from tests.e2e.ordeal import alone, ordeal
from tidegate.cluster.running import SERVICES
from tidegate.kube.ports import KubernetesApi

pytestmark = pytest.mark.real
LEASE_S = 120
BACK_S = 60.0
"""A process that waits for a lease is back after two minutes; an idle machine keeps 5 s."""


@pytest.mark.slow
async def test_a_job_starts_soon_after_any_service_was_killed(
    api: KubernetesApi, own_api: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDEGATE_LEASE_S", str(LEASE_S))
    async with ordeal(api, alone(tmp_path, own_api), "succeeded") as trial:
        trial.killed = set(SERVICES)
        for service in SERVICES:
            began_s = asyncio.get_running_loop().time()
            os.kill(trial.running.supervisor.pid(service), signal.SIGKILL)
            await trial.submit(1)
            await trial.completed()
            took_s = asyncio.get_running_loop().time() - began_s
            sys.stdout.write(f"{service} killed: a Job is done after {took_s:.1f} s\n")
            assert took_s < BACK_S, f"{service}: {took_s:.1f} s"


@pytest.mark.slow
async def test_the_name_of_a_lease_is_one_process_s_alone(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    async with ordeal(api, alone(tmp_path, own_api), "named") as trial:
        trial.killed = {"scheduler"}
        place = tmp_path / "scheduler.holder"
        first = place.read_text()
        os.kill(trial.running.supervisor.pid("scheduler"), signal.SIGKILL)
        await eventually(lambda: place.read_text() not in {"", first}, "another name stands there")
        await trial.submit(1)
