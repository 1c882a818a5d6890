"""The usage that the statuses of ClusterQueues and LocalQueues report: reserved and borrowed.

Source: behaviour.md 17; conformance/usage-report.
"""

from __future__ import annotations

import msgspec

from tidegate.core.queueing.heads import pending_keys
from tidegate.core.quota.forest import forest
from tidegate.core.state.cluster_queues import ClusterQueueState
from tidegate.core.state.state import State, Workload
from tidegate.model.ids import FlavorResource

Amounts = dict[FlavorResource, int]


class QueueUsage(msgspec.Struct, kw_only=True):
    """A queue's usage; every flavor-resource of its ClusterQueue is listed, in the spec's order."""

    reserved: Amounts  # by workloads with quota
    borrowed: Amounts  # reserved beyond the nominal quota; 0 without a cohort
    reserving: int  # workloads with quota
    admitting: int  # workloads with quota that may run
    pending: int


def queue_usage(state: State, cluster_queue: str) -> QueueUsage:
    """Return the usage of a ClusterQueue; all zero if it does not exist."""
    cq = forest(state).cluster_queues.get(cluster_queue)
    holding = [] if cq is None else list(cq.holding.values())
    waiting = sum(len(keys) for keys in pending_keys(state, cluster_queue))
    reserved = _reserved_amounts(cq, holding)
    return QueueUsage(
        reserved=reserved,
        borrowed=_borrowed_amounts(cq, reserved),
        reserving=len(holding),
        admitting=sum(
            1 for workload in holding if workload.admitted_us or workload.phase == "admitted"
        ),
        pending=waiting,
    )


def _reserved_amounts(cq: ClusterQueueState | None, holding: list[Workload]) -> Amounts:
    total: Amounts = {}
    for group in () if cq is None else cq.groups:
        for slot in group.slots:
            total.update(dict.fromkeys((cell.fr for cell in slot.cells.values()), 0))
    for workload in holding:
        for fr, units in workload.charges:
            if fr in total:
                total[fr] += units
    return total


def _borrowed_amounts(cq: ClusterQueueState | None, used: Amounts) -> Amounts:
    if cq is None or cq.node.parent is None:
        return dict.fromkeys(used, 0)
    cells = cq.node.cells
    return {fr: max(0, units - cells[fr].nominal) for fr, units in used.items()}
