"""Kubernetes' own objects that ingest reads, narrowed to what a decision can depend on."""

from __future__ import annotations

import msgspec

from tidegate.kinds.markers import Quantity
from tidegate.kinds.meta import ObjectMeta, holding


class Namespace(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A Namespace: its labels choose the ClusterQueues that take its workloads."""

    metadata: ObjectMeta = ObjectMeta()


class LimitRangeItem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """One item of a LimitRange."""

    type: str
    max: dict[str, Quantity] = {}
    min: dict[str, Quantity] = {}
    default: dict[str, Quantity] = {}
    default_request: dict[str, Quantity] = {}
    max_limit_request_ratio: dict[str, Quantity] = {}


class LimitRangeSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The items of a LimitRange."""

    limits: tuple[LimitRangeItem, ...] = ()


class LimitRange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Defaults and bounds of a namespace's requests."""

    metadata: ObjectMeta = ObjectMeta()
    spec: LimitRangeSpec = LimitRangeSpec()


class Overhead(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """What a RuntimeClass adds to each pod."""

    pod_fixed: dict[str, Quantity] = {}


class RuntimeClass(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A way to run containers."""

    metadata: ObjectMeta = ObjectMeta()
    overhead: Overhead = Overhead()


class ExactRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Devices of one class."""

    device_class_name: str = ""
    allocation_mode: str = "ExactCount"  # or All
    count: int = 1


class DeviceRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """One request of a claim; without ``exactly`` it is a list of alternatives."""

    name: str = ""
    exactly: ExactRequest | None = None


class DeviceRequests(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The devices of a claim."""

    requests: tuple[DeviceRequest, ...] = ()


class ClaimSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a claim asks for."""

    devices: DeviceRequests = DeviceRequests()


class ClaimTemplateSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The claim that a template makes for each pod."""

    spec: ClaimSpec = ClaimSpec()


class ResourceClaimTemplate(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"
):
    """A claim of devices, made anew for each pod that names it."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ClaimTemplateSpec = ClaimTemplateSpec()


class PriorityClass(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Kubernetes' own priority, which pods name."""

    metadata: ObjectMeta = ObjectMeta()
    value: int = 0
    global_default: bool = False
    preemption_policy: str = ""  # empty: PreemptLowerPriority


class NodeTaint(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A taint as a node bears it; its effect is not checked here."""

    key: str
    value: str = ""
    effect: str = ""


class NodeSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Whether and for whom a node is open."""

    taints: tuple[NodeTaint, ...] = ()
    unschedulable: bool = False


class NodeCondition(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A condition of a node, without the times that heartbeats change."""

    type: str
    status: str


class NodeStatus(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """What a node has to give."""

    allocatable: dict[str, Quantity] = {}
    conditions: tuple[NodeCondition, ...] = ()


class Node(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A node."""

    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def ready(self) -> bool:
        """Tell whether its kubelet says that it is ready."""
        return holding(self.status.conditions, "Ready") is not None
