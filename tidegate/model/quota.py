"""Specs of the objects that define quota and budgets: amounts are integers in base units."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

import msgspec

from tidegate.model.calendar import Period
from tidegate.model.ids import FlavorResource
from tidegate.model.podset import LabelSelector, Taint, Toleration

QueueingStrategy = Literal["StrictFIFO", "BestEffortFIFO"]
StopPolicy = Literal["None", "Hold", "HoldAndDrain"]
PricedQuota = Literal["", "own", "borrowed"]
Placement = Literal["stay", "any"]
Fungibility = Literal["MayStopSearch", "TryNextFlavor"]
WEIGHT_ONE = 1_000_000_000
"""A fair-sharing weight of 1: weights are integers in 1e-9."""


class Budget(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The usage that workloads of a ClusterQueue, or of a Cohort's queues, may have in a period."""

    resource: str
    hours: int  # base units times hours: milli-CPU hours, byte hours, …
    period: Period = "month"
    hard: bool = False  # no further workload is admitted once it is spent


class Price(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The price of a resource of a flavor for an hour; no decision depends on it."""

    resource: str
    cost: str  # decimal, as written: of one core, or of ``units`` units
    currency: str  # ISO 4217
    units: int = 1  # 1 << 30: the price is of a gibibyte
    priority_class: str = ""  # for its workloads only; empty: for all without a price of their own
    quota: PricedQuota = ""  # for usage within nominal quota, or above it; empty: both
    begin: str = ""  # the first UTC day on which it is valid; empty: the day on which it is set
    end: str = ""  # the first UTC day on which it is not valid; empty: not known yet


class Quota(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Quota of one flavor-resource, in base units (milli-CPU, bytes, …)."""

    nominal: int
    borrowing_limit: int | None = None  # None: no limit within the cohort
    lending_limit: int | None = None  # None: all of it may be lent


class FlavorQuotas(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One flavor of a resource group."""

    flavor: str
    quotas: dict[str, Quota] = {}  # by resource


class ResourceGroup(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Resources that always come from one flavor together; flavors in order of preference."""

    resources: tuple[str, ...] = ()
    flavors: tuple[FlavorQuotas, ...] = ()


def quotas_of(groups: Iterable[ResourceGroup]) -> Iterator[tuple[FlavorResource, Quota]]:
    """Yield each quota of some groups with its flavor and resource, in their order."""
    for group in groups:
        for flavor in group.flavors:
            for resource, quota in flavor.quotas.items():
                yield FlavorResource(flavor.flavor, resource), quota


class FlavorFungibility(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """When the search over flavors may stop; see behaviour.md 5.4."""

    when_can_borrow: Fungibility = "MayStopSearch"
    when_can_preempt: Fungibility = "TryNextFlavor"
    preference: Literal["BorrowingOverPreemption", "PreemptionOverBorrowing"] | None = None


class Preemption(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which workloads a ClusterQueue's workloads may preempt; see behaviour.md 6.1."""

    within_cluster_queue: Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority"] = "Never"
    reclaim_within_cohort: Literal["Never", "LowerPriority", "Any"] = "Never"
    borrow_within_cohort: Literal["Never", "LowerPriority"] = "Never"
    borrow_max_priority: int | None = None  # maxPriorityThreshold


class CheckRule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An admission check of a ClusterQueue; no flavors means all."""

    name: str
    on_flavors: tuple[str, ...] = ()


class ClusterQueueSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A ClusterQueue's spec, with v1beta2's defaults applied."""

    cohort: str = ""
    groups: tuple[ResourceGroup, ...] = ()
    strategy: QueueingStrategy = "BestEffortFIFO"
    namespace_selector: LabelSelector | None = None  # None selects no namespace
    fungibility: FlavorFungibility = FlavorFungibility()
    preemption: Preemption = Preemption()
    checks: tuple[CheckRule, ...] = ()
    stop_policy: StopPolicy = "None"
    weight: int = WEIGHT_ONE  # fair-sharing weight in 1e-9
    usage_based_admission: bool = False  # admissionScope UsageBasedAdmissionFairSharing
    concurrent: bool = False  # a job is tried on all flavors at once, by a variant for each
    migrates: bool = True  # concurrent admission: a better variant replaces the admitted one
    last_acceptable_flavor: str = ""  # the last flavor to which a job migrates; empty: any
    min_runtime_us: int = 0  # tidegate.dev/min-runtime: how long admitted before preemptable
    budgets: tuple[Budget, ...] = ()  # tidegate.dev/budget, in order of their resources


COHORTS_MAX = 64
"""Cohorts above a ClusterQueue; those below a longer chain count as their own ancestors."""


class CohortSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A Cohort's spec."""

    parent: str = ""  # empty: a root
    groups: tuple[ResourceGroup, ...] = ()
    weight: int = WEIGHT_ONE
    budgets: tuple[Budget, ...] = ()  # of all ClusterQueues below it together


class LocalQueueSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A LocalQueue's spec."""

    cluster_queue: str
    stop_policy: StopPolicy = "None"
    weight: int = WEIGHT_ONE
    placement: Placement = "stay"
    """Annotation tidegate.dev/placement. ``stay``: a job runs in the cluster of its creation.
    ``any``: it runs as a copy in another member cluster that has quota for it."""


class FlavorSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A ResourceFlavor's spec."""

    node_labels: dict[str, str] = {}
    node_taints: tuple[Taint, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    topology: str = ""
    clusters: tuple[str, ...] = ()  # clusters in which it exists; empty: the ledger's own
    stop_policies: dict[str, StopPolicy] = {}  # by cluster: those that are cordoned or drained
