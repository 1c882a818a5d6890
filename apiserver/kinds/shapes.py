"""The types of the fields of built-in kinds that this server looks at.

A field of another type is refused with 400, as the real server's decoder does; fields that are not
named here are kept as they come. Nothing is read through these types: they only judge.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

Quantity: TypeAlias = str | int | float
Quantities: TypeAlias = dict[str, Quantity]
Texts: TypeAlias = dict[str, str]


class Shape(msgspec.Struct, frozen=True, rename="camel"):
    """Root of the shapes: every field is optional unless marked as required."""


class Owner(Shape, frozen=True):
    """An owner reference."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class Metadata(Shape, frozen=True):
    """The metadata of every object."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: Texts = {}
    annotations: Texts = {}
    finalizers: list[str] = []
    owner_references: list[Owner] = []


class Named(Shape, frozen=True):
    """Anything of a list whose elements have names, such as a port or a gate."""

    name: str = ""


class Resources(Shape, frozen=True):
    """The resources of a container."""

    limits: Quantities = {}
    requests: Quantities = {}


class Container(Shape, frozen=True):
    """A container of a pod."""

    name: str = ""
    image: str = ""
    restart_policy: str = ""
    ports: list[Named] = []
    env: list[Named] = []
    resources: Resources = Resources()


class Requirement(Shape, frozen=True):
    """One demand on a node's labels."""

    key: str
    operator: str
    values: list[str] = []


class Term(Shape, frozen=True):
    """Demands that must hold together."""

    match_expressions: list[Requirement] = []
    match_fields: list[Requirement] = []


class Terms(Shape, frozen=True):
    """Demands of which one must hold."""

    node_selector_terms: list[Term]


class NodeAffinity(Shape, frozen=True, rename=None):
    """The part of a node affinity that the scheduler must keep to."""

    requiredDuringSchedulingIgnoredDuringExecution: Terms | None = None  # noqa: N815 - the wire's


class Affinity(Shape, frozen=True):
    """A pod's affinities; those between pods are not looked into."""

    node_affinity: NodeAffinity = NodeAffinity()
    pod_affinity: dict[str, Any] = {}
    pod_anti_affinity: dict[str, Any] = {}


class Toleration(Shape, frozen=True):
    """A taint that a pod bears."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class PodSpec(Shape, frozen=True):
    """The spec of a pod."""

    containers: list[Container] = []
    init_containers: list[Container] = []
    restart_policy: str = ""
    node_name: str = ""
    node_selector: Texts = {}
    tolerations: list[Toleration] = []
    scheduling_gates: list[Named] = []
    affinity: Affinity = Affinity()
    topology_spread_constraints: list[dict[str, Any]] = []
    priority_class_name: str = ""
    scheduler_name: str = ""
    overhead: Quantities = {}
    termination_grace_period_seconds: int = 0


class Condition(Shape, frozen=True):
    """A condition of a status."""

    type: str
    status: str


class PodStatus(Shape, frozen=True):
    """The status of a pod."""

    phase: str = ""
    conditions: list[Condition] = []
    container_statuses: list[dict[str, Any]] = []


class Pod(Shape, frozen=True):
    """A pod."""

    metadata: Metadata = Metadata()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class Template(Shape, frozen=True):
    """A pod template."""

    metadata: Metadata = Metadata()
    spec: PodSpec = PodSpec()


class Selector(Shape, frozen=True):
    """A label selector."""

    match_labels: Texts = {}


class JobSpec(Shape, frozen=True):
    """The spec of a Job."""

    parallelism: int = 0
    completions: int = 0
    backoff_limit: int = 0
    active_deadline_seconds: int = 0
    ttl_seconds_after_finished: int = 0
    suspend: bool = False
    manual_selector: bool = False
    completion_mode: str = ""
    managed_by: str = ""
    pod_replacement_policy: str = ""
    selector: Selector = Selector()
    template: Template = Template()


class JobStatus(Shape, frozen=True):
    """The status of a Job."""

    active: int = 0
    ready: int = 0
    terminating: int = 0
    succeeded: int = 0
    failed: int = 0
    start_time: str = ""
    completion_time: str = ""
    completed_indexes: str = ""
    conditions: list[Condition] = []


class Job(Shape, frozen=True):
    """A batch/v1 Job."""

    metadata: Metadata = Metadata()
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()


class Taint(Shape, frozen=True):
    """A taint, which keeps pods off a node."""

    key: str
    effect: str
    value: str = ""


class NodeSpec(Shape, frozen=True):
    """The spec of a node."""

    taints: list[Taint] = []
    unschedulable: bool = False


class NodeStatus(Shape, frozen=True):
    """The status of a node."""

    capacity: Quantities = {}
    allocatable: Quantities = {}
    conditions: list[Condition] = []


class Node(Shape, frozen=True):
    """A node."""

    metadata: Metadata = Metadata()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class AnyObject(Shape, frozen=True):
    """Any other object."""

    metadata: Metadata = Metadata()
