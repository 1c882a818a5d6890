"""The desired copies of each workload on worker clusters, folded from EVENTS; pure."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tidegate.contracts.decision_kinds.clusters import (
    CheckDecided,
    ClusterChosen,
    ClustersNominated,
    RemoteDeactivated,
    RemoteWithdrawn,
)
from tidegate.contracts.decisions import DecisionEvent, StartOrdered
from tidegate.contracts.fact_kinds.clusters import RemoteWorkloadRemoved
from tidegate.contracts.facts import (
    FactEvent,
    LedgerOpened,
    WorkloadChanged,
    WorkloadRemoved,
    WorkloadSubmitted,
)
from tidegate.jobs.serving.members import group_index, parent_name, parent_uid
from tidegate.model.ids import ObjectRef


class Target(msgspec.Struct, kw_only=True):
    """The desired copies of one workload."""

    job: ObjectRef
    cluster_queue: str = ""
    nominated: tuple[str, ...] = ()
    chosen: str = ""
    stopping: str = ""  # why the chosen cluster is to stop it; empty: it runs there
    leaving: set[str] = set()
    makes_copy: bool = False  # elastic: its copy is made on the chosen cluster, if it is not there
    superseded: bool = False  # elastic: another slice of its job runs there, or is to run there
    counts: dict[str, int] = {}  # elastic: the pods of each podset; empty: as its object says

    @property
    def clusters(self) -> list[str]:
        """Return the clusters that something is to be done at."""
        named = {*self.nominated, *self.leaving, *([self.chosen] if self.chosen else [])}
        return sorted(named)


class Targets:
    """All workloads with copies on worker clusters, present or desired."""

    def __init__(self) -> None:
        self.of = dict[str, Target]()  # by workload
        self._by_object = dict[str, dict[str, None]]()  # workloads, by their object's key
        self._slices = Slices()

    def apply_event(self, event: FactEvent | DecisionEvent) -> str:
        """Fold one event; return the workload to reconcile; empty: none."""
        self._slices.apply_event(event)
        match event:
            case LedgerOpened():
                self.clear()
                return ""
            case ClustersNominated() | ClusterChosen() | RemoteDeactivated() | RemoteWithdrawn():
                self._apply_dispatch(event)
                return event.workload
            case WorkloadRemoved():
                self._withdraw_all(event.workload)
            case RemoteWorkloadRemoved():
                self._apply_removal(event)
            case CheckDecided():
                self._apply_check(event)
            case WorkloadChanged() | StartOrdered():
                pass  # a start tells of pods that came to a group
            case _:
                return ""
        return event.workload if event.workload in self.of else ""

    def clear(self) -> None:
        """Forget all workloads."""
        self.of.clear()
        self._by_object.clear()

    def workloads_of_object(self, key: str) -> list[str]:
        """Return the workloads of the objects "<namespace>/<name>", of any kind."""
        return list(self._by_object.get(key, ()))

    def split_into(self, count: int) -> Iterator[list[str]]:
        """Yield all workloads in so many parts of about the same size, some of them empty."""
        keys = list(self.of)
        yield from (keys[at::count] for at in range(count))

    def is_shared(self, workload: str, cluster: str) -> bool:
        """Return whether a cluster runs another workload of the same object of several groups."""
        job = self.of[workload].job
        if group_index(job) is None:
            return False
        return any(
            key != workload and self.of[key].chosen == cluster
            for key in self._by_object[_object_of(job)]
            if parent_uid(self.of[key].job) == parent_uid(job)
        )

    def _apply_dispatch(
        self, event: ClustersNominated | ClusterChosen | RemoteDeactivated | RemoteWithdrawn
    ) -> None:
        target = self.of.get(event.workload)
        if target is None or target.job.uid != event.job.uid:
            leaving = set[str]() if target is None else target.leaving
            self._forget(event.workload)
            target = self.of[event.workload] = Target(job=event.job, leaving=leaving)
            self._by_object.setdefault(_object_of(event.job), {})[event.workload] = None
        target.cluster_queue = event.cluster_queue
        match event:
            case ClustersNominated():
                target.nominated, target.chosen = event.clusters, ""
                target.leaving -= {*event.clusters}
            case ClusterChosen():
                target.nominated, target.chosen, target.stopping = (), event.cluster, ""
                target.leaving -= {event.cluster}
                target.makes_copy = event.makes_copy
            case RemoteDeactivated():
                target.nominated, target.chosen = (), event.cluster
                target.stopping = event.message or target.stopping or "Evicted on manager"
            case RemoteWithdrawn():
                self._withdraw(target, {*event.clusters})

    def _withdraw(self, target: Target, clusters: set[str]) -> None:
        target.nominated = tuple(cluster for cluster in target.nominated if cluster not in clusters)
        if target.chosen in clusters:
            target.chosen, target.stopping, target.makes_copy = "", "", False
        target.leaving |= clusters

    def target_at(self, workload: str, cluster: str) -> Target | None:
        """Return the desired copy of a workload at a cluster: a slice may have replaced it."""
        target = self.of.get(workload)
        if target is None:
            return None
        successors = [
            successor
            for successor in self._slices.successors(workload)
            if (other := self.of.get(successor)) is not None and other.chosen == cluster
        ]
        counts = self._slices.counts_of(workload, *successors)
        if not successors and not counts:
            return target
        return msgspec.structs.replace(target, superseded=bool(successors), counts=counts)

    def with_sibling_slices(self, workload: str) -> list[str]:
        """Return a workload, and those of other slices of its job."""
        return [workload, *self._slices.sibling_slices(workload)]

    def _apply_check(self, event: CheckDecided) -> None:
        target = self.of.get(event.workload)
        if target is not None and event.state == "Ready":
            target.makes_copy = False

    def _withdraw_all(self, workload: str) -> None:
        """Withdraw all copies of a deleted workload."""
        target = self.of.get(workload)
        if target is not None:
            self._withdraw(target, {*target.clusters})

    def _apply_removal(self, event: RemoteWorkloadRemoved) -> None:
        target = self.of.get(event.workload)
        if target is not None:
            target.leaving.discard(event.cluster)
            self.forget_idle(event.workload)

    def forget_idle(self, workload: str) -> None:
        """Forget a workload without copies, present or desired."""
        target = self.of.get(workload)
        if target is not None and not target.clusters:
            self._forget(workload)

    def _forget(self, workload: str) -> None:
        target = self.of.pop(workload, None)
        if target is None:
            return
        key = _object_of(target.job)
        self._by_object[key].pop(workload)
        if not self._by_object[key]:
            del self._by_object[key]


def _object_of(job: ObjectRef) -> str:
    return f"{job.namespace}/{parent_name(job)}"


class Slices:
    """Workloads of elastic jobs, from EVENTS: which slice replaces which, for how many pods."""

    def __init__(self) -> None:
        self._counts = dict[str, dict[str, int]]()  # by workload, pods by podset
        self._successor = dict[str, str]()  # workload to that which took its place on its cluster
        self._older = dict[str, str]()  # the same, the other way

    def apply_event(self, event: FactEvent | DecisionEvent) -> None:
        """Fold one event."""
        match event:
            case LedgerOpened():
                for each in (self._counts, self._successor, self._older):
                    each.clear()
            case WorkloadSubmitted() | WorkloadChanged() if event.elastic:
                counts = {podset.name: podset.count for podset in event.podsets}
                self._counts[event.workload] = counts
            case WorkloadSubmitted() | WorkloadRemoved():
                self._forget(event.workload)
            case ClusterChosen() if event.replaces:
                self._successor[event.replaces] = event.workload
                self._older[event.workload] = event.replaces
            case _:
                pass

    def counts_of(self, workload: str, *successors: str) -> dict[str, int]:
        """Return how many pods a slice may have; empty: nothing is known.

        Until another one takes its place it becomes no larger than that.
        """
        sizes = [counts for key in (workload, *successors) if (counts := self._counts.get(key))]
        if not sizes:
            return {}
        return {name: min(counts.get(name, 0) for counts in sizes) for name in sizes[0]}

    def successors(self, workload: str) -> Iterator[str]:
        """Yield the slices that replaced a slice, one after the other."""
        return _chain(workload, self._successor)

    def sibling_slices(self, workload: str) -> Iterator[str]:
        """Yield the other slices of its job, as far as they were sent to one cluster."""
        yield from _chain(workload, self._older)
        yield from _chain(workload, self._successor)

    def _forget(self, workload: str) -> None:
        self._counts.pop(workload, None)
        self._successor.pop(self._older.pop(workload, ""), None)


def _chain(key: str, following: dict[str, str]) -> Iterator[str]:
    passed = {key}
    while (key := following.get(key, "")) and key not in passed:
        passed.add(key)
        yield key
