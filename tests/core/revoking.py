"""A ClusterQueue for trusted namespaces, and all that takes a workload's right to it away."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from msgspec import convert
from msgspec.structs import replace

from tests.core.telling import flavor
from tests.lifecycle.stage import TEAM, Fields, Stage
from tidegate.contracts import observations
from tidegate.model.podset import TopologyRequest
from tidegate.model.policy import Policy
from tidegate.model.quota import ClusterQueueSpec, FlavorSpec

Told: TypeAlias = "Callable[[Scene], list[observations.Observation]]"
TRUSTED: Fields = {"labels": {"trusted": "yes"}}
PREEMPTS: Fields = {"within_cluster_queue": "LowerPriority"}


@dataclass
class Scene:
    """A stage with namespace ``team``, ClusterQueue ``cq`` of 4 CPUs and LocalQueue ``main``."""

    stage: Stage = field(default_factory=Stage)
    usual: Fields = field(default_factory=dict)  # of the ClusterQueue's spec
    deleted: int = 0

    def open(self, **usual: Any) -> Scene:  # noqa: ANN401 - fields of a spec
        """Define everything."""
        self.usual = usual
        stage = self.stage
        stage.open(Policy())
        check = observations.CheckObserved(
            name="c", uid="c", version=2, session="a", controller="theirs", active=True
        )
        stage.turn(check, *self.flavor(), *self.queue(), *self.local(), *self.namespace())
        return self

    def namespace(self, labels: Fields = TRUSTED["labels"]) -> list[observations.Observation]:
        """Return the namespace, trusted unless it is said otherwise."""
        return [
            observations.NamespaceObserved(
                name=TEAM,
                uid=f"ns-{TEAM}-{self.deleted}",
                version=self.version(),
                session="a",
                labels=labels,
            )
        ]

    def queue(
        self,
        *,
        deleting: bool = False,
        cpu: int = 4,
        **value: Any,  # noqa: ANN401
    ) -> list[observations.Observation]:
        """Return the ClusterQueue, with something otherwise than usual."""
        observation = self.stage.cluster_queue("cq", {"cpu": cpu})
        assert isinstance(observation, observations.ClusterQueueObserved)
        fields = {"namespace_selector": TRUSTED, "preemption": PREEMPTS, **self.usual, **value}
        made = convert({"groups": (), **fields}, ClusterQueueSpec)
        return [
            replace(
                observation, spec=replace(made, groups=observation.spec.groups), deleting=deleting
            )
        ]

    def local(self, **value: Any) -> list[observations.Observation]:  # noqa: ANN401
        """Return the LocalQueue, with something otherwise than usual."""
        return [self.stage.local_queue("main", {"cluster_queue": "cq", **value})]

    def flavor(self, *taints: Fields) -> list[observations.Observation]:
        """Return the ResourceFlavor."""
        spec = convert({"node_taints": taints}, FlavorSpec)
        uid = f"rf-any-{self.deleted}"
        return [flavor("any", uid=uid, version=self.version(), spec=spec)]

    def limit(self, most: str) -> list[observations.Observation]:
        """Return a LimitRange of the CPUs of a container."""
        item = observations.LimitRangeItem(type="Container", max={"cpu": most})
        return [
            observations.LimitRangeObserved(
                namespace=TEAM,
                name="l",
                uid="l",
                version=self.version(),
                session="a",
                items=(item,),
            )
        ]

    def overhead(self, cpu: str) -> list[observations.Observation]:
        """Return the RuntimeClass of the workload's pods."""
        return [
            observations.RuntimeClassObserved(
                name="r", uid="r", version=self.version(), session="a", overhead={"cpu": cpu}
            )
        ]

    def gone(self, kind: str, resource: str, name: str) -> list[observations.Observation]:
        """Return that an object was deleted; another of its name has another uid."""
        uid = f"{kind}-{name}-0"
        self.deleted += 1
        self.stage.buried[kind + name] = 1
        return [
            observations.ObjectGone(
                namespace=TEAM if kind == "lq" else "",
                name=name,
                uid=uid,
                version=self.version(),
                session="a",
                resource=resource,
            )
        ]

    def big(self, **value: Any) -> list[observations.Observation]:  # noqa: ANN401
        """Return the workload, changed."""
        return [self.stage.change("big", **value)]

    def placed(self, required: str) -> list[observations.Observation]:
        """Return the workload, asking for a topology."""
        asked = TopologyRequest(required=required) if required else None
        podsets = (replace(podset, topology=asked) for podset in self.stage.jobs["big"].podsets)
        return self.big(podsets=tuple(podsets))

    def version(self) -> int:
        self.stage.version += 1
        return self.stage.version

    def said(self) -> str:
        """Return what the workload's condition QuotaReserved says."""
        return self.stage.read_model.workloads["team/big"].conditions["QuotaReserved"].message


