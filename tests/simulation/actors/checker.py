"""A controller of an admission check that takes its time, changes its mind and repeats itself."""

from __future__ import annotations

import asyncio
from random import Random

from tests.simulation.actors.owners import CHECK
from tests.simulation.cluster import KUEUE, Cluster, Object

AT = "2026-01-01T00:00:00Z"


class Checker:
    """Attends to one check, as a program does that lists Workloads now and then."""

    def __init__(self, cluster: Cluster, random: Random) -> None:
        self._cluster, self._random = cluster, random
        self._kind = False  # says Ready to everybody
        self.said = 0

    def settle(self) -> None:
        """Say Ready from now on."""
        self._kind = True

    async def run(self) -> None:
        """Say something about each reservation that asks, a while later."""
        self._activate()
        while True:
            await asyncio.sleep(self._random.uniform(0.5, 3))
            for workload in self._cluster.api.registry.state.items("workloads.kueue.x-k8s.io"):
                if _asks(workload):
                    self._say(workload)

    def _activate(self) -> None:
        condition = {"type": "Active", "status": "True", "reason": "Active", "message": ""}
        active = {"status": {"conditions": [{**condition, "lastTransitionTime": AT}]}}
        self._cluster.act("checker", "PATCH", f"{KUEUE}/admissionchecks/{CHECK}/status", active)

    def _say(self, obj: Object) -> None:
        chosen = 1.0 if self._kind else self._random.random()
        fields: Object = {"name": CHECK, "state": "Ready", "message": "", "lastTransitionTime": AT}
        if chosen < 0.08:
            fields |= {"state": "Rejected"}
        elif chosen < 0.3:
            fields |= {"state": "Retry", "requeueAfterSeconds": self._random.randrange(8)}
        meta = obj["metadata"]
        path = f"{KUEUE}/namespaces/{meta['namespace']}/workloads/{meta['name']}/status"
        pinned = {"resourceVersion": meta["resourceVersion"]}
        document = {"metadata": pinned, "status": {"admissionChecks": [fields]}}
        self.said += self._cluster.act("checker", "PATCH", path, document).status < 300


def _asks(obj: Object) -> bool:
    status = obj.get("status", {})
    held = {condition["type"]: condition["status"] for condition in status.get("conditions", ())}
    states = {
        check_state["name"]: check_state["state"]
        for check_state in status.get("admissionChecks", ())
    }
    return held.get("QuotaReserved") == "True" and states.get(CHECK) == "Pending"
