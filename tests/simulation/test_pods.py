"""Pods and groups of them in a world whose services die: all run, none beside its quota.

There are no policies in the embedded API server, so the creator of a pod gates it himself.
"""

from __future__ import annotations

import asyncio
from functools import cache
from typing import Any

import pytest

from tests.parts.virtual import run_virtually
from tests.simulation.cluster import NOMINAL_MILLI, PRIORITY_LABEL, QUEUE_LABEL
from tests.simulation.shore import Shore
from tidegate.model.quantity import amount

Object = dict[str, Any]
TEAM, PODS = "team-c", "/api/v1/namespaces/team-c/pods"
KINDS = ("batch/job", "pod", "pod-group")
DECISION, GROUP = "tidegate.dev/decision", "kueue.x-k8s.io/pod-group-name"
SINGLES, GROUPS = 6, 3
DEATH = 0.006
SEEDS = [*range(2), *(pytest.param(number, marks=pytest.mark.slow) for number in range(2, 10))]


class Pods(Shore):
    """A queue, and people who make pods."""

    kinds = KINDS

    def __init__(self, seed: int) -> None:
        super().__init__(seed, death=DEATH)
        self.most_milli, self.made = 0, 0

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
            there = [pod for pod in self.pods() if pod["metadata"]["labels"].get(GROUP) == name]
            if len([pod for pod in there if not _is_kept(pod)]) < 2:
                self.made += 1
                self.make(f"again-{self.made}", group=name)

    async def watch(self) -> None:
        """Demand at every moment that nothing runs without a decision or beyond its quota."""
        while True:
            running = [pod for pod in self.pods() if pod["status"].get("phase") == "Running"]
            for obj in running:
                assert DECISION in obj["metadata"]["annotations"], obj["metadata"]["name"]
            used = sum(_milli(pod) for pod in running)
            self.most_milli = max(self.most_milli, used)
            assert used <= NOMINAL_MILLI[TEAM]
            await asyncio.sleep(0.2)

    def unrest(self) -> str:
        for pod in self.pods():
            if pod["status"].get("phase") not in ("Succeeded", "Failed"):
                return f"{pod['metadata']['name']} is not done"
            if _is_kept(pod):
                return f"{pod['metadata']['name']} is kept"
        holding = self.ledger.watch.holding
        return f"{next(iter(holding))} holds quota" if holding else ""


def _is_kept(pod: Object) -> bool:
    """Tell whether a pod that is deleted waits to be replaced."""
    return "deletionTimestamp" in pod["metadata"]


def _milli(pod: Object) -> int:
    return sum(
        amount("cpu", container["resources"]["requests"]["cpu"])
        for container in pod["spec"]["containers"]
    )


@cache
def lived(seed: int) -> Pods:
    """Return a world that came to rest; tests share it."""
    made = list[Pods]()

    async def run() -> None:
        made.append(Pods(seed))
        await made[0].run()

    run_virtually(run())
    return made[0]


def test_services_do_die_in_it() -> None:
    assert lived(0).deaths > 0


@pytest.mark.parametrize("seed", SEEDS)
def test_pods_run_within_their_quota_whichever_service_dies(seed: int) -> None:
    shore = lived(seed)
    assert shore.most_milli > 0
    done = [pod for pod in shore.pods() if pod["status"]["phase"] == "Succeeded"]
    assert done
