"""Chooses the domains for a request's pods, and distributes slices over them, down to the leaves.

One domain if possible, at the request's level or above.

Source: behaviour.md 12.3, phase 2; behaviour-notes.md, Topology A, C, D, E, F.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from tidegate.core.topology.fitting.counts import Numbers
from tidegate.core.topology.fitting.request import Failure, LayerFits, Request, inner_size

Column: TypeAlias = list[int] | dict[int, int]
"""A number for each domain, or for some domains."""


class Part(NamedTuple):
    """The share of one domain."""

    domain: int
    amount: int  # slices or pods
    leaders: int = 0


def choose_domains(numbers: Numbers, request: Request) -> list[int] | Failure:
    """Return domains of one level in which the pods fit together, the leader's first."""
    for level in range(request.start, -1, -1):
        if numbers.shape.leader is None and numbers.scores is None:
            chosen = _choose_by_ladder(numbers, request, level)
        else:
            chosen = _choose_by_sorting(numbers, request, level)
        if not isinstance(chosen, int) or request.mode != "preferred" or level == 0:
            return failure(numbers, request, level, chosen) if isinstance(chosen, int) else chosen
    raise AssertionError("the top level is the last")


def failure(numbers: Numbers, request: Request, level: int, fits: int) -> Failure:
    """Return the failure that only ``fits`` slices fit, by layers if there are several."""
    if len(request.layers) == 1:
        sliced = request.size > 1
        return Failure(kind="pods", fits=fits, of=request.needed, unit="slice" if sliced else "pod")
    best = min(numbers.tree.level(level), key=lambda domain: (-numbers.slices[domain], domain))
    return Failure(kind="layers", layers=tuple(_layer_fits(numbers, request, level, best)))


def sort_domains(numbers: Numbers, domains: list[int], request: Request) -> list[int]:
    """Sort domains, given in order of number, by affinity, slices, pods and number."""
    slices, pods, scores = numbers.slices, numbers.pods, numbers.scores
    sign = 1 if request.least_free else -1
    if scores is None:
        return sorted(domains, key=lambda domain: (sign * slices[domain], pods[domain]))
    return sorted(
        domains, key=lambda domain: (-scores[domain], sign * slices[domain], pods[domain])
    )


def sort_with_leader(numbers: Numbers, domains: list[int], request: Request) -> list[int]:
    """Sort domains by whether the leader fits, affinity, and the capacity beside the leader."""
    sign = 1 if request.least_free else -1
    scores = numbers.scores

    def key(domain: int) -> tuple[int, int, int, int]:
        rated = 0 if scores is None else -scores[domain]
        return (
            -numbers.leaders[domain],
            rated,
            sign * numbers.slices_l[domain],
            numbers.pods_l[domain],
        )

    return sorted(domains, key=key)


def _best_fit(
    numbers: Numbers,
    domains: list[int],
    amount: int,
    leaders: int,
    capacity: list[int] | dict[int, int],
) -> int:
    """Return the first domain with the least capacity that suffices, or the first of all.

    Considers only domains with the same score by preferred affinity as the first.
    """
    scores, best = numbers.scores, -1
    for domain in domains:
        if scores is not None and scores[domain] != scores[domains[0]]:
            break
        suffices = capacity[domain] >= amount and numbers.leaders[domain] >= leaders
        if suffices and (best < 0 or capacity[domain] < capacity[best]):
            best = domain
    return domains[0] if best < 0 else best


def put_leader_first(  # noqa: PLR0913, PLR0917 - the two capacities are columns of one table
    numbers: Numbers,
    domains: list[int],
    amount: int,
    leaders: int,
    capacity: list[int] | dict[int, int],
    capacity_l: list[int] | dict[int, int],
) -> list[int]:
    """Move a domain to the front in which the leader takes no capacity that the pods need."""
    if not leaders or len(domains) < 2:  # noqa: PLR2004 - a single domain is in front already
        return domains
    total = sum(capacity[domain] for domain in domains)
    for candidate in domains:
        lost = capacity[candidate] - capacity_l[candidate]
        if numbers.leaders[candidate] >= leaders and total - lost >= amount:
            return [candidate, *(other for other in domains if other != candidate)]
    return domains


