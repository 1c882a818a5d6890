"""Groups of pods: a leader beside its workers, each role a podset of its own.

Together in one rack, or, where they are ``apart``, the leader anywhere and the workers in one.
There are no policies in the embedded API server, so the creator of a pod gates it himself.
"""

from __future__ import annotations

from random import Random
from typing import Any

from tests.simulation.cluster import PRIORITY_LABEL, QUEUE_LABEL, Cluster
from tests.simulation.topologies.places import RACK

Object = dict[str, Any]
CREWS_MAX = 3
_GROUP, _TOTAL = "kueue.x-k8s.io/pod-group-name", "kueue.x-k8s.io/pod-group-total-count"
_GATES = ("kueue.x-k8s.io/admission", "kueue.x-k8s.io/topology")
_ROLE = "role"
_REQUIRED = "kueue.x-k8s.io/podset-required-topology"
_ANYWHERE = "kueue.x-k8s.io/podset-unconstrained-topology"
_APART = {"leader": {_ANYWHERE: "true"}, "worker": {_REQUIRED: RACK}}
_TOGETHER = {_REQUIRED: RACK, "kueue.x-k8s.io/podset-group-name": "crew"}


class Crews:
    """The controller that makes such groups, and a pod anew for each that one has lost."""

    def __init__(  # noqa: PLR0913 - what differs by world
        self,
        cluster: Cluster,
        team: str,
        random: Random,
        *,
        crews: int,
        apart: bool = False,
        placed: bool = True,
    ) -> None:
        """Begin; without ``placed`` their pods may run on any node."""
        self._cluster, self._team, self.random, self._apart = cluster, team, random, apart
        self._placed = placed
        self._left, self._made = crews, 0
        self._workers = dict[str, int]()  # of each crew

    def work(self) -> None:
        """Make another crew now and then, and fill up those that there are."""
        if self._left and self.random.random() < 0.3:
            self._left -= 1
            self._workers[f"crew-{self._left}"] = self.random.choice([1, 2, 3])
        self.recruit()

    def recruit(self) -> None:
        """Make each pod that a crew lacks, unless its Workload says that it is over."""
        for crew, workers in self._workers.items():
            if self._is_over(crew):
                self._dismiss(crew)
                continue
            for role, wanted in (("leader", 1), ("worker", workers)):
                for _ in range(wanted - len(self._there(crew, role))):
                    self._make(crew, role, 1 + workers)

    def unrest(self) -> str:
        """Tell which pod is not done; empty: none."""
        for crew, workers in self._workers.items():
            if self._is_over(crew):
                continue
            there = [*self._there(crew, "leader"), *self._there(crew, "worker")]
            if len(there) < 1 + workers:
                return f"{crew} is not complete"
            for obj in there:
                if obj["status"].get("phase") != "Succeeded":
                    return f"{obj['metadata']['name']} is not done"
        return "" if not self._left else "a crew is to come"

    def _is_over(self, crew: str) -> bool:
        """Tell whether a crew is done, though pods of it may have gone with their node since."""
        state = self._cluster.api.registry.state
        workload = state.get("workloads.kueue.x-k8s.io", self._team, crew) or {"status": {}}
        conditions = workload.get("status", {}).get("conditions", [])
        return any(
            condition["type"] == "Finished" and condition["status"] == "True"
            for condition in conditions
        )

    def _dismiss(self, crew: str) -> None:
        """Delete pods that were made before the controller knew that their crew was over."""
        for obj in [*self._there(crew, "leader"), *self._there(crew, "worker")]:
            if obj["spec"].get("schedulingGates"):
                path = f"/api/v1/namespaces/{self._team}/pods/{obj['metadata']['name']}"
                self._cluster.act("user", "DELETE", path, {"gracePeriodSeconds": 0})

    def _there(self, crew: str, role: str) -> list[Object]:
        return [
            obj
            for obj in self._cluster.api.registry.state.items("pods")
            if obj["metadata"].get("labels", {}).get(_GROUP) == crew
            and obj["metadata"]["labels"][_ROLE] == role
            and "deletionTimestamp" not in obj["metadata"]
            and obj["status"].get("phase") != "Failed"
        ]

    def _make(self, crew: str, role: str, total: int) -> None:
        self._made += 1
        labels = {QUEUE_LABEL: "main", PRIORITY_LABEL: "low", "kueue.x-k8s.io/managed": "true"}
        notes = {"simulate/seconds": f"{self.random.uniform(2, 20):.1f}", _TOTAL: str(total)}
        if self._placed:
            notes |= _APART[role] if self._apart else _TOGETHER
        container = {"name": role, "image": "i", "resources": {"requests": {"cpu": "500m"}}}
        made = {
            "metadata": {
                "name": f"{crew}-{self._made}",
                "labels": {**labels, _GROUP: crew, _ROLE: role},
                "annotations": notes,
            },
            "spec": {
                "restartPolicy": "Never",
                "containers": [container],
                "nodeSelector": {"kind": "placed"} if self._placed and role == "leader" else {},
                "schedulingGates": [{"name": gate} for gate in _GATES[: 1 + self._placed]],
            },
        }
        path = f"/api/v1/namespaces/{self._team}/pods"
        answer = self._cluster.act("user", "POST", path, made)
        assert answer.status == 201, answer.body
