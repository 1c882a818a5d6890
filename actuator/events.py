"""The ledger's events as the actuator's parts learn them: in a member cluster its own alone.

There what is about another cluster's workloads is passed over, and so are queues, quotas and
flavors: their objects are in the hub. Classes stay, for Workloads show their values.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol, TypeAlias

from msgspec.structs import replace

from tidegate.contracts.decision_kinds.copies import CopyOrdered, CopyRemovalOrdered
from tidegate.contracts.decisions import DecisionEvent, QuotaReleased, StartOrdered, StopOrdered
from tidegate.contracts.entry import Published
from tidegate.contracts.fact_kinds.clusters import CopyRemoved, CopyReported
from tidegate.contracts.fact_kinds.definitions import (
    LedgerOpened,
    PolicyConfigured,
    PriorityClassDefined,
    PriorityClassRemoved,
    WorkloadPriorityClassDefined,
    WorkloadPriorityClassRemoved,
)
from tidegate.contracts.fact_kinds.reception import (
    ClockSkewed,
    RoundCompleted,
    RoundStarted,
    TimePassed,
    WatchesExpected,
)
from tidegate.contracts.facts import FactEvent
from tidegate.model.clusters import AT, cluster_of, local_name, qualified
from tidegate.model.ids import ObjectRef

Read: TypeAlias = Callable[[FactEvent | DecisionEvent], FactEvent | DecisionEvent | None]
"""Return an event as this actuator reads it; None: the event is not for this cluster."""
_SHARED = (
    LedgerOpened,
    PolicyConfigured,
    TimePassed,
    ClockSkewed,
    PriorityClassDefined,
    PriorityClassRemoved,
    WorkloadPriorityClassDefined,
    WorkloadPriorityClassRemoved,
)
_NAMES = ("workload", "uid", "by", "by_uid", "resource")
"""Fields of events about a workload that bear the cluster."""
_HUB = "hub"
"""Where a workload without a cluster lies, whatever that cluster is called."""


def unfiltered(event: FactEvent | DecisionEvent) -> FactEvent | DecisionEvent | None:
    """See ``Read``: of the actuator beside its own scheduler."""
    return event


def member_filter(cluster: str) -> Read:
    """Return how a member cluster's actuator reads its hub's events."""
    return partial(_event_for_member, cluster)


def _event_for_member(
    cluster: str, event: FactEvent | DecisionEvent
) -> FactEvent | DecisionEvent | None:
    match event:
        case _ if isinstance(event, _SHARED):
            return event
        case WatchesExpected():
            own = tuple(local_name(name) for name in event.resources if cluster_of(name) == cluster)
            return replace(event, resources=own) if own else None
        case RoundStarted() | RoundCompleted():
            is_own = cluster_of(event.resource) == cluster
            return replace(event, resource=local_name(event.resource)) if is_own else None
        case CopyReported(workload="") | CopyRemoved(workload="") if (
            cluster_of(event.uid) == cluster != event.copy.cluster
        ):
            return _with_local_names(event, cluster)  # the job at home was not known yet
        case _ if cluster_of(getattr(event, "workload", "")) == cluster:
            return _with_local_names(event, cluster)
        case _:
            return _copy_event(event, cluster)


def _with_local_names(event: FactEvent | DecisionEvent, cluster: str) -> FactEvent | DecisionEvent:
    """Return an event about a workload of this cluster with the names that it has here."""
    changes: dict[str, Any] = {}
    for name in _NAMES:
        value: str = getattr(event, name, "")
        if value:
            changes[name] = local_name(value)
    job: ObjectRef | None = getattr(event, "job", None)
    if job is not None and job.cluster in ("", cluster):  # else it is the copy of a placed job
        changes["job"] = _local_ref(job)
    return replace(event, **changes)


def _copy_event(event: FactEvent | DecisionEvent, cluster: str) -> FactEvent | DecisionEvent | None:
    """Return an event about another cluster's job if it is about its copy in this one.

    The workload keeps its name and its uid: they are the copy's origin.
    """
    changes: dict[str, Any] = {}
    match event:
        case (
            CopyOrdered(copy=copy)
            | CopyRemovalOrdered(copy=copy)
            | CopyReported(copy=copy)
            | CopyRemoved(copy=copy)
        ) if copy.cluster == cluster:
            changes["copy"] = _local_ref(copy)
        case StartOrdered(job=job) | StopOrdered(job=job) if job.cluster == cluster:
            changes["job"] = _local_ref(job)
        case QuotaReleased():
            pass  # a copy that is not made yet is not needed any more
        case _:
            return None
    if event.workload and AT not in event.workload:
        changes["workload"] = qualified(event.workload, _HUB)  # no namesake of this cluster
    return replace(event, **changes)


def _local_ref(obj: ObjectRef) -> ObjectRef:
    return replace(obj, uid=local_name(obj.uid), cluster="")


class Subscriber(Protocol):
    """A subscriber of the ledger beside the orders: the projection."""

    def on_event(self, message: Published, event: FactEvent | DecisionEvent, *, live: bool) -> None:
        """Fold one entry; ``live`` is False for entries from before the actuator started."""

    def on_orders_done(self, workload: str) -> None:
        """Note that no order for this workload is being executed any more."""

    def reset(self) -> None:
        """Forget everything: events of another ledger follow."""

    def set_active(self, working: bool) -> None:  # noqa: FBT001 - a state
        """Begin to act, or stop: the lease was taken or lost."""

    async def run(self) -> None:
        """Run for ever; act while ``work`` says so."""


class FanOut:
    """See ``Subscriber``: calls each in the order given; none may be given."""

    def __init__(self, *learners: Subscriber) -> None:
        self._learners = learners

    def on_event(self, message: Published, event: FactEvent | DecisionEvent, *, live: bool) -> None:
        """See ``Subscriber.on_event``."""
        failed = list[Exception]()
        for subscriber in self._learners:
            try:
                subscriber.on_event(message, event, live=live)
            except Exception as error:  # noqa: BLE001 - the others learn it
                failed.append(error)
        if failed:
            raise failed[0]

    def on_orders_done(self, workload: str) -> None:
        """See ``Subscriber.on_orders_done``."""
        for subscriber in self._learners:
            subscriber.on_orders_done(workload)

    def reset(self) -> None:
        """See ``Subscriber.reset``."""
        for subscriber in self._learners:
            subscriber.reset()

    def set_active(self, working: bool) -> None:  # noqa: FBT001 - see the protocol
        """See ``Subscriber.set_active``."""
        for subscriber in self._learners:
            subscriber.set_active(working)

    async def run(self) -> None:
        """Act for ever, each for itself."""
        async with asyncio.TaskGroup() as tasks:
            for subscriber in self._learners:
                tasks.create_task(subscriber.run())
