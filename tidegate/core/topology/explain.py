"""Why pods fit on no nodes: the domains of each level by pods that fit, and what excludes nodes.

Computed only for a pending reason: it costs O(leaves).

Source: behaviour.md 12.3, failure text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tidegate.contracts.decision_kinds.placements import LevelTried, PlacementTried
from tidegate.core.topology.fitting.counts import Numbers
from tidegate.core.topology.fitting.request import Failure
from tidegate.core.topology.fitting.tree import PODS, View
from tidegate.model.texts import INT32_MAX

ROWS_MAX = 16
_ERROR_TEXTS = {
    "noDomainsAtLevel": "the flavor has no nodes with label {level}",
    "unknownSliceLevel": "the topology has no level {level} for slices",
    "sliceLevelAbovePodSetLevel": "slices at {other} are above the level {level}",
    "sliceSizeMissing": "slices need a size",
    "noLevel": "it names no level",
    "notDivisible": "{of} pods are no multiple of a slice of {fits}",
    "sliceSizes": "slices of {of} pods do not consist of slices of {fits}",
    "groupSize": "a group is of two podsets, and not of {of}",
    "leaderCount": "the smaller podset of a group is {fits} pods, and not one leader",
    "placeGone": "a domain that it was placed in is gone",
    "domains": "its pods would be in {of} domains, and {fits} is the most for one workload",
}


def first_tried(pairs: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Return (podset, flavor) pairs, of each flavor the first: no other podset was tried there."""
    first: dict[str, str] = {}
    for podset, flavor in pairs:
        first.setdefault(flavor, podset)
    return tuple((podset, flavor) for flavor, podset in first.items())


def placement_tried(
    numbers: Numbers | None, failure: Failure, podset: str, flavor: str
) -> PlacementTried:
    """Return a failure in the form of the ledger; ``numbers``: those in which it occurred."""
    if failure.kind not in ("pods", "layers") or numbers is None:
        return PlacementTried(podset=podset, flavor=flavor, error=error_of(failure))
    tree = numbers.tree
    needed = sum(1 for _ in failure.layers) and failure.layers[0]
    return PlacementTried(
        podset=podset,
        flavor=flavor,
        unit="slice" if failure.layers else failure.unit,
        fits=needed.fits if needed else failure.fits,
        of=needed.of if needed else failure.of,
        nodes=sum(1 for node in range(len(tree.nodes)) if tree.present[tree.leaf_first + node]),
        excluded=excluded_leaves(numbers),
        levels=tuple(_level_tried(numbers, at, failure) for at in range(len(tree.levels))),
    )


def error_of(failure: Failure) -> str:
    """Return an error that no number of free nodes would mend; empty: nodes are lacking."""
    return _ERROR_TEXTS.get(failure.kind, "").format(
        level=failure.level, other=failure.other, of=failure.of, fits=failure.fits
    )


def excluded_leaves(numbers: Numbers) -> dict[str, int]:
    """Return how many leaves cannot take even one pod, by cause, in order of name."""
    tree, counted = numbers.tree, Counter[str]()
    for leaf, why in enumerate(numbers.why):
        domain = tree.leaf_first + leaf
        if not tree.present[domain]:
            continue
        if why:
            counted[why] += 1
        elif numbers.within is not None and leaf not in numbers.within:
            counted["topologyDomain"] += 1
        elif not numbers.pods[domain]:
            counted[f"resource {_scarcest_resource(numbers, leaf)}"] += 1
    return {name: counted[name] for name in sorted(counted)}


def _scarcest_resource(numbers: Numbers, leaf: int) -> str:
    view: View = numbers.view
    least, name = view.row(PODS)[leaf], PODS
    for resource, units in numbers.shape.each:
        most = view.row(resource)[leaf] // units
        if most < least:
            least, name = most, resource
    return name


def _level_tried(numbers: Numbers, level: int, failure: Failure) -> LevelTried:
    tree = numbers.tree
    domains = [domain for domain in tree.level(level) if tree.present[domain]]
    counted = Counter(numbers.pods[domain] for domain in domains if numbers.pods[domain])
    size = numbers.shape.layers[0].size
    needed = (failure.layers[0].of if failure.layers else failure.of) * size or INT32_MAX
    rows = sorted(counted.items(), reverse=True)
    return LevelTried(
        level=tree.levels[level],
        domains=len(domains),
        fitting=sum(number for pods, number in rows if pods >= needed),
        pods=tuple(rows[:ROWS_MAX]),
    )
