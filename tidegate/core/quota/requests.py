"""Computes the charge of one pod of a podset: its spec, the cluster's defaults, transformations.

LimitRanges, RuntimeClasses and the policy's transformations are facts of their own, so the charge
is computed when needed and never stored with the podset. All arithmetic is exact: quantities are
integers in 1e-9 and rounded up once, at the end.

Source: behaviour.md 1; conformance/adjust-resources and workload-info.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from tidegate.contracts.observations import LimitRangeItem
from tidegate.core.state.state import Objects
from tidegate.errors import QuantityError
from tidegate.model.podset import Container, PodSet
from tidegate.model.policy import Policy, Transformation
from tidegate.model.quantity import UNLIMITED, parse_quantity

Amounts: TypeAlias = dict[str, int]

_MILLI = 1_000_000
_POD_LEVEL = ("cpu", "memory")
_POD_LEVEL_PREFIX = "hugepages-"
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


def pod_requests(objects: Objects, namespace: str, podset: PodSet, policy: Policy) -> Amounts:
    """Return the charge of one pod, resource to base units, none negative, in name order.

    An invalid quantity counts as zero: ``validate_podset`` refuses such a podset.
    """
    requests = pod_total(adjusted_podset(objects, namespace, podset))
    excluded = policy.exclude_resource_prefixes
    counted = {name: value for name, value in requests.items() if not name.startswith(excluded)}
    charged = (
        _apply_transformations(counted, policy.transformations)
        if policy.transformations
        else counted
    )
    for name, units in podset.devices.items():
        charged[name] = charged.get(name, 0) + units * _ONE
    return {name: _base_units(name, charged[name]) for name in sorted(charged)}


def placement_requests(objects: Objects, namespace: str, podset: PodSet) -> Amounts:
    """Return the amounts that one pod uses of a node: ``pod_requests`` without transformations."""
    requests = pod_total(adjusted_podset(objects, namespace, podset))
    return {name: _base_units(name, requests[name]) for name in sorted(requests)}


def validate_podset(objects: Objects, namespace: str, podset: PodSet) -> str:
    """Return in one sentence why a podset may not be admitted in its namespace; "" if it may.

    A container may not request more than its limit; LimitRanges bound each container's larger and
    smaller side, and the pod's total.
    """
    if unreadable := invalid_quantity(podset):
        return f"Podset {podset.name} asks for {unreadable!r}, which is not a quantity."
    podset = adjusted_podset(objects, namespace, podset)
    own = () if podset.pod_resources is None else (podset.pod_resources,)
    for container in (*podset.init_containers, *podset.containers, *own):
        if names := _resources_above(
            _parse_nanos(container.requests), _parse_nanos(container.limits)
        ):
            return f"Podset {podset.name} requests more than its limits allow of {names}."
    return _limit_range_violation(objects, namespace, podset)


def pod_total(podset: PodSet) -> Nano:
    """Sum up a podset's containers by Kubernetes' rule for one pod, in 1e-9.

    A sidecar runs beside all containers after it; another init container runs with only the
    sidecars before it. Pod-level requests replace the sum for the resources that may have them.
    """
    total: Nano = {}
    for container in podset.containers:
        _add_requests(total, container)
    _apply_init_containers(total, podset.init_containers)
    if podset.pod_resources is not None and podset.pod_resources.requests:
        for name, text in podset.pod_resources.requests.items():
            if name in _POD_LEVEL or name.startswith(_POD_LEVEL_PREFIX):
                total[name] = parse_nano(text)
    for name, text in podset.overhead.items():
        total[name] = total.get(name, 0) + parse_nano(text)
    return total


def _apply_init_containers(total: Nano, init_containers: tuple[Container, ...]) -> None:
    beside: Nano = {}  # the sidecars so far
    highest: Nano = {}
    for container in init_containers:
        if container.sidecar:
            _add_requests(beside, container)
            _add_requests(total, container)
            alone = dict(beside)
        else:
            alone = dict(beside)
            _add_requests(alone, container)
        for name, value in alone.items():
            highest[name] = max(value, highest.get(name, value))
    for name, value in highest.items():
        total[name] = max(value, total.get(name, value))


def _add_requests(total: Nano, container: Container) -> None:
    for name, text in container.requests.items():
        total[name] = total.get(name, 0) + parse_nano(text)


def _limit_range_violation(objects: Objects, namespace: str, podset: PodSet) -> str:
    each = _merged_limits(objects, namespace, "Container")
    for container in (*podset.init_containers, *podset.containers):
        requests, limits = _parse_nanos(container.requests), _parse_nanos(container.limits)
        larger = {name: max(v, requests.get(name, v)) for name, v in (requests | limits).items()}
        smaller = {name: min(v, requests.get(name, v)) for name, v in (requests | limits).items()}
        if text := _bound_violation(each, larger, smaller):
            return f"A container of podset {podset.name} {text} for containers."
    total = pod_total(podset)
    text = _bound_violation(_merged_limits(objects, namespace, "Pod"), total, total)
    return f"A pod of podset {podset.name} {text} for pods." if text else ""


def _bound_violation(limits: Limits, larger: Nano, smaller: Nano) -> str:
    if names := _resources_above(larger, _parse_nanos(limits.max)):
        return f"asks for more {names} than the LimitRange's maximum"
    if names := _resources_above(_parse_nanos(limits.min), smaller):
        return f"asks for less {names} than the LimitRange's minimum"
    return ""


def _resources_above(values: Nano, bounds: Nano) -> str:
    return ", ".join(n for n in sorted(values) if n in bounds and values[n] > bounds[n])


def _parse_nanos(quantities: dict[str, str]) -> Nano:
    return {name: parse_nano(text) for name, text in quantities.items()}


def _apply_transformations(requests: Nano, transformations: tuple[Transformation, ...]) -> Nano:
    """Apply resource transformations: outputs are summed first, clamped at 0, then added."""
    transformed, outputs = dict(requests), dict[str, Fraction]()
    for rule in transformations:
        if rule.input not in requests:
            continue
        value = Fraction(requests[rule.input], _ONE)
        if rule.multiply_by in requests:
            value *= Fraction(requests[rule.multiply_by], _ONE)
        if rule.strategy == "Replace":
            del transformed[rule.input]
        for name, factor in rule.outputs.items():
            outputs[name] = outputs.get(name, Fraction(0)) + value * parse_nano(factor)
    for name, value in outputs.items():
        transformed[name] = transformed.get(name, 0) + max(0, _ceil(value))
    return transformed


def _ceil(value: Fraction) -> int:
    return -(-value.numerator // value.denominator)


def _base_units(name: str, value: int) -> int:
    units = -(-value // (_MILLI if name == "cpu" else _ONE))
    return max(0, min(UNLIMITED, units))


def parse_nano(text: str) -> int:
    """Parse a quantity in 1e-9, rounded away from 0; 0 if invalid (see ``invalid_quantity``)."""
    try:
        return _parse_exact(text)
    except QuantityError:
        return 0


def adjusted_podset(objects: Objects, namespace: str, podset: PodSet) -> PodSet:
    """Return the podset with the RuntimeClass's overhead and all defaults filled in.

    First overhead, then a LimitRange's defaults, then requests from limits.
    """
    per_container = _merged_limits(objects, namespace, "Container")
    pod = podset.pod_resources
    return replace(
        podset,
        containers=_fill_containers(podset.containers, per_container),
        init_containers=_fill_containers(podset.init_containers, per_container),
        pod_resources=None
        if pod is None
        else _fill_defaults(pod, _merged_limits(objects, namespace, "Pod")),
        overhead=podset.overhead or _runtime_overhead(objects, podset.runtime_class),
    )


def _merged_limits(objects: Objects, namespace: str, kind: str) -> Limits:
    """Merge a namespace's LimitRange items of one type: ``Container`` or ``Pod``."""
    items = list(_limit_range_items(objects, namespace, kind))
    if not items:
        return NO_LIMITS
    return Limits(
        max=_strictest_limits((item.max for item in items), min),
        min=_strictest_limits((item.min for item in items), max),
        default=_first_defaults(item.default for item in items),
        default_request=_first_defaults(item.default_request for item in items),
    )


