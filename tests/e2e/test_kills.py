"""Many Jobs while each service is killed at random moments; judged from outside."""

from __future__ import annotations

import asyncio
import os
import signal
from functools import partial
from pathlib import Path
from random import Random

import pytest

from tests.e2e.cast import eventually, make_queues, submit, tidegate
from tests.e2e.observer import Observer
from tidegate.cluster.running import SERVICES, RunningServices, RunOptions, run_services
from tidegate.kube.ports import KubernetesApi

pytestmark = pytest.mark.real
QUOTAS = {"kill-a": "10", "kill-b": "8"}


async def submit_all(api: KubernetesApi, random: Random, jobs: int) -> None:
    for number in range(jobs):
        namespace, cpu = random.choice(list(QUOTAS)), random.choice(["500m", "1", "2"])
        seconds = random.choice([0.5, 1, 2])
        await submit(api, namespace, f"job-{number:03d}", cpu=cpu, seconds=seconds)


def is_above(restarts: dict[str, int], name: str, before: int) -> bool:
    return restarts[name] > before


async def kill_at_random(running: RunningServices, random: Random, times: int) -> None:
    victims = list(SERVICES) * times
    random.shuffle(victims)
    for victim in victims:
        await asyncio.sleep(random.uniform(0.5, 3))
        before = running.supervisor.restarts[victim]
        os.kill(running.supervisor.pid(victim), signal.SIGKILL)
        again = partial(is_above, running.supervisor.restarts, victim, before)
        await eventually(again, f"{victim} is started again")


@pytest.mark.parametrize(("jobs", "times"), [(60, 1), pytest.param(200, 3, marks=pytest.mark.slow)])
async def test_all_jobs_complete_though_every_service_is_killed(
    api: KubernetesApi, own_api: str, tmp_path: Path, jobs: int, times: int
) -> None:
    random = Random(20_261)
    await make_queues(api, QUOTAS, cohort="killed")
    observer = Observer(api, QUOTAS, quota_milli=18_000)
    async with asyncio.TaskGroup() as tasks:
        watching = tasks.create_task(observer.run())
        async with run_services(
            RunOptions(state=tmp_path, kubeconfig=Path(own_api)), print
        ) as running:
            killing = tasks.create_task(kill_at_random(running, random, times))
            await submit_all(api, random, jobs)
            await killing
            done = f"{jobs} Jobs complete"
            await eventually(lambda: observer.completed() == jobs, done, 450)
            assert all(running.supervisor.restarts[name] >= times for name in SERVICES)
            tidegate("ledger", "verify", "--ledger", running.ledger, "--witness", running.nats_url)
        watching.cancel()
    assert observer.violations == []
