"""The Configuration file as Kueue defines it, v1beta1 and v1beta2, and one section of our own."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from tidegate.model.declaration import Declaration
from tidegate.model.policy import Strategy
from tidegate.service.config.access_providers import AccessProvider

NotNegative = Annotated[int, Meta(ge=0)]


class Expression(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """One expression of a label selector."""

    key: str
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    values: tuple[str, ...] = ()


class Selector(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A label selector."""

    match_labels: dict[str, str] = {}
    match_expressions: tuple[Expression, ...] = ()


class RequeuingSection(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """``waitForPodsReady.requeuingStrategy``."""

    timestamp: Literal["Eviction", "Creation"] = "Eviction"
    backoff_limit_count: NotNegative | None = None
    backoff_base_seconds: NotNegative = 60
    backoff_max_seconds: NotNegative = 3600


class PodsReadySection(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """``waitForPodsReady``; ``enable`` is v1beta1's."""

    enable: bool = False
    timeout: str | None = None  # None: the version's default
    block_admission: bool | None = None
    recovery_timeout: str | None = None
    requeuing_strategy: RequeuingSection = msgspec.field(default_factory=RequeuingSection)


class IntegrationsSection(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """``integrations``; ``podOptions`` is v1beta1's."""

    frameworks: tuple[str, ...] = ("batch/job",)
    external_frameworks: tuple[str, ...] = ()
    label_keys_to_copy: tuple[str, ...] = ()
    pod_options: Any = None


class FairSharingSection(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """``fairSharing``; ``enable`` is v1beta1's."""

    enable: bool = False
    preemption_strategies: tuple[Strategy, ...] = ()


class AdmissionFairSharingSection(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """``admissionFairSharing``."""

    usage_half_life_time: str = "0s"
    usage_sampling_interval: str = "5m"
    resource_weights: dict[str, NotNegative | Annotated[float, Meta(ge=0)]] = {}


class TransformationSection(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """One of ``resources.transformations``."""

    input: str
    strategy: Literal["Retain", "Replace"] = "Retain"
    multiply_by: str = ""
    outputs: dict[str, str | int | float] = {}


class DeviceClassSection(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """One of ``resources.deviceClassMappings``."""

    name: str
    device_class_names: tuple[str, ...]
    sources: Any = None


class ResourcesSection(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """``resources``."""

    exclude_resource_prefixes: tuple[str, ...] = ()
    transformations: tuple[TransformationSection, ...] = ()
    quota_check_strategy: Literal["BlockUndeclared", "IgnoreUndeclared"] = "BlockUndeclared"
    device_class_mappings: tuple[DeviceClassSection, ...] = ()


class LocalQueueMetricsSection(msgspec.Struct, rename="camel"):
    """``metrics.localQueueMetrics``."""

    enable: bool = False
    local_queue_selector: Selector | None = None


class MetricsSection(msgspec.Struct, rename="camel"):
    """``metrics``; where they are served is a service's own setting."""

    enable_cluster_queue_resources: bool = False
    local_queue_metrics: LocalQueueMetricsSection | None = None
    custom_labels: Any = None


class RetentionSection(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """``objectRetentionPolicies.workloads``."""

    after_finished: str | None = None
    after_deactivated_by_kueue: str | None = None


class RetentionsSection(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """``objectRetentionPolicies``."""

    workloads: RetentionSection = msgspec.field(default_factory=RetentionSection)


class IncrementalSection(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """``multiKueue.incrementalDispatcherConfig``."""

    step_size: int | None = None


class ExternalSection(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """``multiKueue.externalFrameworks[]``: a kind of others that goes to worker clusters."""

    name: str


class ClusterProfileSection(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """``multiKueue.clusterProfile``: the plugins that log in to clusters of ClusterProfiles."""

    access_providers: tuple[AccessProvider, ...] = ()
    credentials_providers: tuple[AccessProvider, ...] = ()  # the older name


class MultiKueueSection(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """``multiKueue``; that it is there lets workloads go to worker clusters."""

    gc_interval: str = "1m"
    origin: str = ""
    worker_lost_timeout: str = "15m"
    dispatcher_name: str = ""
    incremental_dispatcher_config: IncrementalSection | None = None
    external_frameworks: tuple[ExternalSection, ...] = ()
    cluster_profile: ClusterProfileSection = msgspec.field(default_factory=ClusterProfileSection)


class TidegateSection(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """``tidegate.dev``: what Kueue's file has no field for."""

    kinds: tuple[Declaration, ...] = ()  # of integrations.externalFrameworks
    disabled_kinds: Literal["Warn", "Deny"] = "Warn"  # what a queued object of one meets


class ConfigurationFile(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """The whole file; what is ``Any`` is not used here."""

    api_version: str
    kind: Literal["Configuration"]
    metadata: Any = None
    namespace: str = ""
    webhook: Any = None
    leader_election: Any = None
    metrics: MetricsSection = msgspec.field(default_factory=MetricsSection)
    health: Any = None
    pprof_bind_address: Any = None
    controller: Any = None
    tls: Any = None
    internal_cert_management: Any = None
    client_connection: Any = None
    visibility_server: Any = None
    queue_visibility: Any = None
    multi_kueue: MultiKueueSection | None = None
    manage_jobs_without_queue_name: bool = False
    managed_jobs_namespace_selector: Selector | None = None
    wait_for_pods_ready: PodsReadySection = msgspec.field(default_factory=PodsReadySection)
    integrations: IntegrationsSection = msgspec.field(default_factory=IntegrationsSection)
    fair_sharing: FairSharingSection | None = None
    admission_fair_sharing: AdmissionFairSharingSection | None = None
    resources: ResourcesSection = msgspec.field(default_factory=ResourcesSection)
    object_retention_policies: RetentionsSection = msgspec.field(default_factory=RetentionsSection)
    feature_gates: dict[str, bool] = {}
    tidegate: TidegateSection = msgspec.field(default_factory=TidegateSection, name="tidegate.dev")
