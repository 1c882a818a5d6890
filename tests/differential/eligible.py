"""Which flavors a podset may use at all, written a second time to check the core against."""

from __future__ import annotations

from collections.abc import Iterable

from tidegate.model.podset import NodeTerm, PodSet, Requirement, Taint, Toleration
from tidegate.model.quota import FlavorSpec


def eligible(podset: PodSet, flavor: FlavorSpec) -> bool:
    """Tell whether a podset tolerates a flavor's taints and selects its labels.

    Only keys that the flavor defines are looked at; a term without any matches everything.
    """
    tolerations = (*podset.tolerations, *flavor.tolerations)
    if not all(_tolerated(taint, tolerations) for taint in flavor.node_taints):
        return False
    labels = flavor.node_labels
    if any(labels.get(key, value) != value for key, value in podset.node_selector.items()):
        return False
    terms = [_known(term, labels) for term in podset.node_affinity]
    return not terms or any(
        all(_holds(requirement, labels) for requirement in term) for term in terms
    )


def _tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    return taint.effect == "PreferNoSchedule" or any(
        _tolerates(toleration, taint) for toleration in tolerations
    )


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect not in {"", taint.effect} or toleration.key not in {"", taint.key}:
        return False
    return toleration.operator == "Exists" or (
        toleration.key != "" and toleration.value == taint.value
    )


def _known(term: NodeTerm, labels: dict[str, str]) -> list[Requirement]:
    return [expression for expression in term.expressions if expression.key in labels]


def _holds(requirement: Requirement, labels: dict[str, str]) -> bool:
    value = labels[requirement.key]
    match requirement.operator:
        case "In":
            return value in requirement.values
        case "NotIn":
            return value not in requirement.values
        case "Gt":
            return int(value) > int(requirement.values[0])
        case "Lt":
            return int(value) < int(requirement.values[0])
        case operator:
            return operator == "Exists"  # the key is there
