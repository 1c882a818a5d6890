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
    return not terms or any(all(_holds(one, labels) for one in term) for term in terms)


def _tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    return taint.effect == "PreferNoSchedule" or any(_tolerates(one, taint) for one in tolerations)


def _tolerates(one: Toleration, taint: Taint) -> bool:
    if one.effect not in {"", taint.effect} or one.key not in {"", taint.key}:
        return False
    return one.operator == "Exists" or (one.key != "" and one.value == taint.value)


def _known(term: NodeTerm, labels: dict[str, str]) -> list[Requirement]:
    return [one for one in term.expressions if one.key in labels]


def _holds(one: Requirement, labels: dict[str, str]) -> bool:
    value = labels[one.key]
    match one.operator:
        case "In":
            return value in one.values
        case "NotIn":
            return value not in one.values
        case "Gt":
            return int(value) > int(one.values[0])
        case "Lt":
            return int(value) < int(one.values[0])
        case operator:
            return operator == "Exists"  # the key is there
