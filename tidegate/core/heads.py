"""Which workload each ClusterQueue offers, and who is out of the running.

Pending workloads stand in a heap for each shape; a shape that was found not to fit is parked as a
whole, which costs the same for one workload as for ten thousand.

Source: behaviour.md 2; conformance/queue-order.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush

from tidegate.core import decay
from tidegate.core.admissibility import is_queued
from tidegate.core.charging import shape_key
from tidegate.core.draft import Draft, Workload
from tidegate.core.forest import forest
from tidegate.core.ordering import rank
from tidegate.core.rooms import Room, Shape, Tree
from tidegate.core.shapes import first_of, unpark
from tidegate.core.sharing import share_request

OUTDATED_MAX = 1_024
"""How many outdated entries a heap may hold beyond one for each valid entry."""


def head(draft: Draft, cluster_queue: str) -> Workload | None:
    """Return the workload that a ClusterQueue offers next, or None."""
    room = forest(draft).rooms.get(cluster_queue)
    return None if room is None else first(draft, room)


def first(draft: Draft, room: Room) -> Workload | None:
    """Return the first workload of a room that is not parked, or None; changes no order."""
    if not room.heap:
        return None
    if draft.sticky and (stuck := _sticky(draft, room)) is not None:
        return stuck
    if decay.applies(draft, room.spec):
        return _least_used(draft, room)
    heap = room.heap
    while heap:
        found, shape = heap[0]
        top = first_of(shape)
        if top is not None and not shape.parked:
            if top.rank is found:
                return None if found is room.blocked else top
            heappush(heap, (top.rank, shape))
        heappop(heap)
    return None


def place(draft: Draft, workload: Workload) -> None:
    """Put a workload where its state says: in its queue, beside it, or nowhere."""
    leave(draft, workload)
    if workload.phase != "pending":
        return
    room = forest(draft).rooms.get(workload.cluster_queue)
    if room is None:
        return
    if offered(draft, workload):
        _push(draft, room, workload)
    else:
        room.waiting[workload.key] = workload


def refresh(draft: Draft, workload: Workload) -> None:
    """Place a workload anew after its fields were changed by hand, as only tests do."""
    workload.requests = None
    place(draft, workload)


def leave(draft: Draft, workload: Workload) -> None:
    """Take a workload out of its queue; nothing happens if it stands in none."""
    shape, room = workload.shape, draft.forest.rooms.get(workload.cluster_queue)
    if room is None:
        workload.shape = None
        return
    room.waiting.pop(workload.key, None)
    first = shape is not None and shape.heap and shape.heap[0][1] is workload
    workload.shape = None
    if first and shape is not None:
        if not _parks_by_event(draft):
            unpark(room, shape)  # another is first now, and was not looked at
        note(draft, room)


def offered(draft: Draft, workload: Workload) -> bool:
    """Tell whether a pending workload may be tried at all, whatever quota there is."""
    if workload.parked or workload.made_way_for or workload.key in draft.intents:
        return False
    if workload.requeue_reason or (workload.requeue_after_us and _backs_off(draft, workload)):
        return False
    return is_queued(draft, workload)


def _backs_off(draft: Draft, workload: Workload) -> bool:
    """Tell whether nobody said yet that a backoff is over, whatever the time is.

    Time moves with every fact, but only a heartbeat ends a backoff: who is asked in between, such
    as after a start from a snapshot, must answer as who was not.
    """
    key = f"requeue/{workload.key}"
    return key in draft.deadlines.at or key in draft.deadlines.due


def wake(draft: Draft, tree: Tree) -> None:
    """Put what is parked in a tree's ClusterQueues back into the running."""
    for room in tree.rooms:
        room.blocked = None
        for shape in list(room.shapes.values()):
            unpark(room, shape)
        for workload in [one for one in room.waiting.values() if one.parked]:
            workload.parked = False
            place(draft, workload)


def pending(draft: Draft, cluster_queue: str) -> tuple[list[str], list[str]]:
    """Return the keys of who is in the running in a ClusterQueue, and of who is not; sorted."""
    room = forest(draft).rooms.get(cluster_queue)
    if room is None:
        return [], []
    active = [one.key for shape in room.shapes.values() if not shape.parked for one in _in(shape)]
    parked = [one.key for shape in room.shapes.values() if shape.parked for one in _in(shape)]
    return sorted(active), sorted([*parked, *room.waiting])


def _in(shape: Shape) -> list[Workload]:
    return [one for found, one in shape.heap if one.shape is shape and one.rank is found]


def _parks_by_event(draft: Draft) -> bool:
    return draft.policy.compatibility == "kueue"


def _push(draft: Draft, room: Room, workload: Workload) -> None:
    key = shape_key(draft, workload)
    shape = room.shapes.get(key)
    draft.forest.pushed += 1
    workload.rank = (*rank(draft.policy, workload), draft.forest.pushed)
    top = None if shape is None else first_of(shape)
    if top is not None:
        share_request(workload, top)
    if shape is None:
        shape = room.shapes[key] = Shape(key=key)
    workload.shape = shape
    heappush(shape.heap, (workload.rank, workload))
    if shape.heap[0][1] is workload:
        if not shape.parked:
            heappush(room.heap, (workload.rank, shape))
        elif not _parks_by_event(draft):
            unpark(room, shape)
    if len(room.heap) > 2 * len(room.shapes) + OUTDATED_MAX:
        _clear_out(room)
    note(draft, room)


def _clear_out(room: Room) -> None:
    """Keep one entry for each shape that is in the running."""
    tops = ((first_of(shape), shape) for shape in room.shapes.values() if not shape.parked)
    room.heap = [(top.rank, shape) for top, shape in tops if top is not None]
    heapify(room.heap)


def note(draft: Draft, room: Room) -> None:
    """Note that who waits in a ClusterQueue, or what is known of them, has changed."""
    tree = room.tree
    if not tree.dirty:
        tree.dirty = True
        draft.forest.dirty.append(tree)


def _sticky(draft: Draft, room: Room) -> Workload | None:
    key = draft.sticky.get(room.name)
    workload = None if key is None else draft.workloads.get(key)
    if workload is None or room.spec.strategy != "BestEffortFIFO":
        return None
    shape = workload.shape
    return workload if shape is not None and not shape.parked else None


def _least_used(draft: Draft, room: Room) -> Workload | None:
    found = [one for shape in room.shapes.values() if not shape.parked for one in _in(shape)]
    return min(found, key=lambda one: (decay.usage_of(draft, one), one.rank), default=None)
