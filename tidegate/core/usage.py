"""What the queues' statuses report: who holds how much, borrowed or not.

Source: behaviour.md 17; conformance/usage-report.
"""

from __future__ import annotations

import msgspec

from tidegate.core.draft import Draft, Workload
from tidegate.core.forest import HOLDING, forest
from tidegate.core.heads import pending
from tidegate.core.rooms import Room
from tidegate.model.ids import FlavorResource

Amounts = dict[FlavorResource, int]


class QueueUsage(msgspec.Struct, kw_only=True):
    """A queue's usage; every flavor-resource of its ClusterQueue is listed, in the spec's order."""

    reserved: Amounts  # by whoever has quota
    admitted: Amounts  # of that, by who may run
    borrowed: Amounts  # reserved beyond the nominal quota; 0 without a cohort
    borrowed_admitted: Amounts  # the same of what is admitted
    reserving: int  # workloads with quota
    admitting: int  # of those, who may run
    pending: int


def queue_usage(draft: Draft, cluster_queue: str) -> QueueUsage:
    """Return the usage of a ClusterQueue; of one that does not exist: nothing."""
    room = forest(draft).rooms.get(cluster_queue)
    holding = [] if room is None else list(room.holding.values())
    waiting = sum(len(keys) for keys in pending(draft, cluster_queue))
    return _usage(room, holding, waiting)


def local_queue_usage(draft: Draft, queue: str) -> QueueUsage:
    """Return the usage of a LocalQueue, named "<namespace>/<name>"; nothing is borrowed by one."""
    defined = draft.objects.local_queues.get(queue)
    name = "" if defined is None else defined.spec.cluster_queue
    standing = [draft.workloads[key] for key in draft.by_queue.get(queue, ())]
    holding = [one for one in standing if one.phase in HOLDING and one.cluster_queue == name]
    waiting = sum(1 for one in standing if one.phase == "pending")
    found = _usage(forest(draft).rooms.get(name), holding, waiting)
    found.borrowed = dict.fromkeys(found.borrowed, 0)
    found.borrowed_admitted = dict.fromkeys(found.borrowed_admitted, 0)
    return found


def _usage(room: Room | None, holding: list[Workload], waiting: int) -> QueueUsage:
    admitted = [one for one in holding if one.admitted_us or one.phase == "admitted"]
    reserved_sum, admitted_sum = _sum(room, holding), _sum(room, admitted)
    return QueueUsage(
        reserved=reserved_sum,
        admitted=admitted_sum,
        borrowed=_borrowed(room, reserved_sum),
        borrowed_admitted=_borrowed(room, admitted_sum),
        reserving=len(holding),
        admitting=len(admitted),
        pending=waiting,
    )


def _sum(room: Room | None, holding: list[Workload]) -> Amounts:
    total: Amounts = {}
    for group in () if room is None else room.groups:
        for slot in group.slots:
            total.update(dict.fromkeys((cell.fr for cell in slot.cells.values()), 0))
    for workload in holding:
        for fr, units in workload.charges:
            if fr in total:
                total[fr] += units
    return total


def _borrowed(room: Room | None, used: Amounts) -> Amounts:
    if room is None or room.node.parent is None:
        return dict.fromkeys(used, 0)
    cells = room.node.cells
    return {fr: max(0, units - cells[fr].nominal) for fr, units in used.items()}
