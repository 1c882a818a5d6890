"""Objects change without a notice: deleted unseen, started by hand, replaced, malformed."""

from __future__ import annotations

import os
import signal
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.breaking import kill
from tests.e2e.cast import eventually, remove, submit, unsuspend
from tests.e2e.ordeal import CPUS, Ordeal, alone, ordeal
from tidegate.kube.ports import KubernetesApi

pytestmark = pytest.mark.real


async def full(trial: Ordeal) -> list[str]:
    """Wait until as many Jobs run as the quota holds, and return them."""
    await eventually(lambda: len(trial.running_now()) >= CPUS, "the quota is used up")
    return trial.running_now()


def are_gone(trial: Ordeal, names: list[str]) -> bool:
    return not any(f"{trial.namespace}/{name}" in trial.observer.jobs for name in names)


@pytest.mark.slow
async def test_jobs_are_deleted_while_no_ingest_watches(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    async with ordeal(api, alone(tmp_path, own_api), "unseen") as trial:
        # An endless Job holds all quota: the others start only once the deletions are known.
        doomed = await trial.submit(4, seconds=3_600)
        await full(trial)
        rest = await trial.submit(16)
        os.kill(trial.running.supervisor.pid("ingest"), signal.SIGSTOP)
        unseen = [*doomed, *rest[:4]]
        for name in unseen:
            await remove(api, trial.namespace, name)
        await eventually(lambda: are_gone(trial, unseen), "the deleted are gone")
        await kill(trial.running, "ingest")
        trial.killed.add("ingest")
        trial.submitted -= len(unseen)


async def test_a_waiting_job_is_unsuspended_by_hand(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    async with ordeal(api, alone(tmp_path, own_api), "by-hand") as trial:
        await trial.submit(4, seconds=20)
        await full(trial)
        await trial.submit(15)
        (impatient,) = await trial.submit(1, seconds=10)
        await eventually(lambda: impatient in trial.waiting_now(), "it waits")
        before = trial.generation(impatient)
        await unsuspend(api, trial.namespace, impatient)
        # It may be stopped again sooner than a poll sees: each of the two writes counts one.
        await eventually(lambda: trial.generation(impatient) > before, "it was let go")
        await eventually(lambda: trial.generation(impatient) > before + 1, "and is stopped again")


@pytest.mark.slow
async def test_jobs_are_deleted_and_made_again_under_the_same_names(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    async with ordeal(api, alone(tmp_path, own_api), "namesakes") as trial:
        await trial.submit(4, seconds=15)
        await full(trial)
        await trial.submit(16)
        for name in ((await full(trial))[0], trial.waiting_now()[-1]):
            await remove(api, trial.namespace, name)
            await eventually(partial(are_gone, trial, [name]), f"{name} is gone")
            await submit(api, trial.namespace, name, cpu="1", seconds=1)
