"""Pod templates of the recorded workloads as podsets."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import msgspec

from tests.conformance.cases import Json
from tidegate.model.podset import (
    Container,
    NodeTerm,
    PodSet,
    Requirement,
    SliceLayer,
    Toleration,
    TopologyRequest,
)

_SHAPE = ("topologySpreadConstraints", "resourceClaims", "priority")


def podset(told: Json) -> PodSet:
    """Translate a Workload's podset."""
    spec: Json = told.get("template", {}).get("spec", {})
    affinity: Json = spec.get("affinity", {}).get("nodeAffinity", {})
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution", {})
    return PodSet(
        name=told.get("name", ""),
        count=told.get("count", 1),
        min_count=told.get("minCount"),
        containers=_containers(spec.get("containers", ())),
        init_containers=_containers(spec.get("initContainers", ())),
        pod_resources=_container(spec) if "resources" in spec else None,
        overhead=spec.get("overhead", {}),
        node_selector=spec.get("nodeSelector", {}),
        node_affinity=tuple(node_term(term) for term in required.get("nodeSelectorTerms", ())),
        preferred_affinity=_preferred(affinity),
        tolerations=tolerations(spec.get("tolerations", ())),
        runtime_class=spec.get("runtimeClassName", ""),
        priority_class=spec.get("priorityClassName", ""),
        topology=topology(told.get("topologyRequest")),
        shape=_shape(spec),
    )


def node_term(told: Json) -> NodeTerm:
    """Translate a node selector term."""
    return NodeTerm(
        expressions=requirements(told.get("matchExpressions", ())),
        fields=requirements(told.get("matchFields", ())),
    )


def requirements(told: Iterable[Json]) -> tuple[Requirement, ...]:
    """Translate the expressions of a selector."""
    return tuple(
        Requirement(key=one["key"], operator=one["operator"], values=tuple(one.get("values", ())))
        for one in told
    )


def tolerations(told: Iterable[Json]) -> tuple[Toleration, ...]:
    """Translate a pod's or a flavor's tolerations."""
    return tuple(
        Toleration(
            key=one.get("key", ""),
            operator=one.get("operator", "Equal"),
            value=one.get("value", ""),
            effect=one.get("effect", ""),
            seconds=one.get("tolerationSeconds"),
        )
        for one in told
    )


def _containers(told: Iterable[Json]) -> tuple[Container, ...]:
    return tuple(_container(one) for one in told)


def _container(told: Json) -> Container:
    resources: Json = told.get("resources", {})
    return Container(
        requests=resources.get("requests", {}),
        limits=resources.get("limits", {}),
        sidecar=told.get("restartPolicy") == "Always",
    )


def _preferred(affinity: Json) -> tuple[NodeTerm, ...]:
    return tuple(
        msgspec.structs.replace(node_term(one.get("preference", {})), weight=one["weight"])
        for one in affinity.get("preferredDuringSchedulingIgnoredDuringExecution", ())
    )


def topology(told: Json | None) -> TopologyRequest | None:
    if told is None:
        return None
    return TopologyRequest(
        required=told.get("required", ""),
        preferred=told.get("preferred", ""),
        unconstrained=told.get("unconstrained", False),
        group=told.get("podSetGroupName", ""),
        slice_required=told.get("podSetSliceRequiredTopology", ""),
        slice_size=told.get("podSetSliceSize", 0),
        layers=tuple(
            SliceLayer(level=one["topology"], size=one["size"])
            for one in told.get("podsetSliceRequiredTopologyConstraints", ())
        ),
        index_label=told.get("podIndexLabel", ""),
    )


def _shape(spec: Json) -> str:
    ports = [one["ports"] for one in spec.get("containers", ()) if "ports" in one]
    rest = {name: spec[name] for name in _SHAPE if name in spec}
    if not ports and not rest:
        return ""
    return hashlib.sha256(msgspec.json.encode([ports, rest], order="deterministic")).hexdigest()
