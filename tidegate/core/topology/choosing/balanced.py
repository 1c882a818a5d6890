"""Balanced placement: as many slices as possible in the domain that gets the fewest.

Only with the gate for it, and for ``preferred``; where it finds nothing, the ordinary search goes
on from the untouched numbers.

Source: behaviour-notes.md, Topology I; conformance/tas-assignment.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Context, Decimal
from typing import NamedTuple

import msgspec

from tidegate.core.topology.choosing.choose import order, order_with_leader
from tidegate.core.topology.choosing.descend import Part, distribute, to_leaves
from tidegate.core.topology.fitting.counts import Numbers, sum_up
from tidegate.core.topology.fitting.request import Request

_DIGITS = Context(prec=30)


class _Greedy(NamedTuple):
    """How far a greedy choice comes."""

    used: int
    leader: int  # the last domain taken for the leader; -1: none
    other: int  # the last one taken without it; -1: none


class _Best(NamedTuple):
    """The best set of domains so far, with numbers of its own."""

    threshold: int  # slices that each domain used gets at least
    used: int
    domains: list[int]
    numbers: Numbers


def balanced(found: Numbers, asked: Request) -> list[Part] | None:
    """Return what each leaf gets, in pods; None: nothing balanced is possible."""
    if asked.mode != "preferred":
        return None
    best = _best_set(found, asked)
    if best is None:
        return None
    counts, level, domains = best.numbers, asked.start, best.domains
    if asked.start < asked.layers[0].level:
        chosen = _optimal(counts, asked, _by_entropy(counts, domains))
        if chosen is None:
            return None
        domains = sorted(child for one in chosen for child in counts.tree.children[one])
        level += 1
    chosen = _optimal(counts, asked, domains)
    parts = None if chosen is None else _share_out(counts, asked, chosen, best.threshold)
    return None if parts is None else _descend(counts, asked, parts, level)


def _best_set(found: Numbers, asked: Request) -> _Best | None:
    best: _Best | None = None
    for domains in _siblings(found, asked.start):
        least = 0 if best is None else best.threshold
        made = _pruned(found, asked, domains, least)
        if made is None:
            continue
        better = best is None or made.threshold > best.threshold
        if better or (best and made.threshold == best.threshold and made.used < best.used):
            best = made
    return best


def _siblings(found: Numbers, level: int) -> Iterable[list[int]]:
    tree = found.tree
    if level == 0:
        return [list(tree.level(0))]
    return [list(tree.children[one]) for one in tree.level(level - 1)]


def _pruned(found: Numbers, asked: Request, domains: list[int], least: int) -> _Best | None:
    """Return a set of domains with its threshold, once what cannot reach that is left out."""
    below = domains
    if asked.start < asked.layers[0].level:
        below = [child for one in domains for child in found.tree.children[one]]
    greedy = _greedy(found, asked, below)
    if greedy is None:
        return None
    threshold, with_leader = _thresholds(found, asked, greedy)
    if threshold < max(1, least):
        return None
    counts = _without_small(found, asked, domains, threshold)
    used = _greedy(counts, asked, domains)
    if used is None:
        if with_leader >= threshold or with_leader <= 0 or with_leader < least:
            return None
        threshold = with_leader
        counts = _without_small(found, asked, domains, threshold)
        used = _greedy(counts, asked, domains)
    return None if used is None else _Best(threshold, used.used, domains, counts)


def _thresholds(found: Numbers, asked: Request, greedy: _Greedy) -> tuple[int, int]:
    most = asked.needed // greedy.used if greedy.used else 0
    if greedy.leader >= 0:
        most = min(most, found.slices_l[greedy.leader])
    other = most if greedy.other < 0 else found.slices[greedy.other]
    with_leader = most
    if asked.leaders and greedy.other >= 0:
        with_leader = min(most, other, found.slices_l[greedy.other])
    return min(most, other), with_leader


def _greedy(found: Numbers, asked: Request, domains: list[int]) -> _Greedy | None:
    """Take the largest domains, the leader's first; None: all together are too few."""
    left, leaders = asked.needed, asked.leaders
    used, leader, other = 0, -1, -1
    rest = list(domains)
    if leaders:
        for one in order_with_leader(found, sorted(rest), asked):
            if leaders <= 0 or not found.leaders[one]:
                break
            left, leaders = left - found.slices_l[one], leaders - found.leaders[one]
            used, leader = used + 1, one
            rest.remove(one)
    for one in order(found, sorted(rest), asked):
        if left <= 0 or found.slices[one] <= 0:
            break
        left, used, other = left - found.slices[one], used + 1, one
    return None if leaders > 0 or left > 0 else _Greedy(used, leader, other)


