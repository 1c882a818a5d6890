"""Start and stop orders: the newest of each job, until its effect is observed, and their queue."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator
from typing import TypeAlias, TypeVar

import msgspec

from actuator.workqueue import Waiters
from tidegate.contracts.decision_kinds.copies import CopyOrdered, CopyRemovalOrdered
from tidegate.contracts.decisions import (
    DecisionEvent,
    QuotaReleased,
    StartOrdered,
    StopOrdered,
    WorkloadExpired,
)
from tidegate.contracts.entry import Published
from tidegate.contracts.fact_kinds.clusters import CopyRemoved, CopyReported
from tidegate.contracts.facts import (
    Event,
    FactEvent,
    JobStateReported,
    WorkloadFinished,
    WorkloadRemoved,
    WorkloadStopped,
)
from tidegate.contracts.observations import JobState
from tidegate.jobs.kind import LedgerOrder, Object, Start, Stop, decision_seq
from tidegate.kinds import names
from tidegate.model.clusters import local_name
from tidegate.model.ids import ObjectRef

Placed = TypeVar("Placed", Start, Stop)
TURNS = 2
"""How many urgent writes may pass for each order that ends."""


class Expire(LedgerOrder, frozen=True, kw_only=True):
    """An order to delete a job whose retention is over."""

    order: WorkloadExpired


class MakeCopy(LedgerOrder, frozen=True, kw_only=True):
    """An order to create the suspended copy of another cluster's job."""

    order: CopyOrdered


class RemoveCopy(LedgerOrder, frozen=True, kw_only=True):
    """An order to delete a copy, its pods first."""

    order: CopyRemovalOrdered


JobOrder: TypeAlias = Start | Stop | Expire
CopyOrder: TypeAlias = MakeCopy | RemoveCopy
Order: TypeAlias = JobOrder | CopyOrder


def as_order(event: Event, ledger_id: str, seq: int) -> Order | None:
    """Return the order in an event; None: the event changes no job of this cluster.

    An order for a member cluster's job is carried out there, by that cluster's actuator.
    """
    match event:
        case CopyOrdered(copy=ObjectRef(cluster="")):
            return MakeCopy(order=event, ledger_id=ledger_id, seq=seq)
        case CopyRemovalOrdered(copy=ObjectRef(cluster="")):
            return RemoveCopy(order=event, ledger_id=ledger_id, seq=seq)
        case StartOrdered(job=ObjectRef(cluster="")):
            return Start(order=event, ledger_id=ledger_id, seq=seq)
        case StopOrdered(job=ObjectRef(cluster="")):
            return Stop(order=event, ledger_id=ledger_id, seq=seq)
        case WorkloadExpired(job=ObjectRef(cluster="")):
            return Expire(order=event, ledger_id=ledger_id, seq=seq)
        case _:
            return None


def job_of(order: Order) -> ObjectRef:
    """Return the job that an order is about, or the copy."""
    if isinstance(order, MakeCopy | RemoveCopy):
        return order.order.copy
    assert order.order.job is not None, "an expiry without a job orders nothing"
    return order.order.job


def key_of(order: Order) -> str:
    """Return the key of an order: a newer order with the same key replaces it."""
    match order:
        case MakeCopy():
            return copy_creation_key(order.order.uid)
        case RemoveCopy():
            return copy_removal_key(order.order.copy.uid)
        case _:
            return job_of(order).uid


def copy_creation_key(origin: str) -> str:
    """Return the key of the order that makes a job's copy."""
    return f"make {origin}"


def copy_removal_key(copy: str) -> str:
    """Return the key of the order that removes a copy, by its uid."""
    return f"remove {copy}"


def with_pod_metadata(order: Placed, obj: Object) -> Placed:
    """Return an order with what every pod gets: its Workload's name, and whether it was sent.

    An elastic job's pods may outlive their slice's Workload: only placed ones name it.
    Source: behaviour.md 15.4, multikueue.md 2.2.
    """
    meta = obj["metadata"]
    labels = {names.WORKER_POD: "true"} if names.MANAGER in meta.get("labels", {}) else {}
    name = local_name(order.order.workload.rpartition("/")[2])
    elastic = names.ELASTIC_JOB in meta.get("annotations", {})
    annotations = {} if elastic else {names.WORKLOAD: name}
    podsets = tuple(
        msgspec.structs.replace(
            podset, labels=podset.labels | labels, annotations=podset.annotations | annotations
        )
        for podset in order.order.podsets
    )
    event = msgspec.structs.replace(order.order, podsets=podsets)
    return msgspec.structs.replace(order, order=event)


