"""Facts about definitions (queues, cohorts, flavors, classes, checks, policy), and about nodes.

Every event begins with ``at_us``, UTC microseconds by NATS' timestamps; it never falls.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from tidegate.contracts.observations import LimitRangeItem
from tidegate.model.multikueue import CheckParameters
from tidegate.model.policy import Policy
from tidegate.model.quota import ClusterQueueSpec, CohortSpec, FlavorSpec, LocalQueueSpec, Price
from tidegate.model.topology import NodeSpec


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Root of all events of a ledger."""

    at_us: int  # UTC microseconds


class Fact(Event, frozen=True, kw_only=True):
    """Root of the facts; never written itself."""


class Named(Fact, frozen=True, kw_only=True):
    """A fact about one object."""

    name: str
    namespace: str = ""
    uid: str = ""
    version: int = 0  # resourceVersion


class LedgerOpened(Fact, frozen=True, kw_only=True, tag="LedgerOpened/1"):
    """The first event of a ledger, or of its new identity after a recovery."""

    ledger_id: str
    cluster: str = "local"
    cluster_uid: str = ""  # of the Namespace kube-system: another cluster's is refused
    streams: str = ""  # creation time of the register in the NATS it began on, UTC microseconds
    software: str = ""  # tidegate's version
    author: str = ""  # who recovered it, as given by that person; empty at genesis
    partition: int = 0  # the partition whose ledger it is


class PolicyConfigured(Named, frozen=True, kw_only=True, tag="PolicyConfigured/1"):
    """The configuration of all decisions from this event on."""

    policy: Policy
    rules: tuple[str, ...] = ()


class ClusterQueueDefined(Named, frozen=True, kw_only=True, tag="ClusterQueueDefined/1"):
    """A ClusterQueue was created or changed."""

    spec: ClusterQueueSpec
    created_us: int = 0
    deleting: bool = False
    author: str = ""
    statement: str = ""  # a month that its author closed, "<month>=<SHA-256 of its statement>"


class ClusterQueueRemoved(Named, frozen=True, kw_only=True, tag="ClusterQueueRemoved/1"):
    """A ClusterQueue was deleted."""


class QueueElsewhere(Named, frozen=True, kw_only=True, tag="QueueElsewhere/1"):
    """A ClusterQueue belongs to another partition, by the first observation of its uid."""

    partition: int


class CohortDefined(Named, frozen=True, kw_only=True, tag="CohortDefined/1"):
    """A Cohort was created or changed."""

    spec: CohortSpec
    author: str = ""


class CohortRemoved(Named, frozen=True, kw_only=True, tag="CohortRemoved/1"):
    """A Cohort was deleted; queues that name it have an implicit Cohort."""


class LocalQueueDefined(Named, frozen=True, kw_only=True, tag="LocalQueueDefined/1"):
    """A LocalQueue was created or changed."""

    spec: LocalQueueSpec
    deleting: bool = False
    author: str = ""
    labels: dict[str, str] = {}  # those that metrics.localQueueMetrics selects by, and no others


class LocalQueueRemoved(Named, frozen=True, kw_only=True, tag="LocalQueueRemoved/1"):
    """A LocalQueue was deleted."""

    cluster_queue: str = ""


class FlavorDefined(Named, frozen=True, kw_only=True, tag="FlavorDefined/1"):
    """A ResourceFlavor or its price was created or changed."""

    spec: FlavorSpec
    author: str = ""
    prices: tuple[Price, ...] = ()  # tidegate.dev/price, in order of resource, class, quota and day


class FlavorRemoved(Named, frozen=True, kw_only=True, tag="FlavorRemoved/1"):
    """A ResourceFlavor was deleted."""


class WorkloadPriorityClassDefined(
    Named, frozen=True, kw_only=True, tag="WorkloadPriorityClassDefined/1"
):
    """A WorkloadPriorityClass was created or changed."""

    value: int


class WorkloadPriorityClassRemoved(
    Named, frozen=True, kw_only=True, tag="WorkloadPriorityClassRemoved/1"
):
    """A WorkloadPriorityClass was deleted; workloads keep their priority."""


