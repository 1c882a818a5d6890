"""The domains in which a request's pods are placed: one if possible, at its level or above.

Source: behaviour.md 12.3, phase 2a; behaviour-notes.md, Topology A, C, D.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.core.topology.fitting.counts import Numbers
from tidegate.core.topology.fitting.request import Failure, LayerFits, Request


def choose(found: Numbers, asked: Request) -> list[int] | Failure:
    """Return domains of one level that together can take the pods, the leader's first."""
    for level in range(asked.start, -1, -1):
        if found.shape.leader is None and found.scores is None:
            chosen = _quickly(found, asked, level)
        else:
            chosen = _thoroughly(found, asked, level)
        if not isinstance(chosen, int) or asked.mode != "preferred" or level == 0:
            return failure(found, asked, level, chosen) if isinstance(chosen, int) else chosen
    raise AssertionError("the top level is the last")


def failure(found: Numbers, asked: Request, level: int, fits: int) -> Failure:
    """Return that only so many slices fit, in words of layers if there are several."""
    if len(asked.layers) == 1:
        sliced = asked.size > 1
        return Failure(kind="pods", fits=fits, of=asked.needed, unit="slice" if sliced else "pod")
    best = min(found.tree.level(level), key=lambda one: (-found.slices[one], one))
    return Failure(kind="layers", layers=tuple(_layers(found, asked, level, best)))


def order(found: Numbers, domains: list[int], asked: Request) -> list[int]:
    """Sort domains, which come by number, by affinity, slices, pods and number."""
    slices, pods, scores = found.slices, found.pods, found.scores
    sign = 1 if asked.least_free else -1
    if scores is None:
        return sorted(domains, key=lambda one: (sign * slices[one], pods[one]))
    return sorted(domains, key=lambda one: (-scores[one], sign * slices[one], pods[one]))


def order_with_leader(found: Numbers, domains: list[int], asked: Request) -> list[int]:
    """Sort domains by whether the leader fits, affinity, and what is left beside it."""
    sign = 1 if asked.least_free else -1
    scores = found.scores

    def key(one: int) -> tuple[int, int, int, int]:
        rated = 0 if scores is None else -scores[one]
        return -found.leaders[one], rated, sign * found.slices_l[one], found.pods_l[one]

    return sorted(domains, key=key)


def best_fit(
    found: Numbers,
    domains: list[int],
    amount: int,
    leaders: int,
    capacity: list[int] | dict[int, int],
) -> int:
    """Return the first domain with the least capacity that suffices, or the first of all.

    Only those are looked at that suit as well as the first, as preferred affinity has it.
    """
    scores, best = found.scores, -1
    for one in domains:
        if scores is not None and scores[one] != scores[domains[0]]:
            break
        suffices = capacity[one] >= amount and found.leaders[one] >= leaders
        if suffices and (best < 0 or capacity[one] < capacity[best]):
            best = one
    return domains[0] if best < 0 else best


def prioritise(  # noqa: PLR0913, PLR0917 - the two capacities are columns of one table
    found: Numbers,
    domains: list[int],
    amount: int,
    leaders: int,
    capacity: list[int] | dict[int, int],
    capacity_l: list[int] | dict[int, int],
) -> list[int]:
    """Move that domain to the front in which the leader costs no capacity that is needed."""
    if not leaders or len(domains) < 2:  # noqa: PLR2004 - one is in front already
        return domains
    total = sum(capacity[one] for one in domains)
    for one in domains:
        lost = capacity[one] - capacity_l[one]
        if found.leaders[one] >= leaders and total - lost >= amount:
            return [one, *(other for other in domains if other != one)]
    return domains


def _quickly(found: Numbers, asked: Request, level: int) -> list[int] | int:
    """Choose where there is neither a leader nor affinity: without sorting."""
    ladder, need = found.ladder(level), asked.needed
    fits = ladder.at_least(need)
    if fits is not None:
        return [fits]
    if asked.mode != "unconstrained" and (asked.mode == "required" or level):
        top = ladder.largest()
        return 0 if top is None else found.slices[top]
    chosen, left = list[int](), need
    for one in ladder.ascending() if asked.least_free else ladder.descending():
        if not asked.least_free and found.slices[one] >= left:
            return [*chosen, _smallest_left(found, level, chosen, left)]
        chosen.append(one)
        left -= found.slices[one]
        if left <= 0:
            return chosen
    return need - left


def _smallest_left(found: Numbers, level: int, chosen: list[int], left: int) -> int:
    """Return the domain of the fewest slices that suffice for the rest."""
    taken = dict.fromkeys(chosen)
    candidates = (one for one in _from(found, level, left) if one not in taken)
    return next(candidates)


def _from(found: Numbers, level: int, slices: int) -> Iterator[int]:
    """Yield the domains of at least so many slices, the fewest first."""
    return (one for one in found.ladder(level).ascending() if found.slices[one] >= slices)


def _thoroughly(found: Numbers, asked: Request, level: int) -> list[int] | int:
    need, leaders = asked.needed, asked.leaders
    domains = order_with_leader(found, list(found.tree.level(level)), asked)
    if not domains:
        return 0
    capacity = found.slices_l if leaders else found.slices
    fitting = (
        at
        for at, one in enumerate(domains)
        if capacity[one] >= need and found.leaders[one] >= leaders
    )
    if asked.least_free:
        at = next(fitting, None)
        if at is not None:
            return [domains[at]]
    else:
        at = next(fitting, None) if asked.mode == "required" else _first(found, domains, asked)
        if at is not None:
            return [best_fit(found, domains[at:], need, leaders, capacity)]
    if asked.mode != "unconstrained" and (asked.mode == "required" or level):
        return found.slices[domains[0]]
    return _several(found, asked, domains)


def _first(found: Numbers, domains: list[int], asked: Request) -> int | None:
    """Return 0 if the first domain can take everything, else None."""
    top = domains[0]
    suffices = found.slices_l[top] >= asked.needed and found.leaders[top] >= asked.leaders
    return 0 if suffices else None


def _several(found: Numbers, asked: Request, domains: list[int]) -> list[int] | int:
    need, leaders = asked.needed, asked.leaders
    rest = prioritise(found, domains, need, leaders, found.slices, found.slices_l)
    chosen, left = list[int](), need
    while leaders > 0 and rest and found.leaders[rest[0]] > 0:
        one = rest[0]
        if not asked.least_free and found.slices_l[one] >= left:
            one = best_fit(found, rest, left, leaders, found.slices_l)
        chosen.append(one)
        rest = [other for other in rest if other != one]
        left -= found.slices_l[one]
        leaders -= found.leaders[one]
    if leaders > 0:
        return 0
    rest = order(found, sorted(rest), asked)
    while left > 0 and rest:
        one = rest[0]
        if not asked.least_free and found.slices[one] >= left:
            one = best_fit(found, rest, left, 0, found.slices)
        chosen.append(one)
        rest = [other for other in rest if other != one]
        left -= found.slices[one]
    return chosen if left <= 0 else need - left


def _layers(found: Numbers, asked: Request, level: int, best: int) -> Iterator[LayerFits]:
    tree = found.tree
    below = [best]
    for at in range(level, len(tree.levels)):
        if at > level:
            below = [child for one in below for child in tree.children[one]]
        for layer in asked.layers:
            if layer.level == at:
                fits = sum(found.pods[one] // layer.size for one in below)
                yield LayerFits(tree.levels[at], fits, asked.pods // layer.size)