def _without_small(found: Numbers, asked: Request, domains: list[int], threshold: int) -> Numbers:
    """Return own numbers in which no domain of the two levels has less than the threshold."""
    made = msgspec.structs.replace(
        found,
        **{
            name: list(getattr(found, name))
            for name in ("pods", "slices", "leaders", "pods_l", "slices_l")
        },
    )
    if found.shape.leader is None:
        made.pods_l, made.slices_l = made.pods, made.slices
    for domain in domains:
        children = made.tree.children[domain]
        for child in children:
            _cut(made, asked, child, threshold)
        if children:
            sum_up(made, domain, rounded=1)
        _cut(made, asked, domain, threshold)
    return made


def _cut(made: Numbers, asked: Request, domain: int, threshold: int) -> None:
    if made.slices[domain] < threshold:
        _clear(made, domain, everything=True)
    elif asked.leaders and made.leaders[domain] and made.slices_l[domain] < threshold:
        _clear(made, domain, everything=False)


def _clear(made: Numbers, domain: int, *, everything: bool) -> None:
    made.leaders[domain] = made.pods_l[domain] = made.slices_l[domain] = 0
    if everything:
        made.pods[domain] = made.slices[domain] = 0
    for child in made.tree.children[domain]:
        _clear(made, child, everything=everything)


def _by_entropy(found: Numbers, domains: list[int]) -> list[int]:
    """Sort by how evenly pods are spread over the children, among those that can take as many."""

    def key(one: int) -> tuple[int, int, Decimal]:
        return -found.leaders[one], -found.slices_l[one], -_entropy(found, one)

    return sorted(domains, key=key)


def _entropy(found: Numbers, domain: int) -> Decimal:
    # Twenty digits of thirty: what is equal comes out equal, in whatever order it is added up.
    pods = [found.pods[one] for one in found.tree.children[domain] if found.pods[one]]
    if not pods:
        return Decimal(0)
    total = sum(pods)
    shares = (one * _DIGITS.ln(Decimal(one)) for one in sorted(pods))
    return round(_DIGITS.ln(Decimal(total)) - _DIGITS.divide(sum(shares), total), 20)


def _optimal(found: Numbers, asked: Request, domains: list[int]) -> list[int] | None:
    """Return so many domains as greed needs, with the least surplus of pods."""
    greedy = _greedy(found, asked, domains)
    if greedy is None:
        return None
    pods = asked.needed * asked.size
    table: dict[tuple[int, int, int], list[int]] = {(0, asked.leaders, pods): []}
    for one in domains:
        for (used, leaders, left), chosen in sorted(table.items(), key=_newest_first):
            if used >= greedy.used or (leaders <= 0 and left <= 0):
                continue
            longer = [*chosen, one]
            if leaders > 0 and found.leaders[one]:
                reached = used + 1, leaders - found.leaders[one], left - found.pods_l[one]
                table.setdefault(reached, longer)
            if found.slices[one] > 0:
                table.setdefault((used + 1, leaders, left - found.pods[one]), longer)
    done = [
        (-left, at, chosen)
        for at, ((used, leaders, left), chosen) in enumerate(table.items())
        if used == greedy.used and leaders <= 0 and left <= 0
    ]
    return min(done)[2] if done else None


def _newest_first(row: tuple[tuple[int, int, int], list[int]]) -> tuple[int, int, int]:
    used, leaders, left = row[0]
    return -used, leaders, left


def _share_out(
    found: Numbers, asked: Request, chosen: list[int], threshold: int
) -> list[Part] | None:
    """Give each domain the threshold, and what is left over in order."""
    extra = asked.needed - len(chosen) * threshold
    if extra < 0:
        return None
    parts: list[Part] = []
    leaders = asked.leaders
    for one in order_with_leader(found, sorted(chosen), asked):
        here = leaders if found.leaders[one] else 0
        most = found.slices_l[one] if here else found.slices[one]
        more = min(extra, most - threshold)
        if more < 0:
            return None
        parts.append(Part(one, threshold + more, here))
        extra, leaders = extra - more, leaders - here
    return None if extra or leaders else parts


def _descend(found: Numbers, asked: Request, parts: list[Part], level: int) -> list[Part]:
    """Hand out each domain's slices among its own children, then its pods down to the leaves."""
    while level < asked.layers[0].level:
        level += 1
        parts = [child for one in parts for child in _slices_below(found, asked, one)]
    parts = [Part(one.domain, one.amount * asked.size, one.leaders) for one in parts]
    return to_leaves(found, asked, parts, level)


def _slices_below(found: Numbers, asked: Request, part: Part) -> list[Part]:
    children = order(found, list(found.tree.children[part.domain]), asked)
    slices = {one: found.pods[one] // asked.size for one in children}
    slices_l = {one: found.pods_l[one] // asked.size for one in children}
    return distribute(found, asked, children, part, slices, slices_l)
