"""The controller's configuration that decisions depend on, as one frozen Struct.

It enters the ledger as ``PolicyConfigured``, so that history is decided again under the policy of
its time.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from tidegate.model.multikueue import MultiKueuePolicy

Strategy = Literal["LessThanOrEqualToFinalShare", "LessThanInitialShare"]
DEFAULT_STRATEGIES: tuple[Strategy, ...] = ("LessThanOrEqualToFinalShare", "LessThanInitialShare")


class AdmissionFairSharing(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Fair sharing between the LocalQueues of a ClusterQueue; see behaviour.md 11."""

    half_life_us: int
    sampling_interval_us: int = 300_000_000
    resource_weights: dict[str, str] = {}  # decimal text; a resource not named weighs 1


class Transformation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A resource that is charged as other resources; see behaviour.md 1."""

    input: str
    strategy: Literal["Retain", "Replace"] = "Retain"
    multiply_by: str = ""
    outputs: dict[str, str] = {}  # resource to quantity


class PodsReady(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """waitForPodsReady; see behaviour.md 10."""

    timeout_us: int = 1_800_000_000
    recovery_timeout_us: int | None = None  # None: as timeout_us; 0: none
    block_admission: bool = False
    requeuing_timestamp: Literal["Eviction", "Creation"] = "Eviction"
    backoff_limit_count: int | None = None
    backoff_base_us: int = 60_000_000
    backoff_max_us: int = 3_600_000_000


class Policy(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything of the configuration that a decision can depend on."""

    rules: int = 1  # the version of the rules (tidegate.core.decide)
    compatibility: Literal["tidegate", "kueue"] = "tidegate"  # kueue: with its preemption circles
    fair_sharing: tuple[Strategy, ...] = ()  # the strategies in order; empty: classic preemption
    admission_fair_sharing: AdmissionFairSharing | None = None
    pods_ready: PodsReady | None = None
    gates: dict[str, bool] = {}  # Kueue's feature gates where they differ from its defaults
    exclude_resource_prefixes: tuple[str, ...] = ()
    transformations: tuple[Transformation, ...] = ()
    ignore_undeclared: bool = False  # resources.quotaCheckStrategy: IgnoreUndeclared
    manage_jobs_without_queue_name: bool = False
    repair_after_us: int = 10_000_000  # how long a job may differ before its order is repeated
    multikueue: MultiKueuePolicy | None = None  # None: not supported
    member_clusters: tuple[str, ...] = ()  # clusters whose jobs are in this ledger, too
    retain_finished_us: int | None = None
    retain_deactivated_us: int | None = None
