"""Pods and their templates: only what quota, placement and scheduling equivalence look at."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, TypeAlias

import msgspec

from tidegate.kinds.markers import (
    Int64,
    Quantity,
    map_list,
    required_for_writers,
    schema_keywords,
)
from tidegate.kinds.meta import ApiType, ObjectMeta, SelectorRequirement

Opaque: TypeAlias = tuple[dict[str, Any], ...]
"""Objects that are compared and never read."""


class Resources(ApiType, frozen=True, kw_only=True):
    """What a container or a pod asks for."""

    open: ClassVar[bool] = True
    requests: dict[str, Quantity] = {}
    limits: dict[str, Quantity] = {}


class Container(ApiType, frozen=True, kw_only=True):
    """A container of a template."""

    open: ClassVar[bool] = True
    name: Annotated[str, required_for_writers()] = ""
    resources: Resources = Resources()
    restart_policy: str = ""  # Always on an init container makes it a sidecar
    ports: Opaque = ()


class NodeSelectorTerm(ApiType, frozen=True, kw_only=True):
    """Expressions that must all hold of a node."""

    open: ClassVar[bool] = True
    match_expressions: tuple[SelectorRequirement, ...] = ()
    match_fields: tuple[SelectorRequirement, ...] = ()


class NodeSelector(ApiType, frozen=True, kw_only=True):
    """Terms of which one must hold."""

    open: ClassVar[bool] = True
    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class PreferredTerm(ApiType, frozen=True, kw_only=True):
    """A term that is wished for."""

    open: ClassVar[bool] = True
    weight: int = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(ApiType, frozen=True, kw_only=True):
    """Which nodes a pod needs or likes."""

    open: ClassVar[bool] = True
    required: NodeSelector | None = msgspec.field(
        default=None, name="requiredDuringSchedulingIgnoredDuringExecution"
    )
    preferred: tuple[PreferredTerm, ...] = msgspec.field(
        default=(), name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class Affinity(ApiType, frozen=True, kw_only=True):
    """Affinity of a template; what concerns other pods is only compared."""

    open: ClassVar[bool] = True
    node_affinity: NodeAffinity | None = None
    pod_affinity: dict[str, Any] | None = None
    pod_anti_affinity: dict[str, Any] | None = None


class Toleration(ApiType, frozen=True, kw_only=True):
    """A taint that a pod or a flavor puts up with."""

    key: str = ""
    operator: str = ""  # empty: Equal
    value: str = ""
    effect: str = ""
    toleration_seconds: Int64 | None = None


class PodSpec(ApiType, frozen=True, kw_only=True):
    """A template's spec; everything else in it is kept by the API server and never read here."""

    open: ClassVar[bool] = True
    containers: Annotated[tuple[Container, ...], map_list("name")] = ()
    init_containers: Annotated[tuple[Container, ...], map_list("name")] = ()
    resources: Resources | None = None
    overhead: dict[str, Quantity] = {}
    node_selector: Annotated[
        dict[str, str], schema_keywords(**{"x-kubernetes-map-type": "atomic"})
    ] = {}
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    runtime_class_name: str = ""
    priority_class_name: str = ""
    priority: int | None = None
    topology_spread_constraints: Opaque = ()
    resource_claims: Opaque = ()
    restart_policy: str = ""
    node_name: str = ""
    scheduling_gates: Opaque = ()


class TemplateMeta(ApiType, frozen=True, kw_only=True):
    """A template's metadata."""

    open: ClassVar[bool] = True
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class PodTemplateSpec(ApiType, frozen=True, kw_only=True):
    """A pod template, as jobs and Workloads hold it."""

    open: ClassVar[bool] = True
    metadata: TemplateMeta = TemplateMeta()
    spec: PodSpec = PodSpec()


class PodCondition(ApiType, frozen=True, kw_only=True):
    """A condition of a pod, without Kubernetes' promise that it has a reason."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


class PodStatus(ApiType, frozen=True, kw_only=True):
    """How a pod stands."""

    phase: str = ""
    reason: str = ""
    message: str = ""
    conditions: tuple[PodCondition, ...] = ()


class Pod(ApiType, frozen=True, kw_only=True):
    """A pod."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()
