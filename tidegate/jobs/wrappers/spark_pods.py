"""The pods that a SparkApplication's fields describe, as pod templates.

Source: behaviour.md 16, SparkApplication.
"""

from __future__ import annotations

import re

from tidegate.errors import UndecodableError
from tidegate.jobs.kind import Object
from tidegate.jobs.templates.paths import found_at, listed_at, object_at, text_at
from tidegate.model.numbers import whole

ROLES = ("driver", "executor")
_COPIED = ("affinity", "nodeSelector", "priorityClassName", "tolerations", "initContainers")
_LOCAL_DIRECTORY = "spark-local-dir-"
"""Volumes of this name are Spark's own to make."""
_JAVA = re.compile(r"([0-9]+)([bkmgtp]?)b?", re.IGNORECASE)
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
    mounts = [
        one
        for one in listed_at(fields, ("volumeMounts",))
        if not text_at(one, ("name",)).startswith(_LOCAL_DIRECTORY)
    ]
    main = {"name": container_name(role), "resources": _resources(fields)}
    containers = [
        {**main, "volumeMounts": mounts} if mounts else main,
        *listed_at(fields, ("sidecars",)),
    ]
    mounted = {text_at(one, ("name",)) for one in mounts}
    volumes = [
        one for one in listed_at(obj, ("spec", "volumes")) if text_at(one, ("name",)) in mounted
    ]
    spec: Object = {name: fields[name] for name in _COPIED if fields.get(name)}
    spec |= {"containers": containers} | ({"volumes": volumes} if volumes else {})
    return {"metadata": _metadata(fields), "spec": spec}


def quantity(java: str) -> str:
    """Return the quantity that a size of Java's says: ``512m`` is ``512Mi``.

    Raises:
        UndecodableError: it says none.
    """
    found = _JAVA.fullmatch(java)
    number = None if found is None else whole(found[1])
    if found is None or number is None:
        raise UndecodableError(f"memory: {java[:80]!r} is not a size such as 512m or 2g.")
    power = _POWERS[found[2].lower()]
    while number and number % 1024 == 0 and power < len(_UNITS) - 1:
        number, power = number // 1024, power + 1
    return f"{number}{_UNITS[power]}"


def _metadata(fields: Object) -> Object:
    """Return a template's metadata, the fields' own over those of its template."""
    told = {
        name: {
            **object_at(fields, ("template", "metadata", name)),
            **object_at(fields, (name,)),
        }
        for name in ("labels", "annotations")
    }
    return {name: value for name, value in told.items() if value}


def _resources(fields: Object) -> Object:
    requests = {
        "cpu": text_at(fields, ("coreRequest",)),
        "memory": _size(fields, "memory"),
    }
    limits = {
        "cpu": text_at(fields, ("coreLimit",)),
        "memory": _size(fields, "memoryLimit"),
        text_at(fields, ("gpu", "name")): found_at(fields, ("gpu", "quantity")),
    }
    told = {"requests": _said(requests), "limits": _said(limits)}
    return {name: value for name, value in told.items() if value}


def _size(fields: Object, name: str) -> str:
    written = text_at(fields, (name,))
    return quantity(written) if written else ""


def _said(quantities: Object) -> Object:
    return {name: value for name, value in quantities.items() if name and value}
