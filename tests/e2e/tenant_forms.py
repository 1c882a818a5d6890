"""What the attempts of a tenant are made of: parts of a Job, to be merged into it."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]


def annotated(key: str, value: str, **more: Object) -> Object:
    return {"metadata": {"annotations": {key: value}}, **more}


def in_template(key: str, value: str) -> Object:
    return {"spec": {"template": {"metadata": {"annotations": {key: value}}}}}


def affinity(*values: str, operator: str = "Gt") -> Object:
    wanted = [{"key": "size", "operator": operator, "values": list(values)}]
    terms = {"nodeSelectorTerms": [{"matchExpressions": wanted}]}
    fields = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    return {"spec": {"template": {"spec": {"affinity": fields}}}}


def of_pods(**spec: object) -> Object:
    return {"spec": {"template": {"spec": spec}}}


def container(name: str = "c", **cpus: str) -> Object:
    """Return a container that asks for so many CPUs, by ``requests`` or ``limits``."""
    resources = {kind: {"cpu": cpu} for kind, cpu in cpus.items()}
    return {"name": name, "image": "none", "resources": resources}


def merged(obj: Object, other: Object) -> Object:
    """Return one object with another merged in."""
    fields = dict(obj)
    for key, value in other.items():
        both = isinstance(value, dict) and isinstance(fields.get(key), dict)
        fields[key] = merged(fields[key], value) if both else value
    return fields


_TOPOLOGY = "kueue.x-k8s.io/podset-"
ODD = {
    "a checkpoint of 5,000 digits": annotated("tidegate.dev/checkpoint-at", "9" * 5_000),
    "an affinity of 2,500 values": affinity(*(f"v{n}" for n in range(2_500)), operator="In"),
    "slices of no pods": in_template(
        f"{_TOPOLOGY}slice-required-topology-constraints", '[{"topology": "rack", "size": 0}]'
    ),
    "a group of one podset": in_template(f"{_TOPOLOGY}group-name", "alone"),
    "a budget of one's own": annotated("tidegate.dev/budget", "cpu=9000/day"),
    "a boost of one's own": annotated("kueue.x-k8s.io/priority-boost", "2147483647"),
}
"""What a Job may say that is no business of its owner's, or makes no sense."""
FEWEST = merged(
    annotated("kueue.x-k8s.io/job-min-parallelism", "1"),
    {"spec": {"parallelism": 12, "completions": 12}},
)
"""A Job that may start with fewer pods than it asks for."""
