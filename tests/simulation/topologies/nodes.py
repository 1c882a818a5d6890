"""Nodes that come, go, fail, are tainted, change and fill up with pods of others.

Whatever Kubernetes' own controllers do about it is done here: an unready node gets its taint, and
the pods of a node that is gone, or of a taint that evicts, are deleted in their time.
"""

from __future__ import annotations

from random import Random
from typing import Any

from tests.simulation.cluster import Cluster

Object = dict[str, Any]
NODES, FOREIGN = "/api/v1/nodes", "/api/v1/namespaces/foreign/pods"
RACKS, PER_RACK = 3, 2
CPU = 4
_UNREADY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
_AWAY, _BAD = ({"key": "away", "effect": "NoExecute"}, {"key": "bad", "effect": "NoSchedule"})
FOREIGN_MAX, CLAIM = 4, 0.3
"""How many pods of others there are at most, and how many of them say that they were placed."""
_CLAIM = {
    "kueue.x-k8s.io/workload": "absent",
    "kueue.x-k8s.io/podset-unconstrained-topology": "true",
}


class Nodes:
    """Everything that happens to nodes, by a generator."""

    def __init__(self, cluster: Cluster, random: Random) -> None:
        self._cluster, self._random = cluster, random
        self._made = 0
        self.done = 0
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "foreign"}}
        cluster.act("admin", "POST", "/api/v1/namespaces", space)
        for number in range(RACKS * PER_RACK):
            self._come(number)

    def happen(self) -> None:
        """Let something happen to a node."""
        number = self._random.randrange(RACKS * PER_RACK)
        name, chance = f"x{number}", self._random.random()
        self.done += 1
        if self._found(name) is None:
            self._come(number)
        elif chance < 0.2:
            self._cluster.act("admin", "DELETE", f"{NODES}/{name}", {})
        elif chance < 0.4:
            self._be_ready(name, self._random.choice(["True", "False", "Unknown"]))
        elif chance < 0.6:
            taints = self._random.choice([[], [_BAD], [_AWAY]])
            self._change(name, {"spec": {"taints": taints}})
        elif chance < 0.7:
            self._change(name, {"spec": {"unschedulable": self._random.random() < 0.5}})
        elif chance < 0.8:
            cpu = str(self._random.choice([1, 2, CPU]))
            self._change(f"{name}/status", {"status": {"allocatable": {"cpu": cpu}}})
        else:
            self._fill(name)

    def mend(self) -> None:
        """Have every node there, well and empty of others' pods."""
        for number in range(RACKS * PER_RACK):
            name = f"x{number}"
            if self._found(name) is None:
                self._come(number)
            elif self._ails(name):
                self._be_ready(name, "True")
                whole = {"status": {"allocatable": {"cpu": str(CPU)}}}
                self._change(f"{name}/status", whole)
                self._change(name, {"spec": {"taints": None, "unschedulable": None}})
        for obj in self._foreign():
            self._delete("foreign", obj["metadata"]["name"])

    def collect(self) -> None:
        """Delete pods whose node is gone, or evicts them, as Kubernetes' controllers do."""
        state = self._cluster.api.registry.state
        for pod in list(state.items("pods")):
            meta, host = pod["metadata"], pod["spec"].get("nodeName", "")
            if not host or "deletionTimestamp" in meta:
                continue
            node = self._found(host)
            taints = [] if node is None else node["spec"].get("taints") or []
            if node is None or _AWAY in taints:
                self._delete(meta["namespace"], meta["name"])

    def _come(self, number: int) -> None:
        rack = number // PER_RACK
        labels = {"block": f"b{rack // 2}", "rack": f"r{rack}", "kind": "placed"}
        self._cluster.controller_manager.add_node(
            f"x{number}", labels=labels, cpu=str(CPU), pods="8"
        )

    def _be_ready(self, name: str, status: str) -> None:
        condition = {"type": "Ready", "status": status, "reason": "Simulated"}
        self._change(f"{name}/status", {"status": {"conditions": [condition]}})
        self._change(name, {"spec": {"taints": None if status == "True" else [_UNREADY]}})

    def _fill(self, name: str) -> None:
        """Put a pod that Tidegate did not place on a node, or take one away."""
        foreign = self._foreign()
        if len(foreign) >= FOREIGN_MAX:
            self._delete("foreign", self._random.choice(foreign)["metadata"]["name"])
            return
        self._made += 1
        requests = {"cpu": self._random.choice(["500m", "1", "2"])}
        container = {"name": "c", "image": "i", "resources": {"requests": requests}}
        notes = {"simulate/seconds": "100000"}
        if self._random.random() < CLAIM:
            notes |= _CLAIM
        made = {
            "metadata": {"name": f"foreign-{self._made}", "annotations": notes},
            "spec": {"nodeName": name, "containers": [container]},
        }
        self._cluster.act("admin", "POST", FOREIGN, made)

    def _foreign(self) -> list[Object]:
        return [
            obj
            for obj in self._cluster.api.registry.state.items("pods")
            if obj["metadata"]["namespace"] == "foreign"
        ]

    def _ails(self, name: str) -> bool:
        node = self._found(name)
        assert node is not None, name
        ready = [condition["status"] for condition in node["status"]["conditions"]] == ["True"]
        amounts = node["status"].get("allocatable") or node["status"]["capacity"]
        spec = node["spec"]
        well = ready and amounts["cpu"] == str(CPU)
        return not well or bool(spec.get("taints")) or bool(spec.get("unschedulable"))

    def _found(self, name: str) -> Object | None:
        return self._cluster.api.registry.state.get("nodes", "", name)

    def _change(self, name: str, body: Object) -> None:
        answer = self._cluster.act("admin", "PATCH", f"{NODES}/{name}", body)
        assert answer.status < 300, answer.body

    def _delete(self, namespace: str, name: str) -> None:
        path = f"/api/v1/namespaces/{namespace}/pods/{name}"
        self._cluster.act("admin", "DELETE", path, {"gracePeriodSeconds": 0})
