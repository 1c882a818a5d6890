"""The newest order of each job without an observed effect."""

from __future__ import annotations

from collections.abc import Iterator

from actuator.ordering.orders import (
    CopyOrder,
    JobOrder,
    MakeCopy,
    Order,
    RemoveCopy,
    as_order,
    job_of,
    key_of,
    making,
    removing,
)
from tidegate.contracts.decisions import DecisionEvent, QuotaReleased
from tidegate.contracts.entry import Published
from tidegate.contracts.fact_kinds.copies import CopyRemoved, CopyReported
from tidegate.contracts.facts import (
    FactEvent,
    JobStateReported,
    WorkloadFinished,
    WorkloadRemoved,
    WorkloadStopped,
)
from tidegate.contracts.observations import JobState
from tidegate.jobs.kind import Stop, decided


class Outstanding:
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

    def learn(self, message: Published, event: FactEvent | DecisionEvent) -> Order | None:
        """Take in one entry of the ledger; return the order that it is, if it is one."""
        order = as_order(event, message.ledger_id, message.seq)
        if isinstance(order, MakeCopy | RemoveCopy):
            self._copies[key_of(order)] = order
            return order
        if order is not None:
            self._put(order)
            return order
        self._learn_copy(event)
        match event:
            case WorkloadRemoved() | WorkloadFinished() | WorkloadStopped():
                self._drop(event.workload)
            case JobStateReported():
                outstanding = self._orders.get(event.workload)
                if outstanding is not None and _shows(event.state, outstanding):
                    self._drop(event.workload)
            case _:
                pass
        return None

    def _learn_copy(self, event: FactEvent | DecisionEvent) -> None:
        match event:
            case CopyReported():
                self._copies.pop(making(event.uid), None)
                outstanding = self._orders.get(event.workload)
                if outstanding is not None and _shows(event.state, outstanding):
                    self._drop(event.workload)
            case QuotaReleased():
                self._copies.pop(making(event.uid), None)
            case CopyRemoved():
                self._copies.pop(removing(event.copy.uid), None)
                self._drop(self._ordered.get(event.copy.uid, ""))
            case _:
                pass

    def clear(self) -> None:
        """Forget everything: events of another ledger follow."""
        self._copies.clear()
        self._orders.clear()
        self._ordered.clear()

    def _put(self, order: JobOrder) -> None:
        job, workload = job_of(order).uid, order.order.workload
        self._drop(self._ordered.get(job, ""))
        self._drop(workload)
        self._orders[workload] = order
        self._ordered[job] = workload

    def _drop(self, workload: str) -> None:
        order = self._orders.pop(workload, None)
        if order is not None:
            del self._ordered[job_of(order).uid]


def _shows(state: JobState, order: JobOrder) -> bool:
    """Return whether a job in this state has the order, or a newer one, behind it."""
    seq = decided(state.decision, order.ledger_id)
    stopped = state.suspended and not state.started and not state.injected
    return seq > order.seq or (seq == order.seq and (not isinstance(order, Stop) or stopped))