def _choose_by_ladder(numbers: Numbers, request: Request, level: int) -> list[int] | int:
    """Choose domains without sorting, if there is neither a leader nor affinity."""
    ladder, need = numbers.ladder(level), request.needed
    fits = ladder.at_least(need)
    if fits is not None:
        return [fits]
    if request.mode != "unconstrained" and (request.mode == "required" or level):
        top = ladder.largest()
        return 0 if top is None else numbers.slices[top]
    chosen, remaining = list[int](), need
    for domain in ladder.ascending() if request.least_free else ladder.descending():
        if not request.least_free and numbers.slices[domain] >= remaining:
            return [*chosen, _smallest_sufficient(numbers, level, chosen, remaining)]
        chosen.append(domain)
        remaining -= numbers.slices[domain]
        if remaining <= 0:
            return chosen
    return need - remaining


def _smallest_sufficient(numbers: Numbers, level: int, chosen: list[int], remaining: int) -> int:
    """Return the domain with the fewest slices that suffice for the rest."""
    used = dict.fromkeys(chosen)
    candidates = (
        domain for domain in _domains_with_slices(numbers, level, remaining) if domain not in used
    )
    return next(candidates)


def _domains_with_slices(numbers: Numbers, level: int, slices: int) -> Iterator[int]:
    """Yield the domains with at least ``slices`` slices, the fewest first."""
    return (
        domain for domain in numbers.ladder(level).ascending() if numbers.slices[domain] >= slices
    )


def _choose_by_sorting(numbers: Numbers, request: Request, level: int) -> list[int] | int:
    need, leaders = request.needed, request.leaders
    domains = sort_with_leader(numbers, list(numbers.tree.level(level)), request)
    if not domains:
        return 0
    capacity = numbers.slices_l if leaders else numbers.slices
    fitting = (
        at
        for at, domain in enumerate(domains)
        if capacity[domain] >= need and numbers.leaders[domain] >= leaders
    )
    if request.least_free:
        at = next(fitting, None)
        if at is not None:
            return [domains[at]]
    else:
        at = (
            next(fitting, None) if request.mode == "required" else _first(numbers, domains, request)
        )
        if at is not None:
            return [_best_fit(numbers, domains[at:], need, leaders, capacity)]
    if request.mode != "unconstrained" and (request.mode == "required" or level):
        return numbers.slices[domains[0]]
    return _choose_several(numbers, request, domains)


def _first(numbers: Numbers, domains: list[int], request: Request) -> int | None:
    """Return 0 if all pods and the leader fit into the first domain, else None."""
    top = domains[0]
    suffices = numbers.slices_l[top] >= request.needed and numbers.leaders[top] >= request.leaders
    return 0 if suffices else None


def _choose_several(numbers: Numbers, request: Request, domains: list[int]) -> list[int] | int:
    need, leaders = request.needed, request.leaders
    rest = put_leader_first(numbers, domains, need, leaders, numbers.slices, numbers.slices_l)
    chosen, remaining = list[int](), need
    while leaders > 0 and rest and numbers.leaders[rest[0]] > 0:
        domain = rest[0]
        if not request.least_free and numbers.slices_l[domain] >= remaining:
            domain = _best_fit(numbers, rest, remaining, leaders, numbers.slices_l)
        chosen.append(domain)
        rest = [other for other in rest if other != domain]
        remaining -= numbers.slices_l[domain]
        leaders -= numbers.leaders[domain]
    if leaders > 0:
        return 0
    rest = sort_domains(numbers, sorted(rest), request)
    while remaining > 0 and rest:
        domain = rest[0]
        if not request.least_free and numbers.slices[domain] >= remaining:
            domain = _best_fit(numbers, rest, remaining, 0, numbers.slices)
        chosen.append(domain)
        rest = [other for other in rest if other != domain]
        remaining -= numbers.slices[domain]
    return chosen if remaining <= 0 else need - remaining


