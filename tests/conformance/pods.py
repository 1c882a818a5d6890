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


def podset(document: Json) -> PodSet:
    """Translate a Workload's podset."""
    spec: Json = document.get("template", {}).get("spec", {})
    affinity: Json = spec.get("affinity", {}).get("nodeAffinity", {})
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution", {})
    return PodSet(
        name=document.get("name", ""),
        count=document.get("count", 1),
        min_count=document.get("minCount"),
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
        topology=topology(document.get("topologyRequest")),
        shape=_shape(spec),
    )


def node_term(document: Json) -> NodeTerm:
    """Translate a node selector term."""
    return NodeTerm(
        expressions=requirements(document.get("matchExpressions", ())),
        fields=requirements(document.get("matchFields", ())),
    )


def requirements(documents: Iterable[Json]) -> tuple[Requirement, ...]:
    """Translate the expressions of a selector."""
    return tuple(
        Requirement(
            key=expression["key"],
            operator=expression["operator"],
            values=tuple(expression.get("values", ())),
        )
        for expression in documents
    )


def tolerations(documents: Iterable[Json]) -> tuple[Toleration, ...]:
    """Translate a pod's or a flavor's tolerations."""
    return tuple(
        Toleration(
            key=toleration.get("key", ""),
            operator=toleration.get("operator", "Equal"),
            value=toleration.get("value", ""),
            effect=toleration.get("effect", ""),
            seconds=toleration.get("tolerationSeconds"),
        )
        for toleration in documents
    )


def _containers(documents: Iterable[Json]) -> tuple[Container, ...]:
    return tuple(_container(container) for container in documents)


def _container(document: Json) -> Container:
    resources: Json = document.get("resources", {})
    return Container(
        requests=resources.get("requests", {}),
        limits=resources.get("limits", {}),
        sidecar=document.get("restartPolicy") == "Always",
    )


def _preferred(affinity: Json) -> tuple[NodeTerm, ...]:
    return tuple(
        msgspec.structs.replace(
            node_term(preference.get("preference", {})), weight=preference["weight"]
        )
        for preference in affinity.get("preferredDuringSchedulingIgnoredDuringExecution", ())
    )


def topology(obj: Json | None) -> TopologyRequest | None:
    if obj is None:
        return None
    return TopologyRequest(
        required=obj.get("required", ""),
        preferred=obj.get("preferred", ""),
        unconstrained=obj.get("unconstrained", False),
        group=obj.get("podSetGroupName", ""),
        slice_required=obj.get("podSetSliceRequiredTopology", ""),
        slice_size=obj.get("podSetSliceSize", 0),
        layers=tuple(
            SliceLayer(level=constraint["topology"], size=constraint["size"])
            for constraint in obj.get("podsetSliceRequiredTopologyConstraints", ())
        ),
        index_label=obj.get("podIndexLabel", ""),
    )


def _shape(spec: Json) -> str:
    ports = [container["ports"] for container in spec.get("containers", ()) if "ports" in container]
    rest = {name: spec[name] for name in _SHAPE if name in spec}
    if not ports and not rest:
        return ""
    return hashlib.sha256(msgspec.json.encode([ports, rest], order="deterministic")).hexdigest()
