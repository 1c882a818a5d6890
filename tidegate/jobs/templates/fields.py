"""What a podset is given, written as fields of its pods, for kinds that keep them apart."""

from __future__ import annotations

from tidegate.contracts.decisions import PodSetStart
from tidegate.jobs.kind import Object
from tidegate.model.podset import Toleration


def as_fields(start: PodSetStart) -> Object:
    """Return what a podset is given under the names that a pod's fields have, none if empty."""
    fields: Object = {
        "labels": start.labels,
        "annotations": start.annotations,
        "nodeSelector": start.node_selector,
        "tolerations": [written_toleration(toleration) for toleration in start.tolerations],
        "schedulingGates": [{"name": gate} for gate in start.gates],
    }
    return {name: value for name, value in fields.items() if value}


def as_template(start: PodSetStart) -> Object:
    """Return the assignment of a podset as a pod template with no other field."""
    fields = as_fields(start)
    meta = {name: fields.pop(name) for name in ("labels", "annotations") if name in fields}
    return {"metadata": meta, "spec": fields}


def written_toleration(toleration: Toleration) -> Object:
    """Return a toleration as Kubernetes writes it."""
    fields = {
        "key": toleration.key,
        "operator": toleration.operator,
        "value": toleration.value,
        "effect": toleration.effect,
        "tolerationSeconds": toleration.seconds,
    }
    return {name: value for name, value in fields.items() if value not in ("", None)}
