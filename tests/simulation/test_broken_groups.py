"""A tenant breaks a running group of pods: its quota still goes to workloads due for it."""

from __future__ import annotations

import asyncio

import pytest

from tests.parts.virtual import run_virtually
from tests.simulation.cluster import NOMINAL_MILLI
from tests.simulation.test_pods import GROUP, PODS, TEAM, Object, Pods

KUEUE = "kueue.x-k8s.io"
TOTAL, SIZE = f"{KUEUE}/pod-group-total-count", NOMINAL_MILLI[TEAM] // 1_000
LARGER: Object = {"metadata": {"annotations": {TOTAL: "7"}}}
BREAKS: dict[str, Object] = {
    "another number": LARGER,
    "another group": {"metadata": {"labels": {GROUP: "other"}}},
    "no group": {"metadata": {"labels": {GROUP: None}}},
    "not managed": {"metadata": {"labels": {f"{KUEUE}/managed": None}}},
    "no queue": {"metadata": {"labels": {f"{KUEUE}/queue-name": None}}},
}


class Broken(Pods):
    """A group of all the quota that runs for long, and a pod of higher priority after it."""

    def __init__(self, breaks: Object | None) -> None:
        super().__init__(1)
        self.weather.calm()
        self.breaks = breaks  # of one of its pods; None: gated pods come that disagree

    def change(self, name: str, patch: Object) -> None:
        assert self.cluster.act("user", "PATCH", f"{PODS}/{name}", patch).status == 200

    def joined(self, name: str, total: int) -> None:
        self.make(name, group="crew")
        marks = {"simulate/seconds": "3000", TOTAL: str(total)}
        self.change(name, {"metadata": {"annotations": marks}})

    def phases(self) -> dict[str, str]:
        return {pod["metadata"]["name"]: pod["status"].get("phase", "") for pod in self.pods()}

    async def people(self) -> None:
        for number in range(SIZE):
            self.joined(f"p{number}", SIZE)
        while list(self.phases().values()) != ["Running"] * SIZE:
            await asyncio.sleep(0.2)
        if self.breaks is None:
            self.joined("odd", SIZE + 1)
            self.joined("odder", SIZE + 2)
        else:
            self.change("p0", self.breaks)
        await asyncio.sleep(1)
        self.make("urgent", priority="high")

    def mend(self) -> None:
        """Leave everything as it is."""

    def unrest(self) -> str:
        if self.phases()["urgent"] != "Succeeded":
            return "urgent is not done"
        holding = self.ledger.watch.holding
        return f"{next(iter(holding))} holds quota" if holding else ""


@pytest.mark.parametrize("breaks", [*BREAKS.values(), None], ids=[*BREAKS, "gated pods"])
def test_a_broken_group_gives_its_quota_back(breaks: Object | None) -> None:
    async def run() -> None:
        world = Broken(breaks)
        await world.run()
        assert "Running" not in world.phases().values()

    run_virtually(run())
