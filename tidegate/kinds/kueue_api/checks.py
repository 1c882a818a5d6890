"""AdmissionCheck, ProvisioningRequestConfig and MultiKueue's kinds in v1beta2."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from tidegate.kinds.markers import (
    LABEL_PATTERN,
    NAME_PATTERN,
    Int32,
    Rule,
    list_of_type,
    map_list,
    schema_keywords,
    with_rules,
)
from tidegate.kinds.meta import ApiObject, ApiType, Conditions
from tidegate.model.texts import QUALIFIED_PATTERN


class CheckParameters(ApiType, frozen=True, kw_only=True):
    """The object that configures a check, of a kind its controller knows."""

    api_group: Annotated[str, schema_keywords(minLength=1, maxLength=253, pattern=NAME_PATTERN)]
    kind: Annotated[
        str,
        schema_keywords(
            minLength=1, maxLength=63, pattern=r"^[A-Za-z]([-A-Za-z0-9]*[A-Za-z0-9])?$"
        ),
    ]
    name: Annotated[str, schema_keywords(minLength=1, maxLength=63, pattern=LABEL_PATTERN)]


class AdmissionCheckSpec(ApiType, frozen=True, kw_only=True):
    """The controller that decides the check."""

    controller_name: Annotated[
        str,
        with_rules(
            Rule("self == oldSelf", "controllerName is immutable"), minLength=1, maxLength=253
        ),
    ]
    parameters: CheckParameters | None = None


class AdmissionCheckStatus(ApiType, frozen=True, kw_only=True):
    """The status of an AdmissionCheck: whether its controller is active."""

    conditions: Conditions = ()


class AdmissionCheck(ApiObject, frozen=True, kw_only=True):
    """Something that must agree, after quota is reserved, before a workload may run."""

    spec: AdmissionCheckSpec
    status: AdmissionCheckStatus = AdmissionCheckStatus()


class RetryStrategy(ApiType, frozen=True, kw_only=True):
    """The retries of a failed ProvisioningRequest."""

    backoff_limit_count: Int32 = 3
    backoff_base_seconds: Int32 = 60
    backoff_max_seconds: Int32 = 1800


class NodeSelectorUpdate(ApiType, frozen=True, kw_only=True):
    """A node label taken from what the provisioner answered."""

    key: Annotated[str, schema_keywords(minLength=1, maxLength=317, pattern=QUALIFIED_PATTERN)]
    value_from_provisioning_class_detail: Annotated[
        str, schema_keywords(minLength=1, maxLength=32768)
    ]


class PodSetUpdates(ApiType, frozen=True, kw_only=True):
    """The changes to the podsets of a workload whose nodes were provisioned."""

    node_selector: Annotated[tuple[NodeSelectorUpdate, ...], map_list("key", most=8)] = ()


class ProvisioningRequestConfigSpec(ApiType, frozen=True, kw_only=True):
    """The form of the ProvisioningRequests of a check."""

    provisioning_class_name: Annotated[
        str, schema_keywords(minLength=1, maxLength=253, pattern=NAME_PATTERN)
    ]
    parameters: Annotated[
        dict[str, Annotated[str, schema_keywords(maxLength=255)]],
        schema_keywords(maxProperties=100),
    ] = {}
    managed_resources: Annotated[tuple[str, ...], list_of_type("set", most=100)] = ()
    retry_strategy: RetryStrategy = RetryStrategy()
    pod_set_updates: PodSetUpdates | None = None
    pod_set_merge_policy: (
        Literal["IdenticalPodTemplates", "IdenticalWorkloadSchedulingRequirements"] | None
    ) = None


class ProvisioningRequestConfig(ApiObject, frozen=True, kw_only=True):
    """Parameters of a check that provisions nodes."""

    spec: ProvisioningRequestConfigSpec


class KubeConfig(ApiType, frozen=True, kw_only=True):
    """The location of a worker cluster's kubeconfig."""

    location: Annotated[str, schema_keywords(minLength=1, maxLength=256)]
    location_type: Literal["Secret", "Path"] = "Secret"


class ClusterProfileRef(ApiType, frozen=True, kw_only=True):
    """A ClusterProfile by name."""

    name: Annotated[str, schema_keywords(minLength=1, maxLength=256)]


class ClusterSource(ApiType, frozen=True, kw_only=True):
    """The connection to a worker cluster."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "[has(self.kubeConfig), has(self.clusterProfileRef)].exists_one(x, x)",
            "clusterSource has either kubeConfig or clusterProfileRef",
        ),
    )
    kube_config: KubeConfig | None = None
    cluster_profile_ref: ClusterProfileRef | None = None


class MultiKueueClusterSpec(ApiType, frozen=True, kw_only=True):
    """A worker cluster."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.clusterSource) || has(self.kubeConfig) || has(self.clusterProfileRef)",
            "clusterSource is required",
            ".clusterSource",
        ),
    )
    cluster_source: ClusterSource | None = None  # v1beta1 has what is in it beside it


class MultiKueueClusterStatus(ApiType, frozen=True, kw_only=True):
    """The status of a MultiKueueCluster: whether the worker cluster is connected."""

    conditions: Conditions = ()


class MultiKueueCluster(ApiObject, frozen=True, kw_only=True):
    """A cluster that workloads may be sent to."""

    spec: MultiKueueClusterSpec = MultiKueueClusterSpec()
    status: MultiKueueClusterStatus = MultiKueueClusterStatus()


class MultiKueueConfigSpec(ApiType, frozen=True, kw_only=True):
    """The worker clusters of a check, in order."""

    clusters: Annotated[
        tuple[Annotated[str, schema_keywords(maxLength=256)], ...],
        list_of_type("atomic", most=20, least=1),
        with_rules(Rule("self.all(c, self.exists_one(o, o == c))", "clusters names each once")),
    ]
    quota_management: Literal["Manual", "Automated"] = "Manual"


class MultiKueueConfig(ApiObject, frozen=True, kw_only=True):
    """Parameters of a MultiKueue check."""

    spec: MultiKueueConfigSpec
