"""Pod specs, in pods and in templates: the defaults that the server writes, and what it demands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from apiserver.kinds.quantities import canonicalize_map
from apiserver.refusals import Cause, invalid_value, required, unsupported
from tidegate.errors import QuantityError
from tidegate.model.quantity import parse_quantity

Object = dict[str, Any]
RESTART_POLICIES = ("Always", "OnFailure", "Never")


def default_spec(spec: Object) -> None:
    """Write the defaults of a pod spec, in place.

    Raises:
        RefusedError: 400, a quantity cannot be read.
    """
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("schedulerName", "default-scheduler")
    spec.setdefault("securityContext", {})
    spec.setdefault("terminationGracePeriodSeconds", 30)
    for container in containers_of(spec):
        _default_container(container)
    canonicalize_map(spec.get("overhead"))
    for field in [key for key, value in spec.items() if value == []]:
        del spec[field]


def default_requests(spec: Object) -> None:
    """Give each container the requests that its limits imply; done for pods, not for templates."""
    for container in containers_of(spec):
        resources = container["resources"]
        if limits := resources.get("limits"):
            resources["requests"] = limits | (resources.get("requests") or {})


def containers_of(spec: Object) -> list[Object]:
    """Return every container of a pod spec, the initial ones first."""
    return [*spec.get("initContainers", ()), *spec.get("containers", ())]


def check_spec(spec: Object, path: str) -> Iterator[Cause]:
    """Yield what is wrong with a pod spec that stands at a path."""
    if not spec.get("containers"):
        yield required(f"{path}.containers")
    for field in ("initContainers", "containers"):
        for i, container in enumerate(spec.get(field) or []):
            yield from _check_container(container, f"{path}.{field}[{i}]")
    if spec["restartPolicy"] not in RESTART_POLICIES:
        yield unsupported(f"{path}.restartPolicy", spec["restartPolicy"], RESTART_POLICIES)
    for i, toleration in enumerate(spec.get("tolerations") or []):
        if toleration.get("operator", "Equal") not in ("Equal", "Exists"):
            at = f"{path}.tolerations[{i}].operator"
            yield unsupported(at, toleration["operator"], ("Equal", "Exists"))


def _default_container(container: Object) -> None:
    image = str(container.get("image", ""))
    latest = ":" not in image.rpartition("/")[2] or image.endswith(":latest")
    container.setdefault("imagePullPolicy", "Always" if latest else "IfNotPresent")
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    resources = container.setdefault("resources", {})
    for field in ("limits", "requests"):
        canonicalize_map(resources.get(field))
    for port in container.get("ports") or []:
        port.setdefault("protocol", "TCP")


def _check_container(container: Object, path: str) -> Iterator[Cause]:
    for field in ("name", "image"):
        if not container.get(field):
            yield required(f"{path}.{field}")
    resources = container["resources"]
    limits = resources.get("limits") or {}
    for name, request in (resources.get("requests") or {}).items():
        at = f"{path}.resources.requests"
        if parse_quantity(request) < 0:
            yield invalid_value(f"{at}[{name}]", request, "must be greater than or equal to 0")
        if name in limits and _exceeds(request, limits[name]):
            why = f"must be less than or equal to {name} limit of {limits[name]}"
            yield invalid_value(at, request, why)


def _exceeds(request: str, limit: str) -> bool:
    try:
        return parse_quantity(request) > parse_quantity(limit)
    except QuantityError:
        return False