def _layer_fits(numbers: Numbers, request: Request, level: int, best: int) -> Iterator[LayerFits]:
    tree = numbers.tree
    below = [best]
    for at in range(level, len(tree.levels)):
        if at > level:
            below = [child for parent in below for child in tree.children[parent]]
        for layer in request.layers:
            if layer.level == at:
                fits = sum(numbers.pods[domain] // layer.size for domain in below)
                yield LayerFits(tree.levels[at], fits, request.pods // layer.size)


def pods_by_leaf(numbers: Numbers, request: Request, chosen: list[int]) -> list[Part]:
    """Return the pods of each leaf, the leaves by number; their sum is the requested pods."""
    need, leaders, at = request.needed, request.leaders, request.layers[0].level
    parts = distribute(
        numbers, request, chosen, Part(-1, need, leaders), numbers.slices, numbers.slices_l
    )
    level = len(numbers.tree.values[chosen[0]]) - 1
    while level < at:
        level += 1
        below = [child for part in parts for child in numbers.tree.children[part.domain]]
        below = sort_domains(numbers, sorted(below), request)
        whole = Part(-1, need, leaders)
        parts = distribute(numbers, request, below, whole, numbers.slices, numbers.slices_l)
    parts = [Part(part.domain, part.amount * request.size, part.leaders) for part in parts]
    return distribute_all(numbers, request, parts, level)


def distribute_all(numbers: Numbers, request: Request, parts: list[Part], level: int) -> list[Part]:
    """Distribute each domain's pods among its children, level by level: all of them."""
    parts = distribute_below(numbers, request, parts, level)
    handed = sum(part.amount for part in parts)
    assert handed == request.pods, f"{handed} of {request.pods} pods were handed out"
    assert sum(part.leaders for part in parts) == request.leaders, "the leader was not placed"
    return parts


def distribute_below(
    numbers: Numbers, request: Request, parts: list[Part], level: int
) -> list[Part]:
    """Distribute each domain's pods among its children, level by level, as many as fit."""
    while level < len(numbers.tree.levels) - 1:
        level += 1
        size = inner_size(request.layers, level)
        parts = [child for part in parts for child in _to_children(numbers, request, part, size)]
    return sorted(part for part in parts if part.amount or part.leaders)


def _to_children(numbers: Numbers, request: Request, part: Part, size: int) -> list[Part]:
    children = sort_domains(numbers, list(numbers.tree.children[part.domain]), request)
    capacity: Column = numbers.pods
    capacity_l: Column = numbers.pods_l
    if size > 1:
        capacity = {child: numbers.pods[child] // size for child in children}
        capacity_l = {child: numbers.pods_l[child] // size for child in children}
    whole = Part(part.domain, part.amount // size, part.leaders)
    parts = distribute(numbers, request, children, whole, capacity, capacity_l)
    return [Part(share_of.domain, share_of.amount * size, share_of.leaders) for share_of in parts]


def distribute(  # noqa: PLR0913, PLR0917 - the two capacities are columns of one table
    numbers: Numbers,
    request: Request,
    domains: list[int],
    whole: Part,
    capacity: Column,
    capacity_l: Column,
) -> list[Part]:
    """Distribute an amount and the leader over domains in order, to each as much as fits."""
    remaining, leaders, parts = whole.amount, whole.leaders, list[Part]()
    domains = put_leader_first(numbers, domains, remaining, leaders, capacity, capacity_l)
    for at, domain in enumerate(domains):
        child = domain
        column = capacity_l if leaders > 0 else capacity
        if (
            not request.least_free
            and column[child] >= remaining
            and numbers.leaders[child] >= leaders
        ):
            child = _best_fit(numbers, domains[at:], remaining, leaders, column)
        if column[child] >= remaining and numbers.leaders[child] >= leaders:
            parts.append(Part(child, remaining, leaders))
            return parts
        part = Part(child, min(column[child], remaining), min(leaders, numbers.leaders[child]))
        parts.append(part)
        remaining, leaders = remaining - part.amount, leaders - part.leaders
    return parts
