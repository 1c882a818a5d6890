"""The first of a ClusterQueue that fits into what is free, without a look at all that wait.

Where each that watches a cell asks for that cell alone, and may go to its flavor only, whoever asks
for more than another and stands behind it is never first. The others are few and ordered both by
amount and by rank: the last of them that fits is the first of the ClusterQueue.
"""

from __future__ import annotations

from bisect import bisect_right
from operator import itemgetter

from tidegate.core.flavors.assignment import Assignment
from tidegate.core.flavors.parts import parts_of
from tidegate.core.folding.timing import admission_blocked
from tidegate.core.nomination.decide_context import DecideContext
from tidegate.core.nomination.nominate import Nominee
from tidegate.core.nomination.proposals import Proposal
from tidegate.core.queueing.admissibility import refused
from tidegate.core.queueing.ordering import Entry
from tidegate.core.quota.tree import Cell, free, level
from tidegate.core.state.cluster_queues import Ahead, CellWatchers, ClusterQueueState
from tidegate.core.state.shapes import first_of
from tidegate.core.state.state import State
from tidegate.core.state.workload import Shape

_amount = itemgetter(0)


def are_ranked(state: State, cq: ClusterQueueState, at: CellWatchers) -> bool:
    """Tell whether all that watch a cell ask for it alone; then it is known who comes first."""
    if at.ahead is None:
        at.ahead = _ranked(state, cq, at, at.cell) if isinstance(at.cell, Cell) else []
    return bool(at.ahead)


def may_evict(at: CellWatchers) -> bool:
    """Tell whether a watcher whose amount is not free may have it by evictions in its queue."""
    assert isinstance(at.cell, Cell)
    amount = free(at.cell)
    for others in at.beyond.values():
        entries = others.entries
        index = bisect_right(entries, amount, key=_amount)
        if index < len(entries) and entries[index][0] <= amount + others.own:
            return True
    return False


class First(Entry, kw_only=True, eq=False):
    """A ClusterQueue's head that asks for one amount alone, which was free as the cycle began."""

    cq: ClusterQueueState
    cell: Cell
    units: int


def nearest(context: DecideContext, cq: ClusterQueueState) -> First | None:
    """Return who is first of a ClusterQueue's watchers, if it fits just so.

    If it is not told, all whose amount is free are listed in ``near`` to be looked at in turn.
    """
    at = cq.nearest
    if at is None:
        return None
    assert isinstance(at.cell, Cell)
    amount = free(at.cell)
    entry = None if cq.heap else _first(context.state, cq, at, amount)
    head = None if entry is None else _fitting(context, cq, at.cell, entry)
    if head is None:
        end = bisect_right(at.named.entries, amount, key=_amount)
        tops = (
            (top.rank, shape, token)
            for _, _, shape, token in at.named.entries[:end]
            if shape.named is token and (top := first_of(shape)) is not None
        )
        cq.near, cq.nearest = sorted(tops), None
    return head


def has_room(context: DecideContext, head: First) -> bool:
    """Tell whether a head's amount may be free still: nobody before it took it."""
    return bool(context.victims) or head.units <= free(head.cell)


def nominee_of(state: State, head: First) -> Nominee:
    """Return a head with the one flavor that it may go to."""
    usage = {head.cell.fr: head.units}
    assignment = Assignment(podsets=[], usage=usage, borrows=head.borrows)
    slot = parts_of(state, head.cq, head.workload).each[0].slots[0]
    proposal = Proposal(assignment=assignment, flavors=[slot])
    return Nominee(workload=head.workload, cq=head.cq, borrows=head.borrows, proposal=proposal)


def _first(state: State, cq: ClusterQueueState, at: CellWatchers, amount: int) -> Ahead | None:
    while are_ranked(state, cq, at):
        assert at.ahead is not None
        index = bisect_right(at.ahead, amount, key=_amount)
        if not index:
            return None
        entry = at.ahead[index - 1]
        top = first_of(entry[2])
        if entry[2].named is entry[3] and top is not None and top.rank is entry[1]:
            return entry
        at.ahead = None
    return None


def _fitting(
    context: DecideContext, cq: ClusterQueueState, cell: Cell, entry: Ahead
) -> First | None:
    """Return the first workload of a shape as a head if an amount is free for it now."""
    state, units, workload = context.state, entry[0], first_of(entry[2])
    assert workload is not None
    if admission_blocked(state) or (workload.checks and refused(state, workload) is not None):
        return None
    borrows = level(cell, units)[0]
    if borrows and cq.spec.fungibility.when_can_borrow == "TryNextFlavor":
        return None
    if context.reserved and not context.fits_now(cq, ((cell.fr, units),)):
        return None
    return First(workload=workload, borrows=borrows, cq=cq, cell=cell, units=units)


def _ranked(state: State, cq: ClusterQueueState, at: CellWatchers, cell: Cell) -> list[Ahead]:
    """Return who comes before all that ask for less; nobody if not all ask for this alone."""
    ahead, shapes = list[Ahead](), set[int]()
    for units, _, shape, token in at.named.entries:
        if shape.named is not token:
            continue
        if not shape.parked or not _asks_alone(state, cq, shape, cell, units):
            return []
        shapes.add(id(shape))
        top = first_of(shape)
        if top is not None and (not ahead or top.rank < ahead[-1][1]):
            ahead.append((units, top.rank, shape, token))
    for others in at.beyond.values():
        for _, _, shape, token in others.entries:
            if shape.watch is token and id(shape) not in shapes:
                return []
    return ahead


def _asks_alone(state: State, cq: ClusterQueueState, shape: Shape, cell: Cell, units: int) -> bool:
    """Tell whether a shape asks for an amount of one cell and nothing else, and watches just it.

    What else might refuse it cannot change while it watches, but for its admission checks.
    """
    top, named, watch = first_of(shape), shape.named, shape.watch
    if top is None or named is None or watch is None or top.replaces or top.variant_of:
        return False
    if refused(state, top) is not None:
        return False
    parts = parts_of(state, cq, top)
    if not parts.covered or len(parts.each) != 1 or len(parts.each[0].slots) != 1:
        return False
    asked = parts.each[0].asked
    cells = [(parts.each[0].slots[0].cells[name], amount) for name, amount in asked.items()]
    return cells == named.constraints == watch.constraints == [(cell, units)]
