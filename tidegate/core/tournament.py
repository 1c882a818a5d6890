"""The order of a cycle under fair sharing: a tournament in each cohort tree before every turn.

Source: behaviour.md 3.3; conformance/schedule-fair.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from tidegate.core.draft import Draft
from tidegate.core.nominating import Nominee
from tidegate.core.ordering import gate, queue_time
from tidegate.core.shares import ZERO, Share, borrows_on, share
from tidegate.core.tree import Node, add, remove
from tidegate.model.policy import Policy


class _Standing(msgspec.Struct, kw_only=True, eq=False):
    """How an entry stands in the tournaments of its ancestors, by the depth of the cohort."""

    nominee: Nominee
    shares: dict[int, Share] = {}  # a cohort's identity to the share of its child on our path
    borrowing: dict[int, bool] = {}


def in_turns(draft: Draft, entries: Iterable[Nominee]) -> Iterator[Nominee]:
    """Yield entries one by one; shares are taken anew before each, as the tree then is."""
    by_tree: dict[int, list[Nominee]] = {}
    for entry in entries:
        by_tree.setdefault(id(entry.room.tree), []).append(entry)
    for left in by_tree.values():
        root = left[0].room.tree.root
        if not root.is_cohort:
            yield from left
            continue
        while left:
            standings = {one.room.name: _standing(one) for one in left}
            winner = _winner(draft.policy, root, standings)
            assert winner is not None
            left.remove(winner.nominee)
            yield winner.nominee


def _standing(nominee: Nominee) -> _Standing:
    made, node = _Standing(nominee=nominee), nominee.room.node
    usage = nominee.usage
    add(node, usage.items())
    at = node
    while at.parent is not None:
        made.shares[id(at.parent)] = share(at)
        made.borrowing[id(at.parent)] = borrows_on(at, usage)
        at = at.parent
    remove(node, usage.items())
    return made


def _winner(policy: Policy, cohort: Node, standings: dict[str, _Standing]) -> _Standing | None:
    best: _Standing | None = None
    for child in cohort.children:
        below = child.is_cohort
        found = _winner(policy, child, standings) if below else standings.get(child.name)
        if found is not None and (best is None or _beats(policy, cohort, found, best)):
            best = found
    return best


def _beats(policy: Policy, cohort: Node, one: _Standing, other: _Standing) -> bool:
    if gate(policy, "PrioritizePreemptorWorkloads", default=False):
        first, second = one.nominee.is_preemptor, other.nominee.is_preemptor
        if first != second:
            return first
    if gate(policy, "FairSharingPrioritizeNonBorrowing", default=True):
        borrows, other_borrows = one.borrowing[id(cohort)], other.borrowing[id(cohort)]
        if borrows != other_borrows:
            return other_borrows
    mine, theirs = one.shares.get(id(cohort), ZERO), other.shares.get(id(cohort), ZERO)
    if mine < theirs or theirs < mine:
        return mine < theirs
    return _place(policy, one.nominee) < _place(policy, other.nominee)


def _place(policy: Policy, nominee: Nominee) -> tuple[int, int, str, str]:
    workload = nominee.workload
    by_priority = gate(policy, "PrioritySortingWithinCohort", default=True)
    priority = -workload.priority if by_priority else 0
    return priority, queue_time(policy, workload), workload.uid, workload.key
