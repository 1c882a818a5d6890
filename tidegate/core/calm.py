"""Calm trees: under fair sharing, where nobody may be preempted, champions stand from turn to turn.

Each node of such a tree remembers its champion among those who ask for no more than some amount.
Whatever changes in a ClusterQueue changes its shares and its ancestors', and nobody else's: only
the champions on that path are found anew. So a turn costs what has changed, times depth and
branching, however many ClusterQueues there are and however many workloads wait.

Who goes first is decided anew before every admission, among the first workloads of all queues that
fit. That is the tournament of ``tidegate.core.tournament``, without its cycles: these exist so that
whoever might preempt sees the tree as it was, and nobody preempts here.

Trees with several flavor-resources, lending limits, StrictFIFO or workloads that go the long way
are not calm. What is remembered follows from the draft alone: a rebuilt one decides the same.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import cast

import msgspec

from tidegate.core import decay
from tidegate.core.deciding.admit import admit
from tidegate.core.draft import Draft, Workload
from tidegate.core.nominating import nominate
from tidegate.core.ordering import Entry
from tidegate.core.passing import Pass
from tidegate.core.plain import Plain, plain_of
from tidegate.core.requeueing import tell_waiting
from tidegate.core.rooms import Room, Tree
from tidegate.core.shapes import first_of
from tidegate.core.timing import admission_blocked
from tidegate.core.tournament import Champion, Rules, crowned, place_of, rules_of, standing
from tidegate.core.tree import Cell, Node
from tidegate.model.ids import FlavorResource

_SIZES_MAX = 1_024
"""So many different amounts are remembered before those are forgotten that nobody asks for."""


class Calm(msgspec.Struct, kw_only=True, eq=False):
    """What a calm tree remembers."""

    fr: FlavorResource  # the only one there is quota of
    sizes: list[int] = []  # what workloads asked for, ascending
    sizes_max: int = _SIZES_MAX
    crooked: dict[str, None] = {}  # ClusterQueues with workloads that go the long way
    rooms: dict[str, Room] = {}


class _Waiting(Entry, kw_only=True, eq=False):
    """The first workload of a ClusterQueue that fits."""

    room: Room


def calm(draft: Draft, tree: Tree) -> Calm | None:
    """Return what a tree remembers if it is calm just now; None if it is not."""
    policy = draft.policy
    if policy.compatibility == "kueue" or not policy.fair_sharing or tree.cyclic:
        return None
    if tree.calm is None:
        tree.calm = _begin(draft, tree) or False
    found = cast("Calm | bool", tree.calm)
    if not isinstance(found, Calm) or _is_disturbed(draft, tree):
        return None
    _refresh(draft, tree, found)
    return None if found.crooked else found


def serve(run_of: Pass) -> None:
    """Settle all dirty trees that are calm, as far as the turn may go on."""
    draft = run_of.draft
    served: set[int] = set()
    for tree in sorted(draft.forest.dirty, key=lambda one: one.rooms[0].name):
        found = calm(draft, tree)
        if found is not None and _serve(run_of, tree, found):
            tree.dirty, tree.fresh = False, True
            served.add(id(tree))
    if served:
        draft.forest.dirty = [one for one in draft.forest.dirty if id(one) not in served]


def _serve(run_of: Pass, tree: Tree, found: Calm) -> bool:
    """Admit one after another; tell whether nobody is left who fits."""
    draft, rules = run_of.draft, rules_of(run_of.draft.policy)
    while not run_of.full:
        calm_now = calm(draft, tree)  # takes note of whom the last admission brought to the front
        best = None if calm_now is None else _champion(draft, rules, found, tree.root, 0)
        if best is None:
            break
        entry = best.entry
        assert isinstance(entry, _Waiting)
        proposal = nominate(draft, entry.room, entry.workload).proposal
        assert proposal is not None
        admit(run_of, entry.room, entry.workload, proposal.assignment)
    if run_of.full or calm(draft, tree) is None:
        return False
    _tell(run_of, tree)
    return True


def _tell(run_of: Pass, tree: Tree) -> None:
    """Say why they wait whose ClusterQueues changed, as far as it was not said before."""
    for name in sorted(tree.untold):
        room = tree.untold[name]
        tops = [top for shape in room.shapes.values() if (top := first_of(shape)) is not None]
        for top in sorted(tops, key=lambda one: one.rank) if room.active else ():
            tell_waiting(run_of, nominate(run_of.draft, room, top))
    tree.untold = {}


def _begin(draft: Draft, tree: Tree) -> Calm | None:
    """Return what a tree begins with if its quotas and policies are such that it may be calm."""
    frs = [fr for fr, cell in tree.root.cells.items() if cell.known]
    if len(frs) != 1 or not tree.root.is_cohort:
        return None
    for room in tree.rooms:
        rules = room.spec.preemption
        if rules.within_cluster_queue != "Never" or rules.reclaim_within_cohort != "Never":
            return None
        if room.spec.strategy != "BestEffortFIFO" or decay.applies(draft, room.spec):
            return None
    if any(cell.local for cell in _cells(tree.root, frs[0])):
        return None
    return Calm(fr=frs[0], rooms={room.name: room for room in tree.rooms})


def _cells(node: Node, fr: FlavorResource) -> list[Cell]:
    found = [node.cells[fr]] if fr in node.cells else []
    for child in node.children:
        found += _cells(child, fr)
    return found


def _is_disturbed(draft: Draft, tree: Tree) -> bool:
    """Tell whether something left from earlier rules has to be seen to in cycles first."""
    rooms = draft.forest.rooms
    told = [intent.cluster_queue for intent in draft.intents.values()]
    names = [*told, *draft.vain] if told or draft.vain else told
    if any(name in rooms and rooms[name].tree is tree for name in names):
        return True
    return admission_blocked(draft)


def _refresh(draft: Draft, tree: Tree, found: Calm) -> None:
    """Take note of what those ask for whose ClusterQueues changed."""
    for name in tree.news:
        _look(draft, found, found.rooms[name])
    tree.news = {}
    if len(found.sizes) > found.sizes_max:  # most of them nobody asks for any more
        found.sizes = []
        _forget_all(tree.root)
        for room in tree.rooms:
            _look(draft, found, room)
        found.sizes_max = 2 * len(found.sizes) + _SIZES_MAX


def _look(draft: Draft, found: Calm, room: Room) -> None:
    found.crooked.pop(room.name, None)
    for key, shape in list(room.shapes.items()):
        top = first_of(shape)
        if top is None:
            del room.shapes[key]
            continue
        plain = plain_of(draft, room, top)
        if plain is None or plain.cell.fr != found.fr:
            found.crooked[room.name] = None
        else:
            at = bisect_left(found.sizes, plain.units)
            if found.sizes[at : at + 1] != [plain.units]:
                found.sizes.insert(at, plain.units)


def _forget_all(node: Node) -> None:
    node.champions = {}
    for child in node.children:
        _forget_all(child)


def _champion(draft: Draft, rules: Rules, found: Calm, node: Node, above: int) -> Champion | None:
    """Return who goes first below a node, ``above`` being what may be taken at its parent."""
    cell = node.cells.get(found.fr)
    if cell is None:
        return None
    if node.parent is None:
        above = cell.quota - cell.usage
    elif cell.borrowing is not None:
        above = min(above, cell.quota + cell.borrowing - cell.usage)
    at = bisect_right(found.sizes, above)
    if not at:
        return None
    most = found.sizes[at - 1]  # whoever fits into ``above`` fits into this
    if most not in node.champions:
        if node.is_cohort:
            below = (
                (child, _champion(draft, rules, found, child, most)) for child in node.children
            )
            node.champions[most] = crowned(rules, node, below)
        else:
            node.champions[most] = _first(draft, rules, found.rooms[node.name], most)
    return cast("Champion | None", node.champions[most])


def _first(draft: Draft, rules: Rules, room: Room, most: int) -> Champion | None:
    """Return a ClusterQueue's first workload that asks for no more than ``most``."""
    best: Workload | None = None
    units, fr = 0, None
    for shape in room.shapes.values() if room.active else ():
        top, plain = first_of(shape), shape.plain
        if top is None or not isinstance(plain, Plain) or plain.units > most:
            continue
        if best is None or top.rank < best.rank:
            best, units, fr = top, plain.units, plain.cell.fr
    if best is None or fr is None:
        return None
    entry = _Waiting(workload=best, room=room)
    return standing(room.node, entry, {fr: units}, place_of(draft.policy, rules, best))
