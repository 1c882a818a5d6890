"""Pod templates to podsets as the core computes with them; requests stay text."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from decimal import Decimal

import msgspec

from tidegate.errors import UndecodableError
from tidegate.kinds import pods
from tidegate.kinds.kueue_api.workloads.topologies import (
    slice_layers,
    topology_request,
    valid_request,
)
from tidegate.kinds.kueue_api.workloads.workload import PodSetTopologyRequest, Workload
from tidegate.kinds.meta import SelectorRequirement
from tidegate.kinds.observed import PodRequests
from tidegate.model import podset as model

REQUIREMENTS_MAX, VALUES_MAX = 100, 2_000
"""Requirements and tolerations of one podset, and their values: each is asked of every node."""
_SHAPE_DIGITS = 16


def pod_set(
    template: pods.PodTemplateSpec,
    *,
    name: str = "main",
    count: int = 1,
    min_count: int | None = None,
    topology: model.TopologyRequest | None = None,
) -> model.PodSet:
    """Return a podset of ``count`` pods of this template.

    Without ``topology`` the wish is read from the template's annotations.

    Raises:
        UndecodableError: the annotations of the topology contradict each other, or name what is
            not supported; or it asks more of a node than could be looked for on each.
    """
    spec = template.spec
    required, preferred = _node_affinity(spec)
    _check_amount(name, (*required, *preferred), len(spec.tolerations))
    return model.PodSet(
        name=name,
        count=count,
        min_count=min_count,
        containers=tuple(_resources(container.resources) for container in spec.containers),
        init_containers=tuple(map(_init_container, spec.init_containers)),
        pod_resources=None if spec.resources is None else _resources(spec.resources),
        overhead=quantity_texts(spec.overhead),
        node_selector=spec.node_selector,
        node_affinity=required,
        preferred_affinity=preferred,
        tolerations=tuple(map(toleration, spec.tolerations)),
        runtime_class=spec.runtime_class_name,
        priority_class=spec.priority_class_name,
        topology=topology or topology_request(template.metadata.annotations),
        claims=_claims(spec, "resourceClaimTemplateName"),
        shared_claims=_claims(spec, "resourceClaimName"),
        shape=_shape(spec),
    )


def workload_podsets(workload: Workload) -> tuple[model.PodSet, ...]:
    """Return the podsets of a Workload that was created directly.

    Raises:
        UndecodableError: a podset's wish for a topology is contradictory or not supported.
    """
    return tuple(
        pod_set(
            podset.template,
            name=podset.name,
            count=podset.count,
            min_count=podset.min_count,
            topology=None
            if podset.topology_request is None
            else _topology_request(podset.topology_request),
        )
        for podset in workload.spec.pod_sets
    )


def running_pod(spec: PodRequests) -> model.PodSet:
    """Return what a pod takes of its node, as a podset of this one pod."""
    return model.PodSet(
        name="",
        count=1,
        containers=tuple(_resources(container.resources) for container in spec.containers),
        init_containers=tuple(map(_init_container, spec.init_containers)),
        pod_resources=None if spec.resources is None else _resources(spec.resources),
        overhead=quantity_texts(spec.overhead),
    )


def toleration(written_toleration: pods.Toleration) -> model.Toleration:
    """Return a toleration with Kubernetes' default operator filled in."""
    return model.Toleration(
        key=written_toleration.key,
        operator=written_toleration.operator or "Equal",
        value=written_toleration.value,
        effect=written_toleration.effect,
        seconds=written_toleration.toleration_seconds,
    )


def quantity_text(quantity: str | float) -> str:
    """Return a quantity as text: a CRD keeps ``2`` and ``0.5`` as numbers."""
    match quantity:
        case str():
            return quantity
        case int():
            return str(quantity)
        case float():
            return format(Decimal(repr(quantity)), "f")


def quantity_texts(values: Mapping[str, str | int | float]) -> dict[str, str]:
    """Return requests or limits with every quantity as text."""
    return {name: quantity_text(value) for name, value in values.items()}


def _topology_request(topology: PodSetTopologyRequest) -> model.TopologyRequest | None:
    return valid_request(
        model.TopologyRequest(
            required=topology.required or "",
            preferred=topology.preferred or "",
            unconstrained=topology.unconstrained is True,
            group=topology.pod_set_group_name or "",
            slice_required=topology.pod_set_slice_required_topology or "",
            slice_size=topology.pod_set_slice_size or 0,
            layers=slice_layers(topology.podset_slice_required_topology_constraints),
            index_label=topology.pod_index_label or "",
        )
    )


def _init_container(container: pods.Container) -> model.Container:
    resources = _resources(container.resources)
    return msgspec.structs.replace(resources, sidecar=container.restart_policy == "Always")


def _resources(resources: pods.Resources) -> model.Container:
    return model.Container(
        requests=quantity_texts(resources.requests), limits=quantity_texts(resources.limits)
    )


def _node_affinity(
    spec: pods.PodSpec,
) -> tuple[tuple[model.NodeTerm, ...], tuple[model.NodeTerm, ...]]:
    wish = spec.affinity.node_affinity if spec.affinity else None
    if wish is None:
        return (), ()
    required = wish.required.node_selector_terms if wish.required else ()
    return (
        tuple(_node_term(term, 0) for term in required),
        tuple(
            _node_term(preference.preference, preference.weight) for preference in wish.preferred
        ),
    )


def _check_amount(podset: str, terms: Iterable[model.NodeTerm], tolerations: int) -> None:
    """Raise if nodes are asked so much that one job would hold up the placement of all others."""
    requirements = [
        requirement for term in terms for requirement in (*term.expressions, *term.fields)
    ]
    count, values = (
        len(requirements) + tolerations,
        sum(len(requirement.values) for requirement in requirements),
    )
    if count > REQUIREMENTS_MAX or values > VALUES_MAX:
        raise UndecodableError(
            f"podset {podset}: node affinity and tolerations have {count} requirements and "
            f"{values} values; at most {REQUIREMENTS_MAX} and {VALUES_MAX} are looked for."
        )


def _node_term(term: pods.NodeSelectorTerm, weight: int) -> model.NodeTerm:
    return model.NodeTerm(
        expressions=requirements(term.match_expressions),
        fields=requirements(term.match_fields),
        weight=weight,
    )


def requirements(expressions: Iterable[SelectorRequirement]) -> tuple[model.Requirement, ...]:
    """Return the expressions of a selector as the core matches them."""
    return tuple(
        model.Requirement(
            key=expression.key, operator=expression.operator, values=expression.values
        )
        for expression in expressions
    )


def _claims(spec: pods.PodSpec, field: str) -> tuple[str, ...]:
    named = (claim.get(field) for claim in spec.resource_claims)
    return tuple(str(name) for name in named if name)


def _shape(spec: pods.PodSpec) -> str:
    affinity = spec.affinity or pods.Affinity()
    rest = {
        "ports": [container.ports for container in spec.containers if container.ports],
        "init": [
            init_container.ports for init_container in spec.init_containers if init_container.ports
        ],
        "spread": spec.topology_spread_constraints,
        "claims": spec.resource_claims,
        "pods": [term for term in (affinity.pod_affinity, affinity.pod_anti_affinity) if term],
        "priority": spec.priority or 0,
    }
    if not any(rest.values()):
        return ""
    encoded = msgspec.json.encode(rest, order="sorted")
    return hashlib.sha256(encoded).hexdigest()[:_SHAPE_DIGITS]
