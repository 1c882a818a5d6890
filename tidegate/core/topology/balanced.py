"""Balanced placement: as many slices as possible in the domain that gets the fewest.

Used only with its feature gate, and for ``preferred``; if it finds no placement, the ordinary
search runs on the unchanged numbers.

Source: behaviour-notes.md, Topology I; conformance/tas-assignment.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Context, Decimal
from typing import NamedTuple

import msgspec

from tidegate.core.topology.choose import (
    Part,
    distribute,
    distribute_below,
    sort_domains,
    sort_with_leader,
)
from tidegate.core.topology.fitting.counts import Numbers, sum_up
from tidegate.core.topology.fitting.request import Request

_DIGITS = Context(prec=30)
STEPS_MAX = 50_000
"""At most so many steps of a search for domains, a part of a second.

There are as many steps as sums of free pods of domains: without a bound, nine tenths of 128 nodes
with unequal amounts of free pods take 18 s.
"""


class _Greedy(NamedTuple):
    """The result of a greedy choice of domains."""

    used: int
    leader: int  # the last domain taken for the leader; -1: none
    other: int  # the last domain taken without the leader; -1: none


class _Best(NamedTuple):
    """The best set of domains so far, with numbers of its own."""

    threshold: int  # slices that each domain used gets at least
    used: int
    domains: list[int]
    numbers: Numbers


def place_balanced(numbers: Numbers, request: Request) -> list[Part] | None:
    """Return the pods of each leaf; None: no balanced placement is possible, or soon found."""
    if request.mode != "preferred":
        return None
    best = _best_domain_set(numbers, request)
    if best is None:
        return None
    counts, level, domains = best.numbers, request.start, best.domains
    if request.start < request.layers[0].level:
        chosen = _optimal_domain_set(counts, request, _sorted_by_entropy(counts, domains))
        if chosen is None:
            return None
        domains = sorted(child for parent in chosen for child in counts.tree.children[parent])
        level += 1
    chosen = _optimal_domain_set(counts, request, domains)
    parts = None if chosen is None else _place_slices(counts, request, chosen, best.threshold)
    return None if parts is None else _pods_by_leaf(counts, request, parts, level)


def _best_domain_set(numbers: Numbers, request: Request) -> _Best | None:
    best: _Best | None = None
    for domains in _sibling_sets(numbers, request.start):
        least = 0 if best is None else best.threshold
        pruned = _evaluate_domains(numbers, request, domains, least)
        if pruned is None:
            continue
        better = best is None or pruned.threshold > best.threshold
        if better or (best and pruned.threshold == best.threshold and pruned.used < best.used):
            best = pruned
    return best


def _sibling_sets(numbers: Numbers, level: int) -> Iterable[list[int]]:
    tree = numbers.tree
    if level == 0:
        return [list(tree.level(0))]
    return [list(tree.children[domain]) for domain in tree.level(level - 1)]


def _evaluate_domains(
    numbers: Numbers, request: Request, domains: list[int], least: int
) -> _Best | None:
    """Return a set of domains with its threshold, without domains that cannot reach it."""
    below = domains
    if request.start < request.layers[0].level:
        below = [child for domain in domains for child in numbers.tree.children[domain]]
    greedy = _greedy_assignment(numbers, request, below)
    if greedy is None:
        return None
    threshold, with_leader = _balance_thresholds(numbers, request, greedy)
    if threshold < max(1, least):
        return None
    counts = _pruned_below_threshold(numbers, request, domains, threshold)
    used = _greedy_assignment(counts, request, domains)
    if used is None:
        if with_leader >= threshold or with_leader <= 0 or with_leader < least:
            return None
        threshold = with_leader
        counts = _pruned_below_threshold(numbers, request, domains, threshold)
        used = _greedy_assignment(counts, request, domains)
    return None if used is None else _Best(threshold, used.used, domains, counts)


def _balance_thresholds(numbers: Numbers, request: Request, greedy: _Greedy) -> tuple[int, int]:
    most = request.needed // greedy.used if greedy.used else 0
    if greedy.leader >= 0:
        most = min(most, numbers.slices_l[greedy.leader])
    other = most if greedy.other < 0 else numbers.slices[greedy.other]
    with_leader = most
    if request.leaders and greedy.other >= 0:
        with_leader = min(most, other, numbers.slices_l[greedy.other])
    return min(most, other), with_leader


def _greedy_assignment(numbers: Numbers, request: Request, domains: list[int]) -> _Greedy | None:
    """Take the largest domains, the leader's first; None: all together are too small."""
    remaining, leaders = request.needed, request.leaders
    used, leader, other = 0, -1, -1
    rest = list(domains)
    if leaders:
        for domain in sort_with_leader(numbers, sorted(rest), request):
            if leaders <= 0 or not numbers.leaders[domain]:
                break
            remaining, leaders = (
                remaining - numbers.slices_l[domain],
                leaders - numbers.leaders[domain],
            )
            used, leader = used + 1, domain
            rest.remove(domain)
    for domain in sort_domains(numbers, sorted(rest), request):
        if remaining <= 0 or numbers.slices[domain] <= 0:
            break
        remaining, used, other = remaining - numbers.slices[domain], used + 1, domain
    return None if leaders > 0 or remaining > 0 else _Greedy(used, leader, other)


