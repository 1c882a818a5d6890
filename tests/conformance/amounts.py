"""Usage maps of the recorded files, ``{flavor: {resource: int}}``, both ways."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tidegate.model.ids import FlavorResource

UsageMap = dict[str, dict[str, int]]


def flat(obj: Mapping[str, Mapping[str, int]]) -> dict[FlavorResource, int]:
    """Return a usage map by flavor-resource."""
    return {
        FlavorResource(flavor, resource): units
        for flavor, row in obj.items()
        for resource, units in row.items()
    }


def nested(obj: Mapping[FlavorResource, int]) -> UsageMap:
    """Return amounts by flavor and resource, zeros left out: a missing one means 0."""
    usage: UsageMap = {}
    for fr, units in obj.items():
        if units:
            usage.setdefault(fr.flavor, {})[fr.resource] = units
    return usage


def without_zeros(obj: Mapping[str, Mapping[str, int]]) -> UsageMap:
    """Return a usage map without its zeros, so that two of them compare."""
    return nested(flat(obj))


def at_each(
    expected: Mapping[str, Mapping[str, int]], value: Callable[[FlavorResource], int]
) -> UsageMap:
    """Return what ``value`` gives at the places that a recorded map names."""
    return {
        flavor: {resource: value(FlavorResource(flavor, resource)) for resource in row}
        for flavor, row in expected.items()
    }
