"""Applies LimitRanges and RuntimeClasses to a podset: defaults, overhead and bounds.

Source: behaviour.md 1, "Adjustments" and "Admissibility validation".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from tidegate.contracts.observations import LimitRangeItem
from tidegate.core.state.state import Objects
from tidegate.errors import QuantityError
from tidegate.model.podset import Container, PodSet
from tidegate.model.quantity import parse

Nano: TypeAlias = dict[str, int]
"""Resource to an exact quantity in 1e-9: the finest that Kubernetes has."""

_ONE = 1_000_000_000


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """A namespace's LimitRanges of one type, merged; quantities as written."""

    max: dict[str, str] = {}  # the lowest
    min: dict[str, str] = {}  # the highest
    default: dict[str, str] = {}  # the first, LimitRanges in name order
    default_request: dict[str, str] = {}


NO_LIMITS = Limits()


def nano(text: str) -> int:
    """Parse a quantity in 1e-9, rounded up; 0 if invalid (see ``invalid_quantity``)."""
    try:
        return _nano(text)
    except QuantityError:
        return 0


def adjusted(objects: Objects, namespace: str, podset: PodSet) -> PodSet:
    """Return the podset with the RuntimeClass's overhead and all defaults filled in.

    First overhead, then a LimitRange's defaults, then requests from limits.
    """
    per_container = merged(objects, namespace, "Container")
    pod = podset.pod_resources
    return replace(
        podset,
        containers=_filled(podset.containers, per_container),
        init_containers=_filled(podset.init_containers, per_container),
        pod_resources=None if pod is None else _fill(pod, merged(objects, namespace, "Pod")),
        overhead=podset.overhead or _overhead(objects, podset.runtime_class),
    )


def merged(objects: Objects, namespace: str, kind: str) -> Limits:
    """Merge a namespace's LimitRange items of one type: ``Container`` or ``Pod``."""
    limit_range_items = list(_items(objects, namespace, kind))
    if not limit_range_items:
        return NO_LIMITS
    return Limits(
        max=_strictest((item.max for item in limit_range_items), min),
        min=_strictest((item.min for item in limit_range_items), max),
        default=_first(item.default for item in limit_range_items),
        default_request=_first(item.default_request for item in limit_range_items),
    )


def invalid_quantity(podset: PodSet) -> str:
    """Return the first text of a podset that is not a valid quantity, or ""."""
    own = () if podset.pod_resources is None else (podset.pod_resources,)
    maps = [podset.overhead]
    for container in (*podset.containers, *podset.init_containers, *own):
        maps += (container.requests, container.limits)
    return next((text for each in maps for text in each.values() if not _readable(text)), "")


@lru_cache(maxsize=16_384)
def _nano(text: str) -> int:
    value = parse(text)
    return -(-value.numerator * _ONE // value.denominator)


def _readable(text: str) -> bool:
    try:
        _nano(text)
    except QuantityError:
        return False
    return True


def _items(objects: Objects, namespace: str, kind: str) -> Iterator[LimitRangeItem]:
    if not objects.limit_ranges:
        return
    keys = [key for key in objects.limit_ranges if key.rpartition("/")[0] == namespace]
    for key in sorted(keys):
        yield from (item for item in objects.limit_ranges[key].items if item.type == kind)


def _strictest(maps: Iterable[dict[str, str]], choose: Callable[[int, int], int]) -> dict[str, str]:
    limits: dict[str, str] = {}
    for each in maps:
        for name, text in each.items():
            before_text = limits.get(name, text)
            limits[name] = (
                text if choose(nano(text), nano(before_text)) == nano(text) else before_text
            )
    return limits


def _first(maps: Iterable[dict[str, str]]) -> dict[str, str]:
    defaults: dict[str, str] = {}
    for each in maps:
        defaults = each | defaults
    return defaults


def _filled(containers: tuple[Container, ...], limits: Limits) -> tuple[Container, ...]:
    return tuple(_fill(container, limits) for container in containers)


def _fill(container: Container, with_: Limits) -> Container:
    limits = with_.default | container.limits
    requests = limits | with_.default_request | container.requests
    if limits == container.limits and requests == container.requests:
        return container
    return replace(container, limits=limits, requests=requests)


def _overhead(objects: Objects, name: str) -> dict[str, str]:
    defined = objects.runtime_classes.get(name) if name else None
    return {} if defined is None else defined.overhead
