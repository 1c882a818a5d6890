"""The pods that a SparkApplication's fields describe, as pod templates.

Source: behaviour.md 16, SparkApplication.
"""

from __future__ import annotations

import re
from fractions import Fraction
from math import ceil

from tidegate.errors import UndecodableError
from tidegate.jobs.kind import Object
from tidegate.jobs.templates.paths import list_at, number_at, object_at, text_at

ROLES = ("driver", "executor")
_COPIED = ("affinity", "nodeSelector", "priorityClassName", "tolerations")
_LOCAL_DIRECTORY = "spark-local-dir-"
"""Volumes of this name are Spark's own to make."""
_JAVA = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,18})?)([bkmgtp]?)[bi]?", re.IGNORECASE)
"""As Java has it, and as Kubernetes does: Spark's operator takes both."""
_POWERS = {"": 0, "b": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_UNITS = ("", "Ki", "Mi", "Gi", "Ti", "Pi")


def container_name(role: str) -> str:
    """Return how Spark calls the container of a role's pods."""
    return f"spark-kubernetes-{role}"


def built_template(obj: Object, role: str) -> Object:
    """Return the template of a role's pods.

    Raises:
        UndecodableError: what it asks for is no quantity.
    """
    fields = object_at(obj, ("spec", role))
    volumes_by_name = {
        text_at(volume, ("name",)): volume for volume in list_at(obj, ("spec", "volumes"))
    }
    mounts = [
        mount
        for mount in list_at(fields, ("volumeMounts",))
        if not (name := text_at(mount, ("name",))).startswith(_LOCAL_DIRECTORY)
        and name in volumes_by_name
    ]
    main = {"name": container_name(role), "resources": _resources(fields)}
    containers = [
        {**main, "volumeMounts": mounts} if mounts else main,
        *_distinct(list_at(fields, ("sidecars",))),
    ]
    volumes = [volumes_by_name[name] for name in dict.fromkeys(mount["name"] for mount in mounts)]
    spec: Object = {name: fields[name] for name in _COPIED if fields.get(name)}
    if first := _distinct(list_at(fields, ("initContainers",))):
        spec["initContainers"] = first
    spec |= {"containers": containers} | ({"volumes": volumes} if volumes else {})
    return {"metadata": _metadata(fields), "spec": spec}


def _distinct(containers: list[Object]) -> list[Object]:
    """Return containers without those of a name and an image that stood before."""
    by_key = {
        (container.get("name"), container.get("image")): container
        for container in reversed(containers)
    }
    return list(reversed(by_key.values()))


def quantity(java: str) -> str:
    """Return the quantity of a size: ``512m``, or ``0.5g``, is ``512Mi``.

    Raises:
        UndecodableError: it is not a size.
    """
    match = _JAVA.fullmatch(java)
    if match is None:
        raise UndecodableError(f"memory: {java[:80]!r} is not a size such as 512m or 2g.")
    number, power = ceil(Fraction(match[1]) * 1024 ** _POWERS[match[2].lower()]), 0
    while number and number % 1024 == 0 and power < len(_UNITS) - 1:
        number, power = number // 1024, power + 1
    return f"{number}{_UNITS[power]}"


def _metadata(fields: Object) -> Object:
    """Return a template's metadata, the fields' own over those of its template."""
    written_fields = {
        name: {
            **object_at(fields, ("template", "metadata", name)),
            **object_at(fields, (name,)),
        }
        for name in ("labels", "annotations")
    }
    return {name: value for name, value in written_fields.items() if value}


def _resources(fields: Object) -> Object:
    requests = {
        "cpu": text_at(fields, ("coreRequest",)),
        "memory": _size(fields, "memory"),
    }
    devices = number_at(fields, ("gpu", "quantity"))
    limits = {
        "cpu": text_at(fields, ("coreLimit",)),
        "memory": _size(fields, "memoryLimit"),
        text_at(fields, ("gpu", "name")): devices,
    }
    resources = {"requests": _without_empty(requests), "limits": _without_empty(limits)}
    return {name: value for name, value in resources.items() if value}


def _size(fields: Object, name: str) -> str:
    written = text_at(fields, (name,))
    return quantity(written) if written else ""


def _without_empty(quantities: Object) -> Object:
    return {name: value for name, value in quantities.items() if name and value}