class OrderBook:
    """The newest order of each job, taken one at a time a job and many jobs at once.

    It holds at most one order a job, so it is bounded by the jobs there are.
    """

    def __init__(self) -> None:
        self._newest = dict[str, Order]()  # by their keys
        self._busy = set[str]()  # keys whose order is being executed
        self._due = asyncio.Queue[str]()  # keys in the order they came; some are withdrawn by now
        self._queued = set[str]()  # keys in ``_due``
        self._aside, self._quiet = Waiters(), Waiters()

    @property
    def waiting(self) -> int:
        """Return how many jobs have an order that is not carried out yet."""
        return len(self._newest)

    @property
    def executing(self) -> int:
        """Return how many orders are being carried out now."""
        return len(self._busy)

    def put(self, order: Order) -> None:
        """Put an order in the place of any older one for the same job."""
        uid = key_of(order)
        newest = self._newest.get(uid)
        if newest is None or newest.seq < order.seq or newest.ledger_id != order.ledger_id:
            self._newest[uid] = order
            self._enqueue(uid)

    def withdraw(self, uid: str) -> None:
        """Forget the order for a deleted job."""
        self._newest.pop(uid, None)
        self._wake_waiters_if_idle()

    def clear(self) -> None:
        """Forget everything, as when the lease is lost."""
        self._newest.clear()
        self._wake_waiters_if_idle()

    def superseded(self, order: Order) -> bool:
        """Return whether another order, or none, stands in this one's place by now."""
        return self._newest.get(key_of(order)) is not order

    async def next_order(self) -> Order:
        """Return an order of a job that is not being processed; wait for one."""
        while True:
            uid = await self._due.get()
            self._queued.discard(uid)
            order = self._newest.get(uid)
            if order is not None and uid not in self._busy:
                self._busy.add(uid)
                return order

    def finish(self, order: Order) -> None:
        """Release a job; an order that came meanwhile can be taken."""
        uid = key_of(order)
        self._busy.discard(uid)
        if self._newest.get(uid) is order:
            del self._newest[uid]
        elif uid in self._newest:
            self._enqueue(uid)
        for _ in range(TURNS):
            self._aside.wake()
        self._wake_waiters_if_idle()

    def wait_for_turn(self) -> Awaitable[None] | None:
        """Return a wait while jobs are to be moved: until none is, or until one more was.

        Each order that ends lets two waiting writes pass: a start writes two statuses, one when it
        begins and one when it ends.
        """
        return self._aside.wait() if self._newest else None

    def wait_until_idle(self) -> Awaitable[None] | None:
        """Return a wait until no job is to be moved."""
        return self._quiet.wait() if self._newest else None

    def _wake_waiters_if_idle(self) -> None:
        if not self._newest:
            self._aside.wake_all()
            self._quiet.wake_all()

    def _enqueue(self, uid: str) -> None:
        if uid not in self._busy and uid not in self._queued:
            self._queued.add(uid)
            self._due.put_nowait(uid)


class OutstandingOrders:
    """Learnt from EVENTS alone, so that a start knows what its predecessor left undone.

    It holds one order a job at most: of an elastic one, that of its newest slice.
    """

    def __init__(self) -> None:
        self._orders = dict[str, JobOrder]()  # by workload
        self._ordered = dict[str, str]()  # by the job's uid: the workload of its order
        self._copies = dict[str, CopyOrder]()  # by key

    def __iter__(self) -> Iterator[Order]:
        """Yield what is to be done, oldest first."""
        orders = (*self._orders.values(), *self._copies.values())
        return iter(sorted(orders, key=lambda order: order.seq))

    def apply_event(self, message: Published, event: FactEvent | DecisionEvent) -> Order | None:
        """Take in one entry of the ledger; return the order that it is, if it is one."""
        order = as_order(event, message.ledger_id, message.seq)
        if isinstance(order, MakeCopy | RemoveCopy):
            self._copies[key_of(order)] = order
            return order
        if order is not None:
            self._add_order(order)
            return order
        self._apply_copy_event(event)
        match event:
            case WorkloadRemoved() | WorkloadFinished() | WorkloadStopped():
                self._remove_order(event.workload)
            case JobStateReported():
                outstanding = self._orders.get(event.workload)
                if outstanding is not None and _is_carried_out(event.state, outstanding):
                    self._remove_order(event.workload)
            case _:
                pass
        return None

    def _apply_copy_event(self, event: FactEvent | DecisionEvent) -> None:
        match event:
            case CopyReported():
                self._copies.pop(copy_creation_key(event.uid), None)
                outstanding = self._orders.get(event.workload)
                if outstanding is not None and _is_carried_out(event.state, outstanding):
                    self._remove_order(event.workload)
            case QuotaReleased():
                self._copies.pop(copy_creation_key(event.uid), None)
            case CopyRemoved():
                self._copies.pop(copy_removal_key(event.copy.uid), None)
                self._remove_order(self._ordered.get(event.copy.uid, ""))
            case _:
                pass

    def clear(self) -> None:
        """Forget everything: events of another ledger follow."""
        self._copies.clear()
        self._orders.clear()
        self._ordered.clear()

    def _add_order(self, order: JobOrder) -> None:
        job, workload = job_of(order).uid, order.order.workload
        self._remove_order(self._ordered.get(job, ""))
        self._remove_order(workload)
        self._orders[workload] = order
        self._ordered[job] = workload

    def _remove_order(self, workload: str) -> None:
        order = self._orders.pop(workload, None)
        if order is not None:
            del self._ordered[job_of(order).uid]


def _is_carried_out(state: JobState, order: JobOrder) -> bool:
    """Return whether a job in this state has the order, or a newer one, behind it."""
    seq = decision_seq(state.decision, order.ledger_id)
    stopped = state.suspended and not state.started and not state.injected
    return seq > order.seq or (seq == order.seq and (not isinstance(order, Stop) or stopped))
