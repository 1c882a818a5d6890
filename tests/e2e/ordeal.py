"""What every fault has in common: Jobs that run, something that breaks, and what must hold after.

Every Job completes, the observer is content, the ledger's audit finds nothing, and no service died
of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.e2e.cast import eventually, make_queues, submit, tidegate
from tests.e2e.observer import Observer
from tidegate.cluster.running import RunningServices, RunOptions, run_services
from tidegate.kube.ports import KubernetesApi

CPUS, JOBS = 4, 24
PATIENCE_S = 180.0


class Ordeal:
    """One queue of 4 CPUs, the Jobs in it, and an observer of them."""

    def __init__(
        self, api: KubernetesApi, running: RunningServices, observer: Observer, namespace: str
    ) -> None:
        self.api, self.running, self.observer = api, running, observer
        self.namespace = namespace
        self.submitted = 0
        self.killed: set[str] = set()  # services that the test itself ended

    async def submit(self, count: int = JOBS, *, seconds: float = 1.0) -> list[str]:
        """Create Jobs of one CPU each and return their names."""
        names = [f"job-{self.submitted + number:02d}" for number in range(count)]
        for name in names:
            await submit(self.api, self.namespace, name, cpu="1", seconds=seconds)
        self.submitted += count
        return names

    async def midway(self) -> None:
        """Wait until a quarter of the Jobs completed."""
        quarter = self.submitted // 4
        await eventually(lambda: self.observer.completed() >= quarter, "a quarter", PATIENCE_S)

    async def completed(self) -> None:
        """Wait until every Job completed; say which do not."""
        done = f"{self.submitted} Jobs complete"
        try:
            await eventually(lambda: self.observer.completed() >= self.submitted, done, PATIENCE_S)
        except AssertionError as error:
            raise AssertionError(f"{error}; these do not: {self.incomplete()}") from None

    def verify(self) -> None:
        """Audit the ledger against what it published."""
        bus = self.running.nats_url
        tidegate("ledger", "verify", "--ledger", self.running.ledger, "--witness", bus)

    def died(self) -> set[str]:
        """Return the services that ended by themselves and were started again."""
        restarts = self.running.supervisor.restarts
        return {name for name, count in restarts.items() if count} - self.killed

    def running_now(self) -> list[str]:
        """Return the Jobs that have active pods."""
        jobs = self.observer.jobs.values()
        return [job["metadata"]["name"] for job in jobs if job.get("status", {}).get("active")]

    def waiting_now(self) -> list[str]:
        """Return the Jobs that are suspended."""
        jobs = self.observer.jobs.values()
        return [job["metadata"]["name"] for job in jobs if job["spec"].get("suspend")]

    def incomplete(self) -> dict[str, dict[str, Any]]:
        """Return what the observer saw last of Jobs that are not complete, and of their pods."""
        jobs = self.observer.incomplete()
        owners = {job["metadata"]["uid"] for job in jobs.values()}
        pods = {
            name: {"metadata": pod["metadata"], "status": pod.get("status", {})}
            for name, pod in self.observer.pods.items()
            if any(owner["uid"] in owners for owner in pod["metadata"].get("ownerReferences", ()))
        }
        return {**jobs, **pods}

    def generation(self, name: str) -> int:
        """Return how often a Job's spec was written."""
        return int(self.observer.jobs[f"{self.namespace}/{name}"]["metadata"]["generation"])


@asynccontextmanager
async def ordeal(
    api: KubernetesApi, wanted: RunOptions, namespace: str
) -> AsyncGenerator[Ordeal, None]:
    """Run everything for what the block does to it, then demand what must hold after."""
    await make_queues(api, {namespace: str(CPUS)})
    observer = Observer(api, [namespace], quota_milli=CPUS * 1_000)
    async with asyncio.TaskGroup() as tasks:
        watching = tasks.create_task(observer.run())
        async with run_services(wanted, print) as running:
            trial = Ordeal(api, running, observer, namespace)
            yield trial
            await trial.completed()
            await asyncio.to_thread(trial.verify)
            assert trial.died() == set()
        watching.cancel()
    assert observer.violations == []


def alone(state: Path, kubeconfig: str, ledger: str = "") -> RunOptions:
    """Return what is to run: every service once, with a ledger and a bus of its own."""
    return RunOptions(state=state, kubeconfig=Path(kubeconfig), ledger=ledger)
