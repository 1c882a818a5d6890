"""Kubernetes' own objects that ingest reads, narrowed to what a decision can depend on."""

from __future__ import annotations

import msgspec

from tidegate.kinds import names
from tidegate.kinds.markers import Quantity
from tidegate.kinds.meta import ApiType, ObjectMeta
from tidegate.kinds.pods import Container, Resources, Toleration
from tidegate.model.texts import parse_whole


class Namespace(ApiType, frozen=True, kw_only=True):
    """A Namespace: its labels choose the ClusterQueues that take its workloads."""

    metadata: ObjectMeta = ObjectMeta()


class LimitRangeItem(ApiType, frozen=True, kw_only=True):
    """One item of a LimitRange."""

    type: str
    max: dict[str, Quantity] = {}
    min: dict[str, Quantity] = {}
    default: dict[str, Quantity] = {}
    default_request: dict[str, Quantity] = {}
    max_limit_request_ratio: dict[str, Quantity] = {}


class LimitRangeSpec(ApiType, frozen=True, kw_only=True):
    """The items of a LimitRange."""

    limits: tuple[LimitRangeItem, ...] = ()


class LimitRange(ApiType, frozen=True, kw_only=True):
    """Defaults and bounds of a namespace's requests."""

    metadata: ObjectMeta = ObjectMeta()
    spec: LimitRangeSpec = LimitRangeSpec()


class Overhead(ApiType, frozen=True, kw_only=True):
    """What a RuntimeClass adds to each pod."""

    pod_fixed: dict[str, Quantity] = {}


class RuntimeClass(ApiType, frozen=True, kw_only=True):
    """A way to run containers."""

    metadata: ObjectMeta = ObjectMeta()
    overhead: Overhead = Overhead()


class ExactRequest(ApiType, frozen=True, kw_only=True):
    """Devices of one class."""

    device_class_name: str = ""
    allocation_mode: str = "ExactCount"  # or All
    count: int = 1


class DeviceRequest(ApiType, frozen=True, kw_only=True):
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


class ResourceClaimTemplate(ApiType, frozen=True, kw_only=True):
    """A claim of devices, made anew for each pod that names it."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ClaimTemplateSpec = ClaimTemplateSpec()


class PriorityClass(ApiType, frozen=True, kw_only=True):
    """Kubernetes' own priority, which pods name."""

    metadata: ObjectMeta = ObjectMeta()
    value: int = 0
    global_default: bool = False
    preemption_policy: str = ""  # empty: PreemptLowerPriority


class NodeTaint(ApiType, frozen=True, kw_only=True):
    """A taint as a node bears it; its effect is not checked here."""

    key: str
    value: str = ""
    effect: str = ""


class NodeSpec(ApiType, frozen=True, kw_only=True):
    """Whether a node is schedulable, and its taints."""

    taints: tuple[NodeTaint, ...] = ()
    unschedulable: bool = False


class NodeCondition(ApiType, frozen=True, kw_only=True):
    """A condition of a node, without the times that heartbeats change."""

    type: str
    status: str


class NodeStatus(ApiType, frozen=True, kw_only=True):
    """What a node has to give."""

    allocatable: dict[str, Quantity] = {}
    conditions: tuple[NodeCondition, ...] = ()


class Node(ApiType, frozen=True, kw_only=True):
    """A node."""

    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def is_ready(self) -> bool | None:
        """Return whether its kubelet reports it ready; None: it never reported."""
        ready = [condition for condition in self.status.conditions if condition.type == "Ready"]
        return ready[0].status == "True" if ready else None


class PlacedAnnotations(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename={
        "workload": names.WORKLOAD,
        "required": names.REQUIRED_TOPOLOGY,
        "preferred": names.PREFERRED_TOPOLOGY,
        "unconstrained": names.UNCONSTRAINED_TOPOLOGY,
        "slice_required": names.SLICE_REQUIRED_TOPOLOGY,
        "slice_constraints": names.SLICE_CONSTRAINTS,
    },
):
    """Those of a pod's annotations that say whether a topology placed it."""

    workload: str | None = None
    required: str | None = None
    preferred: str | None = None
    unconstrained: str | None = None
    slice_required: str | None = None
    slice_constraints: str | None = None

    @property
    def is_placed_by_topology(self) -> bool:
        """Return whether a topology placed the pod, for a Workload that is charged for it.

        Such a pod bears a wish: its owner's, or that of the start which placed it without one. What
        was started names its Workload even if no topology placed it.
        """
        wishes = (
            self.required,
            self.preferred,
            self.unconstrained,
            self.slice_required,
            self.slice_constraints,
        )
        return self.workload is not None and any(override is not None for override in wishes)


class PodMeta(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The metadata of a pod that is only counted."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    deletion_timestamp: str | None = None
    annotations: PlacedAnnotations = PlacedAnnotations()

    @property
    def version(self) -> int:
        """Return resourceVersion as the integer that it is compared as; 0 if there is none."""
        return parse_whole(self.resource_version) or 0

    @property
    def is_deleting(self) -> bool:
        """Return whether deletion was requested."""
        return self.deletion_timestamp is not None


class PodRequests(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a pod takes of which node, and which taints it puts up with."""

    node_name: str = ""
    tolerations: tuple[Toleration, ...] = ()
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    resources: Resources | None = None
    overhead: dict[str, Quantity] = {}


class PodPhase(msgspec.Struct, frozen=True, kw_only=True):
    """How far a pod is."""

    phase: str = ""


class BoundPod(msgspec.Struct, frozen=True, kw_only=True):
    """A pod on a node: there may be many, so nothing else is read of it."""

    metadata: PodMeta = PodMeta()
    spec: PodRequests = PodRequests()
    status: PodPhase = PodPhase()
