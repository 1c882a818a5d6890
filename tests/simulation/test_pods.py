"""Pods and groups of them in a world whose services die: all run, none beside its quota.

There are no policies in the embedded API server, so whoever makes a pod gates it himself.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, suppress
from random import Random
from typing import Any

import pytest

from store.engine import open_engine
from store.ledger import SqlLedger
from store.migrate import upgrade
from store.snapshots import SqlSnapshots
from tests.parts.stage import alongside
from tests.parts.virtual import run_virtually
from tests.simulation import processes
from tests.simulation.cluster import NOMINAL_MILLI, PRIORITY_LABEL, QUEUE_LABEL, Cluster
from tests.simulation.ledger_watch import WatchedLedger
from tests.simulation.life import Life, Weather
from tidegate.bus.memory import MemoryBus
from tidegate.errors import TidegateError
from tidegate.model.policy import Policy
from tidegate.model.quantity import amount

Object = dict[str, Any]
TEAM, PODS = "team-c", "/api/v1/namespaces/team-c/pods"
KINDS = ("batch/job", "pod", "pod-group")
DECISION, GROUP = "tidegate.dev/decision", "kueue.x-k8s.io/pod-group-name"
SINGLES, GROUPS, REST_S = 6, 3, 3_600.0
DEATH = 0.006


class Shore:
    """A cluster, three services that may die, and people who make pods."""

    def __init__(self, seed: int) -> None:
        self.random, self.weather = Random(seed), Weather(death=DEATH)
        self.bus = MemoryBus(observations_max=500, events_max=1_000_000)
        self.cluster = Cluster(self.bus, Random(seed))
        self.engine = open_engine("sqlite://")
        upgrade(self.engine)
        ledger = SqlLedger(self.engine, clock_us=self.bus.now_us)
        self.ledger = WatchedLedger(ledger, SqlSnapshots(self.engine))
        self.deaths, self.most_milli, self.made = 0, 0, 0
        self.said = ""

    def bodies(self) -> dict[str, processes.Body]:
        decide, _ = processes.scheduler(self.bus, lambda: self.ledger, lambda: "ledger", Policy())
        api = self.cluster.api
        observe = processes.ingest(self.bus, api, KINDS)
        return {"s": decide, "i": observe, "a": processes.actuator(self.bus, api)}

    async def keep(self, name: str, body: processes.Body) -> None:
        """Run a process again whenever it died."""
        while True:
            life = Life(name, self.random, self.weather)
            life.main = asyncio.ensure_future(_lived(body, life, f"{name}{self.deaths}"))
            try:
                await asyncio.wait({life.main})
            finally:
                life.die()
            if not life.main.cancelled():
                life.main.result()
            self.deaths += 1
            await asyncio.sleep(1)

    def pods(self) -> list[Object]:
        return list(self.cluster.api.registry.state.items("pods"))

    def make(self, name: str, *, group: str = "", priority: str = "low") -> None:
        labels = {QUEUE_LABEL: "main", PRIORITY_LABEL: priority, "kueue.x-k8s.io/managed": "true"}
        notes = {"simulate/seconds": str(self.random.randrange(1, 20))}
        if group:
            labels[GROUP] = group
            notes["kueue.x-k8s.io/pod-group-total-count"] = "2"
        container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
        gates = [{"name": "kueue.x-k8s.io/admission"}]
        made = {
            "metadata": {"name": name, "labels": labels, "annotations": notes},
            "spec": {"restartPolicy": "Never", "containers": [container], "schedulingGates": gates},
        }
        answer = self.cluster.act("user", "POST", PODS, made)
        assert answer.status == 201, answer.body

    async def people(self) -> None:
        """Make pods in their time, some of greater priority late, and halves of groups apart."""
        for number in range(SINGLES):
            self.make(f"single-{number}", priority="high" if number >= SINGLES // 2 else "low")
            await asyncio.sleep(self.random.uniform(0, 8))
            if number < GROUPS:
                self.make(f"one-{number}", group=f"group-{number}")
                await asyncio.sleep(self.random.uniform(0, 8))
                self.make(f"two-{number}", group=f"group-{number}")

    def mend(self) -> None:
        """Make a pod anew for each that a group has lost."""
        for number in range(GROUPS):
            name = f"group-{number}"
            there = [one for one in self.pods() if one["metadata"]["labels"].get(GROUP) == name]
            if len(there) < 2:
                self.made += 1
                self.make(f"again-{self.made}", group=name)

    async def watch(self) -> None:
        """Demand at every moment that nothing runs without a decision or beyond its quota."""
        while True:
            running = [one for one in self.pods() if one["status"].get("phase") == "Running"]
            for one in running:
                assert DECISION in one["metadata"]["annotations"], one["metadata"]["name"]
            used = sum(_milli(one) for one in running)
            self.most_milli = max(self.most_milli, used)
            assert used <= NOMINAL_MILLI[TEAM]
            await asyncio.sleep(0.2)

    def unrest(self) -> str:
        for one in self.pods():
            if one["status"].get("phase") not in ("Succeeded", "Failed"):
                return f"{one['metadata']['name']} is not done"
        holding = self.ledger.watch.holding
        return f"{next(iter(holding))} holds quota" if holding else ""

    async def run(self) -> None:
        async with AsyncExitStack() as around:
            await around.enter_async_context(alongside(self.cluster.machinery.run()))
            for name, body in self.bodies().items():
                await around.enter_async_context(alongside(self.keep(name, body)))
            judging = await around.enter_async_context(alongside(self.watch()))
            await self.people()
            self.weather.death = 0.0
            async with asyncio.timeout(REST_S):
                while why := self.unrest():
                    assert not judging.done(), judging.exception()
                    await asyncio.sleep(1)
                    self.said = why
                    self.mend()
            assert not judging.done(), judging.exception()
        self.engine.dispose()


async def _lived(body: processes.Body, life: Life, session: str) -> None:
    with suppress(TidegateError):
        await body(life, session)


def _milli(pod: Object) -> int:
    return sum(
        amount("cpu", one["resources"]["requests"]["cpu"]) for one in pod["spec"]["containers"]
    )


def test_services_do_die_in_it() -> None:
    async def run() -> None:
        shore = Shore(0)
        await shore.run()
        assert shore.deaths > 0

    run_virtually(run())


@pytest.mark.parametrize("seed", range(10))
def test_pods_run_within_their_quota_whoever_dies(seed: int) -> None:
    async def run() -> None:
        shore = Shore(seed)
        await shore.run()
        assert shore.most_milli > 0
        done = [one for one in shore.pods() if one["status"]["phase"] == "Succeeded"]
        assert done

    run_virtually(run())
