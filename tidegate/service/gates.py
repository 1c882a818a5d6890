"""Kueue's feature gates: their defaults, and which of them can be set here."""

from __future__ import annotations

from tidegate.errors import SettingsError

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
"""Name to default."""
_HEEDED = """
AdmissionFairSharing AdmissionGatedBy AssignQueueLabelsForPods CleanupProvisioningRequestsOnEviction
ConcurrentAdmission DisableWaitForPodsReady ElasticJobsViaWorkloadSlices
FairSharingPreemptWithinNominal FairSharingPrioritizeNonBorrowing
FlavorFungibilityPreserveScanProgress MultiKueueOrchestratedPreemption PartialAdmission
PrioritizePreemptorWorkloads PrioritySortingWithinCohort PriorityBoost ReclaimablePods
RecomputeAssignmentUponPreemptionTargetsOverlap SchedulingEquivalenceHashing
"""
HEEDED = frozenset(_HEEDED.split())
"""Both values do here what they do in Kueue."""
_LACKING = ("LWS", "MultiKueue", "TAS", "Topology", "DeferRayService", "ValidateRayAndSpark")
"""What begins so is about what Tidegate does not do, so that off asks for what is."""


def check_gates(told: dict[str, bool]) -> dict[str, bool]:
    """Return the gates that differ from their defaults, in order of their names.

    Raises:
        SettingsError: Kueue has no such gate, or it makes no difference here.
    """
    return {name: value for name, value in sorted(told.items()) if _differs(name, on=value)}


def _differs(name: str, *, on: bool) -> bool:
    if name not in GATES:
        raise SettingsError(f"featureGates: Kueue has no gate {name}.")
    if on == GATES[name]:
        return False
    if name in HEEDED:
        return True
    if not on and name.startswith(_LACKING):
        return False
    why = "what it opens is not built" if on else "what it closes cannot be left out"
    raise SettingsError(f"featureGates: {name} cannot be {str(on).lower()} with Tidegate: {why}.")
