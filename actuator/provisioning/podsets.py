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
from tidegate.kinds.podsets import written
from tidegate.model.quantity import parse

_CONTAINERS = ("containers", "initContainers")
_QUANTITIES = ("requests", "limits")
_PLACING = ("nodeSelector", "tolerations", "affinity", "resourceClaims")
"""What of a pod's spec says where it may go, beside the resources."""


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """Podsets that stand in a request as one; the first gives it name, template and flavors."""

    names: tuple[str, ...]
    count: int
    template: Object  # the podset's own, as its Workload has it
    flavors: tuple[str, ...]


def parts(obj: Object, config: ProvisioningRequestConfigSpec) -> tuple[Part, ...] | None:
    """Return what a request for a Workload consists of; empty: none is needed.

    None means that the Workload's podsets and its admission do not fit together: it is being
    changed.
    """
    assigned = {one["name"]: one for one in _admission(obj).get("podSetAssignments", ())}
    merged = list[Part]()
    for podset in obj["spec"]["podSets"]:
        name, count = podset.get("name", "main"), podset.get("count", 1)
        if count <= 0 or not _manages(config.managed_resources, podset["template"]):
            continue
        given = assigned.get(name)
        if given is None:
            return None
        count = given.get("count", count)
        if count > 0:
            part = _part(name, count, podset["template"], given)
            _add(merged, part, config.pod_set_merge_policy)
    return tuple(merged)


def _part(name: str, count: int, template: Object, given: Object) -> Part:
    flavors = tuple(dict.fromkeys(given.get("flavors", {}).values()))
    return Part(names=(name,), count=count, template=template, flavors=flavors)


def _add(merged: list[Part], part: Part, policy: str | None) -> None:
    for at, one in enumerate(merged):
        if policy is not None and _alike(one.template, part.template, policy):
            names, count = (*one.names, *part.names), one.count + part.count
            merged[at] = msgspec.structs.replace(one, names=names, count=count)
            return
    merged.append(part)


def _admission(obj: Object) -> Object:
    admission: Object = obj.get("status", {}).get("admission") or {}
    return admission


def _manages(resources: Sequence[str], template: Object) -> bool:
    """Tell whether a pod asks for one of the resources; no resources mean each."""
    asked = {name for one in _all_resources(template) for name in one}
    return not resources or not asked.isdisjoint(resources)


def _all_resources(template: Object) -> Iterator[Object]:
    spec = template.get("spec", {})
    for container in [*(spec.get(_CONTAINERS[0]) or ()), *(spec.get(_CONTAINERS[1]) or ())]:
        resources = container.get("resources") or {}
        yield from (resources.get(field) or {} for field in _QUANTITIES)


def _alike(one: Object, other: Object, policy: str) -> bool:
    if policy == "IdenticalPodTemplates":
        return bool(_plain(one) == _plain(other))
    return _placed(one) == _placed(other)


def _placed(template: Object) -> list[Any]:
    """Return what a pod's place depends on; what it runs and its priority do not count."""
    spec = _plain(template).get("spec", {})
    asked = [
        [(one.get("resources") or {}).get("requests") or {} for one in spec.get(field) or ()]
        for field in _CONTAINERS
    ]
    own = spec.get("resources") or {}
    return [*asked, own, *(spec.get(field) or None for field in _PLACING)]


def _plain(found: Any, field: str = "") -> Any:  # noqa: ANN401 - any JSON value
    """Return the same with quantities as numbers: ``1`` and ``1000m`` are alike."""
    match found:
        case dict() if field in _QUANTITIES:
            return {name: _number(value) for name, value in found.items()}
        case dict():
            return {name: _plain(value, name) for name, value in found.items()}
        case list():
            return [_plain(one) for one in found]
        case _:
            return found


def _number(value: Any) -> Any:  # noqa: ANN401 - a quantity as text or as a number
    with suppress(QuantityError):
        return parse(written(value))
    return value