def invalid_quantity(podset: PodSet) -> str:
    """Return the first text of a podset that is not a valid quantity, or ""."""
    own = () if podset.pod_resources is None else (podset.pod_resources,)
    maps = [podset.overhead]
    for container in (*podset.containers, *podset.init_containers, *own):
        maps += (container.requests, container.limits)
    return next((text for each in maps for text in each.values() if not _is_quantity(text)), "")


@lru_cache(maxsize=16_384)
def _parse_exact(text: str) -> int:
    value = parse_quantity(text)
    nano = _ceil(abs(value) * _ONE)
    return nano if value >= 0 else -nano


def _is_quantity(text: str) -> bool:
    try:
        _parse_exact(text)
    except QuantityError:
        return False
    return True


def _limit_range_items(objects: Objects, namespace: str, kind: str) -> Iterator[LimitRangeItem]:
    if not objects.limit_ranges:
        return
    keys = [key for key in objects.limit_ranges if key.rpartition("/")[0] == namespace]
    for key in sorted(keys):
        yield from (item for item in objects.limit_ranges[key].items if item.type == kind)


def _strictest_limits(
    maps: Iterable[dict[str, str]], choose: Callable[[int, int], int]
) -> dict[str, str]:
    limits: dict[str, str] = {}
    for each in maps:
        for name, text in each.items():
            before = limits.get(name, text)
            limits[name] = (
                text if choose(parse_nano(text), parse_nano(before)) == parse_nano(text) else before
            )
    return limits


def _first_defaults(maps: Iterable[dict[str, str]]) -> dict[str, str]:
    defaults: dict[str, str] = {}
    for each in maps:
        defaults = each | defaults
    return defaults


def _fill_containers(containers: tuple[Container, ...], limits: Limits) -> tuple[Container, ...]:
    return tuple(_fill_defaults(container, limits) for container in containers)


def _fill_defaults(container: Container, defaults: Limits) -> Container:
    limits = defaults.default | container.limits
    requests = limits | defaults.default_request | container.requests
    if limits == container.limits and requests == container.requests:
        return container
    return replace(container, limits=limits, requests=requests)


def _runtime_overhead(objects: Objects, name: str) -> dict[str, str]:
    defined = objects.runtime_classes.get(name) if name else None
    return {} if defined is None else defined.overhead
