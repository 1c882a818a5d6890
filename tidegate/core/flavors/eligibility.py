"""Whether a podset's pods may run on a flavor's nodes: taints, node selector, node affinity.

Only the flavor's own labels and taints count, not real nodes, and of a pod's selectors only the
keys that the flavor defines.

Source: behaviour.md 5.2.
"""

from __future__ import annotations

from collections.abc import Iterable

from tidegate.model.podset import (
    NodeTerm,
    PodSet,
    Taint,
    Toleration,
    matches_comparison,
    matches_requirement,
)
from tidegate.model.quota import FlavorSpec

_REPELLING = ("NoSchedule", "NoExecute")


def flavor_mismatch(podset: PodSet, flavor: FlavorSpec) -> str:
    """Return why a podset's pods may not run on a flavor, without its name; "" if they may."""
    tolerations = (*podset.tolerations, *flavor.tolerations)
    for taint in flavor.node_taints:
        if taint.effect in _REPELLING and not is_tolerated(taint, tolerations):
            text = f"{taint.key}={taint.value}" if taint.value else taint.key
            return f"untolerated taint {text}:{taint.effect}"
    labels = flavor.node_labels
    for key, value in podset.node_selector.items():
        if key in labels and labels[key] != value:
            return "node selector or affinity not matched"
    if podset.node_affinity and not _matches_affinity(podset.node_affinity, labels):
        return "node selector or affinity not matched"
    return ""


def requests_topology(podset: PodSet) -> bool:
    """Tell whether a podset requests a topology: required, preferred, unconstrained or slices."""
    topology_request = podset.topology
    if topology_request is None:
        return False
    named = (
        topology_request.required or topology_request.preferred or topology_request.unconstrained
    )
    return bool(named or topology_request.slice_required or topology_request.layers)


def is_tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    """Tell whether one of these tolerations tolerates a taint."""
    return any(_tolerates(toleration, taint) for toleration in tolerations)


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    match toleration.operator:
        case "Exists":
            return True
        case "" | "Equal":
            return bool(toleration.key) and toleration.value == taint.value
        case _:
            return matches_comparison(toleration.operator, taint.value, toleration.value)


def _matches_affinity(terms: tuple[NodeTerm, ...], labels: dict[str, str]) -> bool:
    """Tell whether labels match any term; a term left without expressions matches all."""
    return any(
        all(
            matches_requirement(expression, labels)
            for expression in term.expressions
            if expression.key in labels
        )
        for term in terms
    )
