"""The podsets of a job as its Workload object shows them.

Source: behaviour.md 15.3.
"""

from __future__ import annotations

from typing import Any

from tidegate.errors import UndecodableError
from tidegate.jobs.kind import Object
from tidegate.kinds.kueue_api.workloads.topologies import PodIndex, written_request


def written_podset(
    name: str,
    count: int,
    template: Object,
    *,
    index: PodIndex | None = None,
    marks: Object | None = None,
) -> Object:
    """Return a podset of a Workload: the template as its owner wrote it, and its topologyRequest.

    An environment variable that a container names twice stands once, with its last value.
    ``marks`` are the annotations that ask for a topology, if not those of the template.
    """
    podset: Object = {"name": name, "count": count, "template": _with_distinct_env(template)}
    annotations = (template.get("metadata") or {}).get("annotations") or {}
    request = written_request(annotations if marks is None else marks, index)
    return podset | ({"topologyRequest": request} if request else {})


def with_fewest(podset: Object, min_count: int | None) -> Object:
    """Return a podset with the fewest pods that partial admission may grant, if it may."""
    return podset if min_count is None else {**podset, "minCount": min_count}


def _with_distinct_env(template: Object) -> Object:
    spec = template.get("spec") or {}
    changed = {
        field: [_distinct(container) for container in spec[field]]
        for field in ("containers", "initContainers")
        if any("env" in container for container in spec.get(field) or ())
    }
    return {**template, "spec": {**spec, **changed}} if changed else template


def _distinct(container: Object) -> Object:
    variables: Any = container.get("env")
    if not variables:
        return container
    if not isinstance(variables, list) or not all(
        isinstance(variable, dict) for variable in variables
    ):
        raise UndecodableError("containers.env: this is not a list of variables.")
    return {
        **container,
        "env": list({str(variable.get("name")): variable for variable in variables}.values()),
    }