@dataclass(frozen=True)
class Change:
    """Something that forbids an admission, what undoes it, and what is said meanwhile."""

    do: Told
    undo: Told
    says: str
    frees: bool = True  # a reservation that waits for checks is released too


CHANGES = {
    "its namespace is not selected": Change(
        lambda s: s.namespace({}), Scene.namespace, "namespaceSelector"
    ),
    "another namespaceSelector": Change(
        lambda s: s.queue(namespace_selector={"labels": {"x": "y"}}), Scene.queue, "Selector"
    ),
    "its namespace is gone": Change(
        lambda s: s.gone("ns", "namespaces", TEAM), Scene.namespace, "no namespace team"
    ),
    "a LimitRange": Change(lambda s: s.limit("1"), lambda s: s.limit("9"), "LimitRange"),
    "the ClusterQueue on Hold": Change(
        lambda s: s.queue(stop_policy="Hold"), Scene.queue, "cq is inactive"
    ),
    "the ClusterQueue drained": Change(
        lambda s: s.queue(stop_policy="HoldAndDrain"), Scene.queue, "cq is inactive"
    ),
    "the ClusterQueue is deleted": Change(
        lambda s: s.queue(deleting=True), Scene.queue, "cq is being deleted"
    ),
    "the ClusterQueue is gone": Change(
        lambda s: s.gone("cq", "clusterqueues.kueue.x-k8s.io", "cq"),
        Scene.queue,
        "no ClusterQueue cq",
    ),
    "the LocalQueue on Hold": Change(
        lambda s: s.local(stop_policy="Hold"), Scene.local, "main is stopped"
    ),
    "the LocalQueue is gone": Change(
        lambda s: s.gone("lq", "localqueues.kueue.x-k8s.io", "main"),
        Scene.local,
        "no LocalQueue main",
    ),
    "the LocalQueue leads nowhere": Change(
        lambda s: s.local(cluster_queue="other"), Scene.local, "no ClusterQueue other", frees=False
    ),
    "an unknown AdmissionCheck": Change(
        lambda s: s.queue(checks=[{"name": "none"}]), Scene.queue, "cq is inactive"
    ),
    "the ResourceFlavor is gone": Change(
        lambda s: s.gone("rf", "resourceflavors.kueue.x-k8s.io", "any"),
        Scene.flavor,
        "cq is inactive",
    ),
    "the ResourceFlavor is tainted": Change(
        lambda s: s.flavor({"key": "x", "effect": "NoSchedule"}),
        Scene.flavor,
        "flavor any",
        frees=False,
    ),
    "less quota": Change(
        lambda s: s.queue(cpu=1), Scene.queue, "more than the ClusterQueue's quota", frees=False
    ),
    "deactivated": Change(
        lambda s: s.big(active=False), lambda s: s.big(active=True), "deactivated"
    ),
    "gated": Change(lambda s: s.big(gates=("mine",)), lambda s: s.big(gates=()), "gated by mine"),
    "another LocalQueue": Change(
        lambda s: s.big(queue="other"), lambda s: s.big(queue="main"), "no LocalQueue other"
    ),
    "a topology": Change(lambda s: s.placed("rack"), lambda s: s.placed(""), "Topology"),
}
