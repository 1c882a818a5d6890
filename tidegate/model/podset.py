"""A podset as its owner wrote it: pod count, requests, and placement constraints.

Requests stay text here: ``tidegate.core.quota.requests`` applies LimitRanges and RuntimeClasses,
because these are observations that change on their own.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from tidegate.model.texts import parse_signed
from tidegate.model.topology import Taint as Taint  # noqa: PLC0414 - beside what tolerates it
from tidegate.model.topology import TopologyAssignment


class Toleration(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A pod's or a flavor's toleration, with Kubernetes' meaning of empty fields."""

    key: str = ""  # empty with operator Exists: every key
    operator: str = "Equal"  # Equal, Exists, or of numbers Gt, Lt
    value: str = ""
    effect: str = ""  # empty: every effect
    seconds: int | None = None  # tolerationSeconds; written back, never decided on


class Requirement(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One expression of a label selector or of a node affinity term."""

    key: str
    operator: str  # In, NotIn, Exists, DoesNotExist, Gt, Lt
    values: tuple[str, ...] = ()


class NodeTerm(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A node affinity term: all expressions must hold; ``weight`` counts only if preferred."""

    expressions: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()  # matchFields
    weight: int = 0


class LabelSelector(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A label selector; an empty one selects everything, an absent one (None) nothing."""

    labels: dict[str, str] = {}
    expressions: tuple[Requirement, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """Return the keys of the labels that it depends on, in order."""
        return tuple(sorted({*self.labels, *(requirement.key for requirement in self.expressions)}))


class Container(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The requests and limits of one container, as written."""

    requests: dict[str, str] = {}
    limits: dict[str, str] = {}
    sidecar: bool = False  # an init container with restartPolicy Always: runs beside the others


class SliceLayer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A layer of slices: ``size`` consecutive pods share one domain of a level."""

    level: str  # the node label
    size: int


class TopologyRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A podset's topology request; see behaviour.md 12.2."""

    required: str = ""  # the node label of the level
    preferred: str = ""
    unconstrained: bool = False
    group: str = ""
    slice_required: str = ""
    slice_size: int = 0
    layers: tuple[SliceLayer, ...] = ()  # several layers of slices, the outermost first
    index_label: str = ""  # the pods' label with their rank; empty: none
    index_offset: int = 0  # the index of the first pod
    group_index_label: str = ""  # the pods' label with the index of their job, of several jobs
    group_count: int = 0  # the number of jobs


class PodSet(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Identical pods of a workload."""

    name: str = "main"
    count: int = 1
    min_count: int | None = None  # the least count of partial admission
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    pod_resources: Container | None = None  # pod-level requests and limits
    overhead: dict[str, str] = {}
    node_selector: dict[str, str] = {}
    node_affinity: tuple[NodeTerm, ...] = ()  # required; terms are ORed
    preferred_affinity: tuple[NodeTerm, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    runtime_class: str = ""
    priority_class: str = ""  # the pod template's priorityClassName
    topology: TopologyRequest | None = None
    claims: tuple[str, ...] = ()  # ResourceClaimTemplates, one entry for each claim of a pod
    shared_claims: tuple[str, ...] = ()  # ResourceClaims that its pods share: cannot be charged
    devices: dict[str, int] = {}  # the charge of its claims: resource to units of one pod
    claimed: str = ""  # digest of the templates' requests; empty: some template is missing
    shape: str = ""  # digest of other fields of scheduling equivalence (ports, claims, spread)


class PodSetUpdate(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an admission check injects into one podset's template when the job starts."""

    name: str
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    node_selector: dict[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()


class PodSetAssignment(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The flavors, usage and topology assigned to one podset."""

    name: str
    count: int  # pods admitted; below the podset's count only by partial admission
    flavors: dict[str, str] = {}  # resource to flavor
    usage: dict[str, int] = {}  # resource to the podset's total in base units
    topology: TopologyAssignment | None = None  # the nodes of its pods; None: any of the flavors
    delayed_topology: Literal["", "Pending", "Ready"] = ""
    """Pending: its pods are placed once its checks are ready; Ready: they have been."""


def matches_requirement(requirement: Requirement, labels: dict[str, str]) -> bool:
    """Tell whether labels meet one requirement of a selector; an unknown operator never does."""
    value = labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value is not None and value in requirement.values
        case "NotIn":
            return value is None or value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            return (
                value is not None
                and len(requirement.values) == 1
                and matches_comparison(requirement.operator, value, requirement.values[0])
            )
        case _:
            return False


def selector_matches(selector: LabelSelector | None, labels: dict[str, str]) -> bool:
    """Tell whether a selector selects labels; none selects nothing, an empty one everything."""
    if selector is None:
        return False
    if any(labels.get(key) != value for key, value in selector.labels.items()):
        return False
    return all(matches_requirement(expression, labels) for expression in selector.expressions)


def matches_comparison(operator: str, value: str, bound: str) -> bool:
    """Tell whether a whole number is above (Gt) or below (Lt) another; no text is either."""
    number, other = parse_signed(value), parse_signed(bound)
    if number is None or other is None:
        return False
    return number > other if operator == "Gt" else operator == "Lt" and number < other
