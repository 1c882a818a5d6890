"""Which pods a request is for: the podsets that need nodes, merged where the policy allows it.

Source: behaviour.md 9.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from tidegate.errors import QuantityError
from tidegate.jobs.kind import Object
from tidegate.kinds.kueue_api.checks import ProvisioningRequestConfigSpec
from tidegate.kinds.podsets import quantity_text
from tidegate.model.quantity import parse_quantity

_CONTAINERS = ("containers", "initContainers")
_QUANTITIES = ("requests", "limits")
_PLACING = ("nodeSelector", "tolerations", "affinity", "resourceClaims")
"""Fields of a pod's spec that restrict its nodes, beside the resources."""


class MergedPodSets(msgspec.Struct, frozen=True, kw_only=True):
    """Podsets that a request merges; the first gives it name, template and flavors."""

    names: tuple[str, ...]
    count: int
    template: Object  # the podset's own, as its Workload has it
    flavors: tuple[str, ...]


def merged_podsets(
    obj: Object, config: ProvisioningRequestConfigSpec
) -> tuple[MergedPodSets, ...] | None:
    """Return what a request for a Workload consists of; empty: none is needed.

    None means that the Workload's podsets and its admission do not fit together: it is being
    changed.
    """
    assigned = {
        assignment["name"]: assignment
        for assignment in _admission(obj).get("podSetAssignments", ())
    }
    merged = list[MergedPodSets]()
    for podset in obj["spec"]["podSets"]:
        name, count = podset.get("name", "main"), podset.get("count", 1)
        if count <= 0 or not _requests_any(config.managed_resources, podset["template"]):
            continue
        of_podset = assigned.get(name)
        if of_podset is None:
            return None
        count = of_podset.get("count", count)
        if count > 0:
            part = _part(name, count, podset["template"], of_podset)
            _merge(merged, part, config.pod_set_merge_policy)
    return tuple(merged)


def _part(name: str, count: int, template: Object, assignment: Object) -> MergedPodSets:
    flavors = tuple(dict.fromkeys(assignment.get("flavors", {}).values()))
    return MergedPodSets(names=(name,), count=count, template=template, flavors=flavors)


def _merge(merged: list[MergedPodSets], part: MergedPodSets, policy: str | None) -> None:
    for at, other in enumerate(merged):
        if policy is not None and _are_mergeable(other.template, part.template, policy):
            names, count = (*other.names, *part.names), other.count + part.count
            merged[at] = msgspec.structs.replace(other, names=names, count=count)
            return
    merged.append(part)


def _admission(obj: Object) -> Object:
    admission: Object = obj.get("status", {}).get("admission") or {}
    return admission


def _requests_any(resources: Sequence[str], template: Object) -> bool:
    """Return whether a pod asks for one of the resources; no resources mean each."""
    requested = {name for all_resource in _container_resources(template) for name in all_resource}
    return not resources or not requested.isdisjoint(resources)


def _container_resources(template: Object) -> Iterator[Object]:
    spec = template.get("spec", {})
    for container in [*(spec.get(_CONTAINERS[0]) or ()), *(spec.get(_CONTAINERS[1]) or ())]:
        resources = container.get("resources") or {}
        yield from (resources.get(field) or {} for field in _QUANTITIES)


def _are_mergeable(template: Object, other: Object, policy: str) -> bool:
    if policy == "IdenticalPodTemplates":
        return bool(_with_numbers(template) == _with_numbers(other))
    return _placement_fields(template) == _placement_fields(other)


def _placement_fields(template: Object) -> list[Any]:
    """Return what a pod's place depends on; what it runs and its priority do not count."""
    spec = _with_numbers(template).get("spec", {})
    requests = [
        [
            (container.get("resources") or {}).get("requests") or {}
            for container in spec.get(field) or ()
        ]
        for field in _CONTAINERS
    ]
    own = spec.get("resources") or {}
    return [*requests, own, *(spec.get(field) or None for field in _PLACING)]


def _with_numbers(node: Any, field: str = "") -> Any:  # noqa: ANN401 - any JSON value
    """Return the same with quantities as numbers: ``1`` and ``1000m`` are alike."""
    match node:
        case dict() if field in _QUANTITIES:
            return {name: _number(value) for name, value in node.items()}
        case dict():
            return {name: _with_numbers(value, name) for name, value in node.items()}
        case list():
            return [_with_numbers(item) for item in node]
        case _:
            return node


def _number(value: Any) -> Any:  # noqa: ANN401 - a quantity as text or as a number
    with suppress(QuantityError):
        return parse_quantity(quantity_text(value))
    return value
