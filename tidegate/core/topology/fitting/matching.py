"""Whether pods may run on a node: taints, node selector, required affinity; and its score.

Applies only if the lowest level of a topology is the hostname.

Source: behaviour.md 12.1, 12.3.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from tidegate.core.flavors.eligibility import is_tolerated
from tidegate.core.topology.fitting.tree import Node
from tidegate.model.podset import NodeTerm, PodSet, Toleration, matches_requirement
from tidegate.model.topology import Taint

REPELLING = ("NoSchedule", "NoExecute")


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """The requirements of pods on a node, except resources."""

    tolerations: tuple[Toleration, ...] = ()
    selector: tuple[tuple[str, str], ...] = ()
    affinity: tuple[NodeTerm, ...] = ()  # required; terms are ORed
    preferred: tuple[NodeTerm, ...] = ()  # used only with its feature gate


def filter_of(podset: PodSet, tolerations: Iterable[Toleration], *, preferred: bool) -> Filter:
    """Return the requirements of a podset's pods on a node; ``tolerations``: of its flavor."""
    return Filter(
        tolerations=(*podset.tolerations, *tolerations),
        selector=tuple(sorted(podset.node_selector.items())),
        affinity=podset.node_affinity,
        preferred=podset.preferred_affinity if preferred else (),
    )


def unsuitable(request_filter: Filter, node: Node) -> str:
    """Return the cause that excludes pods from a node, as counted in explanations; "" if none."""
    for taint in node.spec.taints:
        if repels(taint, request_filter.tolerations):
            return f"taint {taint_text(taint)}"
    labels = node.spec.labels
    if any(labels.get(key) != value for key, value in request_filter.selector):
        return "nodeSelector"
    if request_filter.affinity and not any(
        _matches(term, node) for term in request_filter.affinity
    ):
        return "affinity"
    return ""


def repels(taint: Taint, tolerations: tuple[Toleration, ...]) -> bool:
    """Tell whether a taint repels pods with these tolerations."""
    return taint.effect in REPELLING and not is_tolerated(taint, tolerations)


def taint_text(taint: Taint) -> str:
    """Return a taint as Kubernetes writes it: ``key=value:effect``."""
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else _bare(taint)


def score(request_filter: Filter, node: Node) -> int:
    """Return the sum of the weights of the preferred terms that a node matches."""
    return sum(term.weight for term in request_filter.preferred if _matches(term, node))


def _bare(taint: Taint) -> str:
    return f"{taint.key}:{taint.effect}"


def _matches(term: NodeTerm, node: Node) -> bool:
    if not term.expressions and not term.fields:
        return False  # an empty term selects no node
    fields = {"metadata.name": node.name}
    return all(
        matches_requirement(expression, node.spec.labels) for expression in term.expressions
    ) and all(matches_requirement(field, fields) for field in term.fields)
