"""Kueue's feature gates: their defaults, and which of them Tidegate implements.

Only this module has the defaults: callers pass a gate's name.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from tidegate.model.policy import Policy

Gate: TypeAlias = Literal[
    "AdmissionFairSharing",
    "AssignQueueLabelsForPods",
    "CleanupProvisioningRequestsOnEviction",
    "ConcurrentAdmission",
    "DisableWaitForPodsReady",
    "ElasticJobsViaWorkloadSlices",
    "ElasticJobsViaWorkloadSlicesWithTAS",
    "FairSharingPreemptWithinNominal",
    "FairSharingPrioritizeNonBorrowing",
    "FastQuotaReleaseInPodIntegration",
    "FlavorFungibilityPreserveScanProgress",
    "LocalQueueMetrics",
    "MetricForWorkloadCreationLatency",
    "MetricsForCohorts",
    "MultiKueue",
    "MultiKueueAdaptersForCustomJobs",
    "MultiKueueClusterProfile",
    "MultiKueueIncrementalDispatcherConfig",
    "MultiKueueIncrementalDispatcherRespectConfigOrder",
    "MultiKueueOrchestratedPreemption",
    "PartialAdmission",
    "PrioritizePreemptorWorkloads",
    "PrioritySortingWithinCohort",
    "PriorityBoost",
    "QuotaCheckStrategy",
    "ReclaimablePods",
    "RecomputeAssignmentUponPreemptionTargetsOverlap",
    "SchedulingEquivalenceHashing",
    "SkipReassignmentForPodOwnedWorkloads",
    "SparkApplicationIntegration",
    "TASBalancedPlacement",
    "TASFailedNodeReplacement",
    "TASFailedNodeReplacementFailFast",
    "TASHandleOverlappingFlavors",
    "TASProfileMixed",
    "TASRecomputeAssignmentWithinSchedulingCycle",
    "TASReplaceNodeOnNodeTaints",
    "TASReplaceNodeOnPodTermination",
    "TASRespectNodeAffinityPreferred",
]
"""A gate whose two values have the same effect here as in Kueue."""
HEEDED: frozenset[str] = frozenset(get_args(Gate))
"""The names of all these gates."""
_ON = """
AdmissionFairSharing AdmissionGatedBy AssignQueueLabelsForPods CleanupProvisioningRequestsOnEviction
DeferRayServiceFinalizationForRedisCleanup ElasticJobsViaWorkloadSlices
FairSharingPreemptWithinNominal FairSharingPrioritizeNonBorrowing FinishOrphanedWorkloads
FlavorFungibility FlavorFungibilityPreserveScanProgress KueueDRAIntegration
KueueDRAIntegrationExtendedResource KueueDRAIntegrationPartitionableDevices
KueueDRARejectWorkloadsWhenDRADisabled LWSImmutableGroupSize LocalQueueMetrics
ManagedJobsNamespaceSelectorAlwaysRespected MetricForWorkloadCreationLatency MetricsForCohorts
MultiKueue MultiKueueAdaptersForCustomJobs MultiKueueIncrementalDispatcherConfig
MultiKueueIncrementalDispatcherRespectConfigOrder MultiKueueKubeConfigPathValidation
MultiKueueRemoteSpecSync PartialAdmission PodIntegrationValidateGroupOwner
PrioritySortingWithinCohort QuotaCheckStrategy ReclaimablePods
RecomputeAssignmentUponPreemptionTargetsOverlap RemoveFinalizersWithStrictPatch
SchedulingEquivalenceHashing SkipAncestorCheckForDeletedWorkloads
SkipReassignmentForPodOwnedWorkloads TASAssignmentsEncodingByHostnamePrefix
TASCacheNodeMatchResults TASCacheTopologyTree TASCachingRemainingResources
TASFailedNodeReplacement TASFailedNodeReplacementFailFast TASHandleOverlappingFlavors
TASMultiLayerTopology TASProfileMixed TASRecomputeAssignmentWithinSchedulingCycle
TASReplaceNodeOnNodeTaints TASReplaceNodeOnPodTermination TASValidateWorkloadSliceSize TLSOptions
TopologyAwareScheduling UnadmittedWorkloadsObservability ValidateRayAndSparkJobUpdates
VectorizedResourceRequests VisibilityOnDemand WorkloadIdentifierAnnotations
WorkloadPriorityClassDefaulting WorkloadValidateResourcesAreNonNegative
WorkloadValidationForPodSetMetadata
"""
_OFF = """
ConcurrentAdmission CustomMetricLabels DisableWaitForPodsReady
ElasticJobsViaWorkloadSlicesWithTAS FailureRecoveryPolicy FastQuotaReleaseInPodIntegration
KueueDRAIntegrationConsumableCapacity MultiKueueClusterProfile MultiKueueManagerQuotaAutomation
MultiKueueOrchestratedPreemption PrioritizePreemptorWorkloads PriorityBoost
RejectUpdatesToCQWithInvalidOnFlavors SchedulerLibraryIntegration ShortWorkloadNames
SparkApplicationIntegration TASBalancedPlacement TASReplaceNodeDueToNotReadyOverFixedTime
TASRespectNodeAffinityPreferred UnadmittedWorkloadsExplicitStatus WorkloadRequestUseMergePatch
"""
GATES: dict[str, bool] = {**dict.fromkeys(_ON.split(), True), **dict.fromkeys(_OFF.split(), False)}
"""Name to default, in Kueue 0.20."""
REMOVED: dict[str, bool] = {
    "HierarchicalCohorts": True,
    "MultiKueueAllowInsecureKubeconfigs": False,
    "MultiKueueRedoAdmissionOnEvictionInWorker": True,
    "MultiKueueWaitForWorkloadAdmitted": True,
    "ObjectRetentionPolicies": True,
    "PropagateBatchJobLabelsToWorkload": True,
    "SchedulerLongRequeueInterval": False,
    "SchedulerTimestampPreemptionBuffer": False,
    "SkipFinalizersForPodsSuspendedByParent": True,
}
"""Gates of Kueue 0.19 that 0.20 lacks, with the value that holds since."""

assert GATES.keys() >= HEEDED, "each implemented gate has a default"


def gate_enabled(policy: Policy, name: Gate) -> bool:
    """Return whether one of Kueue's feature gates is on, as configured or by default."""
    return policy.gates.get(name, GATES[name])
