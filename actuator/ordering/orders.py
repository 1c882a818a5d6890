"""Start and stop orders: the queue of them, and the newest order for each job."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeAlias, TypeVar

import msgspec

from actuator.ordering.waiters import Waiters
from tidegate.contracts.decision_kinds.copies import CopyOrdered, CopyRemovalOrdered
from tidegate.contracts.decisions import StartOrdered, StopOrdered, WorkloadExpired
from tidegate.contracts.facts import Event
from tidegate.jobs.kind import LedgerOrder, Object, Start, Stop
from tidegate.kinds import names
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
        case StartOrdered() | StopOrdered() | WorkloadExpired(job=ObjectRef()) if _is_elsewhere(
            event
        ):
            return None
        case StartOrdered():
            return Start(order=event, ledger_id=ledger_id, seq=seq)
        case StopOrdered():
            return Stop(order=event, ledger_id=ledger_id, seq=seq)
        case WorkloadExpired(job=ObjectRef()):
            return Expire(order=event, ledger_id=ledger_id, seq=seq)
        case _:
            return None


def _is_elsewhere(order: StartOrdered | StopOrdered | WorkloadExpired) -> bool:
    return order.job is not None and order.job.cluster != ""


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
            return making(order.order.uid)
        case RemoveCopy():
            return removing(order.order.copy.uid)
        case _:
            return job_of(order).uid


def making(origin: str) -> str:
    """Return the key of the order that makes a job's copy."""
    return f"make {origin}"


def removing(copy: str) -> str:
    """Return the key of the order that removes a copy, by its uid."""
    return f"remove {copy}"


def among_clusters(order: Placed, obj: Object) -> Placed:
    """Return an order with the label that pods get of a job that a manager of MultiKueue sent.

    Source: multikueue.md 2.2.
    """
    if names.MANAGER not in obj["metadata"].get("labels", {}):
        return order
    label = {names.WORKER_POD: "true"}
    podsets = tuple(
        msgspec.structs.replace(podset, labels=podset.labels | label)
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
    def underway(self) -> int:
        """Return how many orders are being carried out now."""
        return len(self._busy)

    def offer(self, order: Order) -> None:
        """Put an order in the place of any older one for the same job."""
        uid = key_of(order)
        newest = self._newest.get(uid)
        if newest is None or newest.seq < order.seq or newest.ledger_id != order.ledger_id:
            self._newest[uid] = order
            self._queue(uid)

    def withdraw(self, uid: str) -> None:
        """Forget the order for a deleted job."""
        self._newest.pop(uid, None)
        self._let_pass()

    def clear(self) -> None:
        """Forget everything, as when the lease is lost."""
        self._newest.clear()
        self._let_pass()

    def superseded(self, order: Order) -> bool:
        """Return whether another order, or none, stands in this one's place by now."""
        return self._newest.get(key_of(order)) is not order

    async def take(self) -> Order:
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
            self._queue(uid)
        for _ in range(TURNS):
            self._aside.wake()
        self._let_pass()

    def step_aside(self) -> Awaitable[None] | None:
        """Return a wait while jobs are to be moved: until none is, or until one more was.

        Each order that ends lets two waiting writes pass: a start writes two statuses, one when it
        begins and one when it ends.
        """
        return self._aside.wait() if self._newest else None

    def quiet(self) -> Awaitable[None] | None:
        """Return a wait until no job is to be moved."""
        return self._quiet.wait() if self._newest else None

    def _let_pass(self) -> None:
        if not self._newest:
            self._aside.wake_all()
            self._quiet.wake_all()

    def _queue(self, uid: str) -> None:
        if uid not in self._busy and uid not in self._queued:
            self._queued.add(uid)
            self._due.put_nowait(uid)