class PriorityClassDefined(Named, frozen=True, kw_only=True, tag="PriorityClassDefined/1"):
    """A PriorityClass was created or changed."""

    value: int
    is_default: bool = False
    never_preempts: bool = False


class PriorityClassRemoved(Named, frozen=True, kw_only=True, tag="PriorityClassRemoved/1"):
    """A PriorityClass was deleted."""


class NamespaceDefined(Named, frozen=True, kw_only=True, tag="NamespaceDefined/1"):
    """A Namespace was created, or its labels changed."""

    labels: dict[str, str] = {}


class NamespaceRemoved(Named, frozen=True, kw_only=True, tag="NamespaceRemoved/1"):
    """A Namespace was deleted."""


class LimitRangeDefined(Named, frozen=True, kw_only=True, tag="LimitRangeDefined/1"):
    """A LimitRange was created or changed."""

    items: tuple[LimitRangeItem, ...] = ()


class LimitRangeRemoved(Named, frozen=True, kw_only=True, tag="LimitRangeRemoved/1"):
    """A LimitRange was deleted."""


class RuntimeClassDefined(Named, frozen=True, kw_only=True, tag="RuntimeClassDefined/1"):
    """A RuntimeClass was created or changed."""

    overhead: dict[str, str] = {}


class RuntimeClassRemoved(Named, frozen=True, kw_only=True, tag="RuntimeClassRemoved/1"):
    """A RuntimeClass was deleted."""


class CheckDefined(Named, frozen=True, kw_only=True, tag="CheckDefined/1"):
    """An AdmissionCheck was created or changed."""

    controller: str
    active: bool = False
    parameters: CheckParameters | None = None


class CheckRemoved(Named, frozen=True, kw_only=True, tag="CheckRemoved/1"):
    """An AdmissionCheck was deleted."""


class TopologyDefined(Named, frozen=True, kw_only=True, tag="TopologyDefined/1"):
    """A Topology was created or changed."""

    levels: tuple[str, ...] = ()  # node labels, from the top


class TopologyRemoved(Named, frozen=True, kw_only=True, tag="TopologyRemoved/1"):
    """A Topology was deleted."""


class NodeDefined(Named, frozen=True, kw_only=True, tag="NodeDefined/1"):
    """A Node was created, or a field changed that placement depends on."""

    spec: NodeSpec


class NodeRemoved(Named, frozen=True, kw_only=True, tag="NodeRemoved/1"):
    """A Node was deleted."""


class NodePodsReported(Named, frozen=True, kw_only=True, tag="NodePodsReported/1"):
    """The requests of a node's pods without a placement, and the workloads whose pods ended."""

    usage: dict[str, int] = {}  # resource to base units, "pods" among them
    ended: tuple[str, ...] = ()  # workloads whose pods ended, on a node not ready or tainted
    living: tuple[str, ...] | None = None  # workloads whose pods still run there; None: unknown
    claimed: dict[str, dict[str, int]] = {}
    """Workload to the usage of pods that name it, beyond its charge on the node at the time."""


class NodePodsCleared(Named, frozen=True, kw_only=True, tag="NodePodsCleared/1"):
    """A node has no pods without a placement any more."""


DefinitionFact: TypeAlias = (
    LedgerOpened
    | PolicyConfigured
    | ClusterQueueDefined
    | ClusterQueueRemoved
    | QueueElsewhere
    | CohortDefined
    | CohortRemoved
    | LocalQueueDefined
    | LocalQueueRemoved
    | FlavorDefined
    | FlavorRemoved
    | WorkloadPriorityClassDefined
    | WorkloadPriorityClassRemoved
    | PriorityClassDefined
    | PriorityClassRemoved
    | NamespaceDefined
    | NamespaceRemoved
    | LimitRangeDefined
    | LimitRangeRemoved
    | RuntimeClassDefined
    | RuntimeClassRemoved
    | CheckDefined
    | CheckRemoved
    | TopologyDefined
    | TopologyRemoved
    | NodeDefined
    | NodeRemoved
    | NodePodsReported
    | NodePodsCleared
)
