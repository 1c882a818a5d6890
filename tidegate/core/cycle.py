"""One scheduling cycle: one head from each ClusterQueue, nominated together, then in order.

Source: behaviour.md 3; conformance/schedule, schedule-fair.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tidegate.core.deciding.intents import ready
from tidegate.core.draft import Draft
from tidegate.core.heads import first, wake
from tidegate.core.nominating import Nominee, nominate, scan_of
from tidegate.core.ordering import Entry, classic
from tidegate.core.passing import Pass
from tidegate.core.processing import process
from tidegate.core.requeueing import requeue, tell_scans
from tidegate.core.rooms import Tree
from tidegate.core.tournament import in_turns


def settled(draft: Draft) -> bool:
    """Tell whether a cycle would change nothing: no tree is dirty, or nobody is offered."""
    if draft.policy.compatibility == "kueue":
        return not any(_has_head(draft, tree) for tree in draft.forest.trees)
    return not draft.forest.dirty


def run(run_of: Pass, trees: list[Tree]) -> bool:
    """Run one cycle over some trees; tell whether anything changed."""
    run_of.cycle += 1
    for tree in trees:
        tree.acted = tree.skipped = tree.owners_served = False
    run_of.begin(trees)
    heads = _nominated(run_of, trees)
    for nominee in _ordered(run_of.draft, heads):
        if run_of.full:
            nominee.outcome = "left"
        else:
            process(run_of, nominee)
    run_of.end()
    requeue(run_of, heads)
    return any(tree.acted for tree in trees)


def run_kueue(run_of: Pass) -> bool:
    """Run one cycle over all trees that offer anybody; tell whether another may change anything.

    Scans of flavors may go round for ever while nothing fits: once they stand where they stood
    before, that is rest, and the round is forgotten.
    """
    trees = heads_of(run_of.draft, run_of.draft.forest.trees)
    if not trees:
        return False
    if run(run_of, trees):
        tell_scans(run_of)
        run_of.seen = []
        return True
    stand = {key: scan for key, (scan, *_) in run_of.scanned.items()}
    if not stand or stand in run_of.seen:
        if run_of.seen:
            run_of.scanned = {}
        return False
    run_of.seen.append(stand)
    return True


def unsettled(draft: Draft) -> list[Tree]:
    """Return the dirty trees that a cycle may change; what the last one did not change is clean.

    A cycle that only passed somebody over is followed by one that says so. When the heads are used
    up and something changed meanwhile, what was parked before that is tried again.
    """
    wake_fresh(draft)  # a decision about one tree may have touched another
    kept: list[Tree] = []
    clean: list[Tree] = []
    # In name order, whichever became dirty first: a rebuilt draft knows nothing of that.
    for tree in sorted(draft.forest.dirty, key=_name):
        (kept if _goes_on(draft, tree) else clean).append(tree)
    draft.forest.dirty = kept
    for tree in clean:
        tree.dirty, tree.fresh, tree.idle = False, True, False
    return list(kept)


def _name(tree: Tree) -> str:
    return tree.rooms[0].name


def _goes_on(draft: Draft, tree: Tree) -> bool:
    if tree.looked:
        if tree.acted:
            tree.idle = False
        elif tree.skipped and not tree.idle:
            tree.idle = True
        else:
            return _wakes(draft, tree)
    tree.looked = True
    return _has_head(draft, tree) or _wakes(draft, tree)


def _wakes(draft: Draft, tree: Tree) -> bool:
    """Begin a new phase if the tree changed in this one; tell whether anybody is offered."""
    if not tree.moved:
        return False
    tree.moved = tree.idle = False
    wake(draft, tree, unless_tested=True)
    tree.looked = _has_head(draft, tree)
    return tree.looked


def wake_fresh(draft: Draft) -> None:
    """Begin anew with each tree that has become dirty: what earlier turns tried does not count."""
    for tree in draft.forest.dirty:
        if tree.fresh:
            tree.fresh = tree.idle = tree.moved = tree.looked = False
            wake(draft, tree)


def begin_anew(draft: Draft) -> None:
    """Let the next turn begin anew with every dirty tree, as a rebuilt draft would."""
    for tree in draft.forest.dirty:
        tree.fresh = True


def heads_of(draft: Draft, trees: Iterable[Tree]) -> list[Tree]:
    """Return those of the trees that offer anybody."""
    return [tree for tree in trees if _has_head(draft, tree)]


def _has_head(draft: Draft, tree: Tree) -> bool:
    rooms = draft.forest.rooms
    for intent in draft.intents.values():
        room = rooms.get(intent.cluster_queue)
        if room is not None and room.tree is tree:
            return True
    found = (room for room in tree.rooms if room.active and room.heap)
    return any(first(draft, room) is not None for room in found)


def _nominated(run_of: Pass, trees: list[Tree]) -> list[Nominee]:
    draft = run_of.draft
    found = [] if run_of.kueue else ready(run_of, trees)
    served = {one.room.name for one in found}
    for tree in trees:
        for room in tree.rooms:
            if not room.active or not room.heap or room.name in served:
                continue
            workload = first(draft, room)
            if workload is not None:
                scan = scan_of(run_of, room, workload) if run_of.kueue else ()
                found.append(nominate(draft, room, workload, scan))
    return found


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