def _pruned_below_threshold(
    numbers: Numbers, request: Request, domains: list[int], threshold: int
) -> Numbers:
    """Return a copy of the numbers without domains of the two levels below the threshold."""
    counts = msgspec.structs.replace(
        numbers,
        **{
            name: list(getattr(numbers, name))
            for name in ("pods", "slices", "leaders", "pods_l", "slices_l")
        },
    )
    if numbers.shape.leader is None:
        counts.pods_l, counts.slices_l = counts.pods, counts.slices
    for domain in domains:
        children = counts.tree.children[domain]
        for child in children:
            _prune_domain(counts, request, child, threshold)
        if children:
            sum_up(counts, domain, rounded=1)
        _prune_domain(counts, request, domain, threshold)
    return counts


def _prune_domain(numbers: Numbers, request: Request, domain: int, threshold: int) -> None:
    if numbers.slices[domain] < threshold:
        _clear(numbers, domain, everything=True)
    elif request.leaders and numbers.leaders[domain] and numbers.slices_l[domain] < threshold:
        _clear(numbers, domain, everything=False)


def _clear(numbers: Numbers, domain: int, *, everything: bool) -> None:
    numbers.leaders[domain] = numbers.pods_l[domain] = numbers.slices_l[domain] = 0
    if everything:
        numbers.pods[domain] = numbers.slices[domain] = 0
    for child in numbers.tree.children[domain]:
        _clear(numbers, child, everything=everything)


def _sorted_by_entropy(numbers: Numbers, domains: list[int]) -> list[int]:
    """Sort by leaders and slices that fit, then by how evenly the pods spread over the children."""

    def key(domain: int) -> tuple[int, int, Decimal]:
        return -numbers.leaders[domain], -numbers.slices_l[domain], -_entropy(numbers, domain)

    return sorted(domains, key=key)


def _entropy(numbers: Numbers, domain: int) -> Decimal:
    # Rounded to 20 of 30 digits, so that the order of summation does not matter.
    pods = [numbers.pods[child] for child in numbers.tree.children[domain] if numbers.pods[child]]
    if not pods:
        return Decimal(0)
    total = sum(pods)
    shares = (pod * _DIGITS.ln(Decimal(pod)) for pod in sorted(pods))
    return round(_DIGITS.ln(Decimal(total)) - _DIGITS.divide(sum(shares), total), 20)


def _optimal_domain_set(numbers: Numbers, request: Request, domains: list[int]) -> list[int] | None:
    """Return as many domains as the greedy choice needs, with the least surplus of pods."""
    greedy = _greedy_assignment(numbers, request, domains)
    if greedy is None:
        return None
    pods, steps = request.needed * request.size, 0
    table: dict[tuple[int, int, int], list[int]] = {(0, request.leaders, pods): []}
    for domain in domains:
        steps += len(table)
        if steps > STEPS_MAX:
            return None
        for (used, leaders, remaining), chosen in sorted(table.items(), key=_newest_first):
            if used >= greedy.used or (leaders <= 0 and remaining <= 0):
                continue
            longer = [*chosen, domain]
            if leaders > 0 and numbers.leaders[domain]:
                reached = (
                    used + 1,
                    leaders - numbers.leaders[domain],
                    remaining - numbers.pods_l[domain],
                )
                table.setdefault(reached, longer)
            if numbers.slices[domain] > 0:
                table.setdefault((used + 1, leaders, remaining - numbers.pods[domain]), longer)
    done = [
        (-remaining, at, chosen)
        for at, ((used, leaders, remaining), chosen) in enumerate(table.items())
        if used == greedy.used and leaders <= 0 and remaining <= 0
    ]
    return min(done)[2] if done else None


def _newest_first(row: tuple[tuple[int, int, int], list[int]]) -> tuple[int, int, int]:
    used, leaders, remaining = row[0]
    return -used, leaders, remaining


def _place_slices(
    numbers: Numbers, request: Request, chosen: list[int], threshold: int
) -> list[Part] | None:
    """Give each domain the threshold, and the remaining slices in order."""
    extra = request.needed - len(chosen) * threshold
    if extra < 0:
        return None
    parts: list[Part] = []
    leaders = request.leaders
    for domain in sort_with_leader(numbers, sorted(chosen), request):
        leaders_here = leaders if numbers.leaders[domain] else 0
        most = numbers.slices_l[domain] if leaders_here else numbers.slices[domain]
        more = min(extra, most - threshold)
        if more < 0:
            return None
        parts.append(Part(domain, threshold + more, leaders_here))
        extra, leaders = extra - more, leaders - leaders_here
    return None if extra or leaders else parts


def _pods_by_leaf(
    numbers: Numbers, request: Request, parts: list[Part], level: int
) -> list[Part] | None:
    """Distribute each domain's slices among its children, then its pods down to the leaves.

    Above the level of slices a domain's pods are counted, which may be fewer slices: then None.
    """
    while level < request.layers[0].level:
        level += 1
        parts = [child for part in parts for child in _slices_of_children(numbers, request, part)]
    parts = [Part(part.domain, part.amount * request.size, part.leaders) for part in parts]
    parts = distribute_below(numbers, request, parts, level)
    pods, leaders = sum(part.amount for part in parts), sum(part.leaders for part in parts)
    return parts if (pods, leaders) == (request.pods, request.leaders) else None


def _slices_of_children(numbers: Numbers, request: Request, part: Part) -> list[Part]:
    children = sort_domains(numbers, list(numbers.tree.children[part.domain]), request)
    slices = {child: numbers.pods[child] // request.size for child in children}
    slices_l = {child: numbers.pods_l[child] // request.size for child in children}
    return distribute(numbers, request, children, part, slices, slices_l)
