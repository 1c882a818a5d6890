"""The order of a cycle under fair sharing: a tournament in each cohort tree before every turn.

Each cohort keeps the champion of the entries below it. A turn changes usage only on the path from
its entry to the root, so only champions on that path are computed again.

Source: behaviour.md 3.3; conformance/schedule-fair.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from tidegate.core.nomination.nominate import Entry, Nominee
from tidegate.core.queueing.heads import queue_order_time
from tidegate.core.quota.shares import Share, dominant_share
from tidegate.core.quota.tree import Node, parent_usage_delta
from tidegate.core.state.state import State, Workload
from tidegate.model.gates import gate_enabled
from tidegate.model.ids import FlavorResource
from tidegate.model.policy import Policy

EntryOrder = tuple[int, int, str, str]


class Rules(msgspec.Struct, frozen=True):
    """The settings of the policy that the comparison of two entries depends on."""

    preemptors_first: bool
    owners_first: bool
    by_priority: bool
    exact_shares: bool
    cohorts_first: bool  # of a cohort's and a ClusterQueue's entry that nothing else tells apart


class Champion(msgspec.Struct, kw_only=True, eq=False):
    """The best entry below a node, and the node's share and borrowing with its usage."""

    entry: Entry
    amounts: Mapping[FlavorResource, int]  # the part of its usage that reaches the node
    share: Share
    borrows: bool
    order: EntryOrder


class _TreeNode(msgspec.Struct, kw_only=True, eq=False):
    """A node of a tree with at least one entry below it."""

    node: Node
    above: _TreeNode | None
    below: list[_TreeNode] = []
    champion: Champion | None = None


def tournament_order(state: State, entries: Iterable[Nominee]) -> Iterator[Nominee]:
    """Yield entries one by one; before each, shares are computed again on the current tree."""
    by_tree: dict[int, list[Nominee]] = {}
    for entry in entries:
        by_tree.setdefault(id(entry.cq.tree), []).append(entry)
    for nominees in by_tree.values():
        if len(nominees) == 1 or not any(_can_act(nominee) for nominee in nominees):
            yield from nominees  # at most one entry, or none that can act: order does not matter
        else:
            yield from _tournament(state, nominees)


def _can_act(entry: Nominee) -> bool:
    """Tell whether an entry may be admitted or preempt; other entries at most reserve quota."""
    proposal = entry.proposal
    return proposal is not None and (proposal.assignment.mode == "Fit" or bool(proposal.targets))


def _tournament(state: State, entries: list[Nominee]) -> Iterator[Nominee]:
    rules = ordering_rules(state)
    seats: dict[int, _TreeNode] = {}
    for entry in entries:
        seat = _tournament_node(seats, entry.cq.node)
        order = entry_order(state.policy, rules, entry.workload)
        requested = {fr: amount for fr, amount in entry.usage.items() if amount > 0}
        seat.champion = champion_of(rules, seat.node, entry, requested, order)
    root = seats[id(entries[0].cq.tree.root)]
    _find_champions(rules, root)
    while (best := root.champion) is not None:
        assert isinstance(best.entry, Nominee)
        yield best.entry
        _remove_entry(rules, seats[id(best.entry.cq.node)])


def ordering_rules(state: State) -> Rules:
    """Return the settings of the policy that order the entries."""
    policy = state.policy
    return Rules(
        preemptors_first=gate_enabled(policy, "PrioritizePreemptorWorkloads"),
        owners_first=gate_enabled(policy, "FairSharingPrioritizeNonBorrowing"),
        by_priority=gate_enabled(policy, "PrioritySortingWithinCohort"),
        exact_shares=state.scan.exact_shares,
        cohorts_first=policy.compatibility == "kueue",
    )


def _tournament_node(seats: dict[int, _TreeNode], node: Node) -> _TreeNode:
    """Return a node's seat; creates it, and its ancestors' seats, if missing."""
    seat = seats.get(id(node))
    if seat is None:
        above = None if node.parent is None else _tournament_node(seats, node.parent)
        seat = seats[id(node)] = _TreeNode(node=node, above=above)
        if above is not None:
            above.below.append(seat)
    return seat


def _find_champions(rules: Rules, seat: _TreeNode) -> None:
    """Find the champions of a seat and of all below it."""
    for child in seat.below:
        if child.node.is_cohort:
            _find_champions(rules, child)
    _update_champion(rules, seat)


def _remove_entry(rules: Rules, seat: _TreeNode) -> None:
    """Remove an entry after its turn, and compute the champions above it again."""
    seat.champion = None
    at = seat.above
    while at is not None:
        _update_champion(rules, at)
        at = at.above


def _update_champion(rules: Rules, seat: _TreeNode) -> None:
    """Set a cohort's champion: the best champion of its children."""
    generator = ((child.node, child.champion) for child in seat.below)
    seat.champion = cohort_champion(rules, seat.node, generator)


def cohort_champion(
    rules: Rules, node: Node, below: Iterable[tuple[Node, Champion | None]]
) -> Champion | None:
    """Return a cohort's champion: the best of its children's, with the cohort's own share."""
    best: Champion | None = None
    came_from = node
    for child, champion in below:
        if champion is None:
            continue
        lead = child.is_cohort - came_from.is_cohort
        if best is None or _beats(rules, champion, best, lead):
            best, came_from = champion, child
    if best is None:
        return None
    return champion_of(
        rules, node, best.entry, parent_usage_delta(came_from, best.amounts), best.order
    )


def champion_of(
    rules: Rules, node: Node, entry: Entry, amounts: Mapping[FlavorResource, int], order: EntryOrder
) -> Champion:
    """Return an entry as a node's champion.

    ``amounts``: its usage that reaches the node, of each flavor-resource that it requests.
    """
    borrows = False
    if node.parent is not None:
        for fr, amount in amounts.items():
            cell = node.cells.get(fr)
            if cell is not None and cell.usage + amount > cell.subtree_quota:
                borrows = True
                break
    return Champion(
        entry=entry,
        amounts=amounts,
        share=dominant_share(node, amounts, as_double=not rules.exact_shares),
        borrows=borrows,
        order=order,
    )


def _beats(rules: Rules, champion: Champion, other: Champion, lead: int) -> bool:
    """Tell whether a champion goes first; ``lead``: 1 for a cohort's against a ClusterQueue's."""
    if rules.preemptors_first and champion.entry.is_preemptor != other.entry.is_preemptor:
        return champion.entry.is_preemptor
    if rules.owners_first and champion.borrows != other.borrows:
        return other.borrows
    if champion.share < other.share:
        return True
    if other.share < champion.share:
        return False
    if rules.cohorts_first and lead and champion.order[:2] == other.order[:2]:
        return lead > 0
    return champion.order < other.order


def entry_order(policy: Policy, rules: Rules, workload: Workload) -> EntryOrder:
    """Return the order of a workload among entries with equal shares."""
    priority = -workload.priority if rules.by_priority else 0
    return priority, queue_order_time(policy, workload), workload.uid, workload.key
