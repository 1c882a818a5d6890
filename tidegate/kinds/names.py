"""Labels, annotations, gates and finalizers that Kueue's users write or that we write for them."""

from __future__ import annotations

GROUP = "kueue.x-k8s.io"
VERSIONS = ("v1beta2", "v1beta1")
"""What is served; the first is stored."""

QUEUE_NAME = "kueue.x-k8s.io/queue-name"
PRIORITY_CLASS = "kueue.x-k8s.io/priority-class"
PREBUILT_WORKLOAD = "kueue.x-k8s.io/prebuilt-workload-name"
MAX_EXECUTION_S = "kueue.x-k8s.io/max-exec-time-seconds"
JOB_UID = "kueue.x-k8s.io/job-uid"
MANAGED = "kueue.x-k8s.io/managed"
ADMISSION_GATED_BY = "kueue.x-k8s.io/admission-gated-by"
PRIORITY_BOOST = "kueue.x-k8s.io/priority-boost"
MIN_PARALLELISM = "kueue.x-k8s.io/job-min-parallelism"
COMPLETIONS_EQUAL_PARALLELISM = "kueue.x-k8s.io/job-completions-equal-parallelism"
ELASTIC_JOB = "kueue.x-k8s.io/elastic-job"

POD_GROUP_NAME = "kueue.x-k8s.io/pod-group-name"
POD_GROUP_TOTAL_COUNT = "kueue.x-k8s.io/pod-group-total-count"
POD_SUSPENDING_PARENT = "kueue.x-k8s.io/pod-suspending-parent"
WORKLOAD = "kueue.x-k8s.io/workload"
PODSET = "kueue.x-k8s.io/podset"
LOCAL_QUEUE = "kueue.x-k8s.io/local-queue-name"
CLUSTER_QUEUE = "kueue.x-k8s.io/cluster-queue-name"

REQUIRED_TOPOLOGY = "kueue.x-k8s.io/podset-required-topology"
PREFERRED_TOPOLOGY = "kueue.x-k8s.io/podset-preferred-topology"
UNCONSTRAINED_TOPOLOGY = "kueue.x-k8s.io/podset-unconstrained-topology"
SLICE_REQUIRED_TOPOLOGY = "kueue.x-k8s.io/podset-slice-required-topology"
SLICE_SIZE = "kueue.x-k8s.io/podset-slice-size"
SLICE_CONSTRAINTS = "kueue.x-k8s.io/podset-slice-required-topology-constraints"
PODSET_GROUP = "kueue.x-k8s.io/podset-group-name"

ADMISSION_GATE = "kueue.x-k8s.io/admission"
TOPOLOGY_GATE = "kueue.x-k8s.io/topology"
IN_USE = "kueue.x-k8s.io/resource-in-use"

DECISION = "tidegate.dev/decision"
INJECTED = "tidegate.dev/injected"
AUTHOR = "tidegate.dev/author"
CHECKS_SINCE = "tidegate.dev/checks-since"
"""On a Workload: the decision since which the states of its admission checks count."""
MIN_RUNTIME = "tidegate.dev/min-runtime"
"""On a ClusterQueue: how long its workloads run before they may be preempted, e.g. ``10m``."""
