"""Pods and their templates: only what quota, placement and scheduling equivalence look at."""

from __future__ import annotations

from typing import Any, ClassVar, TypeAlias

import msgspec

from tidegate.kinds.markers import Int64, Quantity
from tidegate.kinds.meta import ObjectMeta, SelectorRequirement

Opaque: TypeAlias = tuple[dict[str, Any], ...]
"""Objects that are compared and never read."""


class Resources(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """What a container or a pod asks for."""

    open: ClassVar[bool] = True
    requests: dict[str, Quantity] = {}
    limits: dict[str, Quantity] = {}


class Container(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A container of a template."""

    open: ClassVar[bool] = True
    name: str = ""
    resources: Resources = Resources()
    restart_policy: str = ""  # Always on an init container makes it a sidecar
    ports: Opaque = ()


class NodeSelectorTerm(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"
):
    """Expressions that must all hold of a node."""

    open: ClassVar[bool] = True
    match_expressions: tuple[SelectorRequirement, ...] = ()
    match_fields: tuple[SelectorRequirement, ...] = ()


class NodeSelector(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Terms of which one must hold."""

    open: ClassVar[bool] = True
    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class PreferredTerm(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A term that is wished for."""

    open: ClassVar[bool] = True
    weight: int = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Which nodes a pod needs or likes."""

    open: ClassVar[bool] = True
    required: NodeSelector | None = msgspec.field(
        default=None, name="requiredDuringSchedulingIgnoredDuringExecution"
    )
    preferred: tuple[PreferredTerm, ...] = msgspec.field(
        default=(), name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class Affinity(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Affinity of a template; what concerns other pods is only compared."""

    open: ClassVar[bool] = True
    node_affinity: NodeAffinity | None = None
    pod_affinity: dict[str, Any] | None = None
    pod_anti_affinity: dict[str, Any] | None = None


class Toleration(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A taint that a pod or a flavor puts up with."""

    key: str = ""
    operator: str = ""  # empty: Equal
    value: str = ""
    effect: str = ""
    toleration_seconds: Int64 | None = None


class PodSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A template's spec; everything else in it is kept by the API server and never read here."""

    open: ClassVar[bool] = True
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    resources: Resources | None = None
    overhead: dict[str, Quantity] = {}
    node_selector: dict[str, str] = {}
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


class TemplateMeta(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A template's metadata."""

    open: ClassVar[bool] = True
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class PodTemplateSpec(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"
):
    """A pod template, as jobs and Workloads hold it."""

    open: ClassVar[bool] = True
    metadata: TemplateMeta = TemplateMeta()
    spec: PodSpec = PodSpec()


class PodCondition(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A condition of a pod, without Kubernetes' promise that it has a reason."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


class PodStatus(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """How a pod stands."""

    phase: str = ""
    reason: str = ""
    message: str = ""
    conditions: tuple[PodCondition, ...] = ()


class Pod(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A pod."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()
