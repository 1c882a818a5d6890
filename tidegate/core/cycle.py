"""One scheduling cycle: a head from each ClusterQueue, nominated together, then processed in order.

In the default mode a ClusterQueue's head is its first workload that could start or preempt, on the
tree as it stands when the cycle begins; those before it are set aside until that may have changed.
So what a cycle does follows from the state alone, and not from how many heads were tried before.

Source: behaviour.md 3; conformance/schedule, schedule-fair.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tidegate.core.ability import can_act
from tidegate.core.deciding.intents import ready
from tidegate.core.draft import Draft
from tidegate.core.heads import first
from tidegate.core.nominating import Nominee, nominate, scan_of
from tidegate.core.ordering import Entry, classic
from tidegate.core.passing import Pass
from tidegate.core.processing import process
from tidegate.core.processing_kueue import process as process_kueue
from tidegate.core.requeueing import explain, requeue_kueue, tell_scans
from tidegate.core.rooms import Room, Tree
from tidegate.core.shapes import set_aside
from tidegate.core.tournament import in_turns
from tidegate.core.watching import wake, watch


def settled(draft: Draft) -> bool:
    """Tell whether a cycle would change nothing: no tree has changed, or nobody is offered."""
    if draft.policy.compatibility == "kueue":
        return not any(_has_head(draft, tree) for tree in draft.forest.trees)
    return not draft.forest.dirty


def run(context: Pass) -> bool:
    """Run one cycle over the trees that changed; tell whether anything was decided."""
    draft = context.draft
    trees = sorted(draft.forest.dirty, key=_name)
    context.cycle += 1
    said = len(context.decisions)
    for tree in trees:
        tree.owners_served = False
    context.begin(trees)
    for tree in trees:
        wake(draft, tree)
    heads = ready(context, trees)
    served = {one.room.name for one in heads}
    idle: list[Tree] = []
    for tree in trees:
        before = len(context.decisions), len(heads)
        rooms = (room for room in tree.rooms if room.name not in served)
        heads += filter(None, (_offered(context, room) for room in rooms))
        if before == (len(context.decisions), len(heads)) and not served:
            idle.append(tree)
    for nominee in _ordered(context.draft, heads):
        process(context, nominee)
    context.end()
    for nominee in heads:
        if nominee.outcome == "preempting":
            explain(context, nominee)
    decided = len(context.decisions) > said
    _rest(context.draft, trees if not decided else idle)
    return decided


def run_kueue(context: Pass) -> bool:
    """Run one cycle over all trees that offer anybody; tell whether another may change anything.

    Scans of flavors may go round for ever while nothing fits: once they stand where they stood
    before, that is rest, and the round is forgotten.
    """
    draft = context.draft
    trees = [tree for tree in draft.forest.trees if _has_head(draft, tree)]
    if not trees:
        return False
    if _run_kueue(context, trees):
        tell_scans(context)
        context.seen = []
        return True
    stand = {key: scan for key, (scan, *_) in context.scanned.items()}
    if not stand or stand in context.seen:
        if context.seen:
            context.scanned = {}
        return False
    context.seen.append(stand)
    return True


def _run_kueue(context: Pass, trees: list[Tree]) -> bool:
    context.cycle += 1
    heads = list(_nominated(context, trees))
    for nominee in _ordered(context.draft, heads):
        process_kueue(context, nominee)
    context.end()
    acted = [requeue_kueue(context, nominee) for nominee in heads]
    return any(acted)


def _offered(context: Pass, room: Room) -> Nominee | None:
    """Return the first workload of a ClusterQueue that can act; set aside those before it."""
    draft = context.draft
    while room.active and (workload := first(draft, room)) is not None:
        nominee = nominate(draft, room, workload)
        if can_act(context, nominee):
            return nominee
        news = explain(context, nominee)
        set_aside(room, workload)
        watch(draft, nominee)
        if news and nominee.outcome == "gated":
            return None  # its gate may be opened for that, before others of its queue go on
    return None


def _rest(draft: Draft, trees: Iterable[Tree]) -> None:
    """Look at no tree again that offered nobody, until it changes."""
    for tree in trees:
        tree.dirty = False
    draft.forest.dirty = [tree for tree in draft.forest.dirty if tree.dirty]


def _name(tree: Tree) -> str:
    # Whichever changed first: a rebuilt draft knows nothing of that.
    return tree.rooms[0].name


def _has_head(draft: Draft, tree: Tree) -> bool:
    found = (room for room in tree.rooms if room.active and room.heap)
    return any(first(draft, room) is not None for room in found)


def _nominated(context: Pass, trees: list[Tree]) -> Iterator[Nominee]:
    draft = context.draft
    for room in (room for tree in trees for room in tree.rooms if room.active and room.heap):
        workload = first(draft, room)
        if workload is not None:
            yield nominate(draft, room, workload, scan_of(context, room, workload))


def _ordered(draft: Draft, heads: list[Nominee]) -> Iterator[Nominee]:
    """Yield entries in order; first those for whom room was made, before others keep any of it."""
    yield from (one for one in heads if one.intent is not None)
    entries = [one for one in heads if one.intent is None and one.proposal]
    if draft.policy.fair_sharing:
        yield from in_turns(draft, entries)
    else:
        ordered: list[Entry] = classic(draft, entries)
        for entry in ordered:
            assert isinstance(entry, Nominee)
            yield entry
