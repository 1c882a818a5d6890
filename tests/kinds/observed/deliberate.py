"""Where Tidegate does otherwise than Kueue on purpose: the one table."""

from __future__ import annotations

from tests.kinds.observed.circumstances import (
    contradicts,
    has_a_cluster_before_it_is_ready,
    has_ended_pods,
    has_excess_pods,
    has_fewer_replicas_than_its_least,
    has_lost_its_owner,
    has_no_patch,
    has_no_submitter,
    is_elastic,
    is_empty,
    is_fast_and_mixed,
    is_finished,
    is_handed_other_podsets,
    is_refused,
    is_refused_alone,
    is_starting_or_failed,
    is_submitted_or_ending,
    is_unfinished,
    names_another_parent,
    names_no_queue,
)
from tests.kinds.observed.rows import Row

PODS, GROUPS = ("pod",), ("podgroup",)  # the first are both
SERVED = ("deployment", "statefulset", "leaderworkerset")


_ANSWERS = (
    "finished",
    "isActive",
    "isSuspended",
    "podSets",
    "podSetsError",
    "podsReady",
    "priority",
    "reclaimablePods",
    "restore",
    "run",
    "skip",
    "webhook.default",
    "workloadName",
    "managedBy",
)
TABLE = (
    Row(
        (
            "run.error",
            "priority.error",
            "podSetsError",
            "webhook.validateCreate.error",
            "composableWorkload.error",
        ),
        "Tidegate says what is wrong in its own words",
        whether=True,
    ),
    Row(
        _ANSWERS,
        "what makes no sense is refused as a whole: an object that is no job has no answers",
        when=is_refused,
    ),
    Row(
        (*_ANSWERS, "webhook.validateCreate"),
        "so is what has no podsets, or two of one name: no Workload can stand for it",
        when=is_empty,
    ),
    Row(
        ("finished.success", "finished.message"),
        "they mean something only of a job that finished",
        when=is_unfinished,
    ),
    Row(
        ("podLabelSelector", "webhook.validateCreate.warnings"),
        "pods are found by their owner, not by a label; and a policy refuses or says nothing",
    ),
    Row(
        ("podSets.count",),
        "a worker group is charged for its minimum of replicas: KubeRay runs them in any case",
        kinds=("raycluster",),
        when=has_fewer_replicas_than_its_least,
    ),
    Row(
        ("restore.infos", "restore.changed"),
        "a stop takes out what the start noted on the job, and is handed no podsets",
    ),
    Row(
        ("restore.object",),
        "the same: a Workload that says otherwise does not change the job's own template",
        when=is_handed_other_podsets,
    ),
    Row(
        ("run", "restore"),
        "a job that is over is left as it is",
        when=is_finished,
    ),
    Row(
        ("priority.jobPriorityClass",),
        "what is told is the class that counts in the end, as ref",
    ),
    Row(
        ("webhook.default.object", "run.object"),
        "pods of elastic jobs are gated by the start, not when the job is made: until then it is"
        " suspended",
        when=is_elastic,
    ),
    Row(
        ("isSuspended", "run.isSuspended"),
        "a pod that ended is over, which is not called suspended",
        kinds=PODS,
        when=has_ended_pods,
    ),
    Row(
        ("podsReady", "composableWorkload"),
        "a pod that succeeded is as good as ready, and a group that ran is taken over as it is",
        kinds=GROUPS,
        when=has_ended_pods,
    ),
    Row(
        ("podSets", "run"),
        "the newest pods beyond the total are not counted, and deleted by the start",
        kinds=GROUPS,
        when=has_excess_pods,
    ),
    Row(
        ("workloadName",),
        "the Workload of a group has the group's name, as composableWorkload says",
        kinds=GROUPS,
    ),
    Row(
        ("podSets.template.spec",),
        "a template stands in the Workload as its owner wrote it, without Kubernetes' defaults",
        kinds=("appwrapper",),
        drops=(
            "dnsPolicy",
            "preemptionPolicy",
            "restartPolicy",
            "schedulerName",
            "securityContext",
            "terminationGracePeriodSeconds",
        ),
    ),
    Row(
        (
            "podSets.template.spec.containers.imagePullPolicy",
            "podSets.template.spec.containers.terminationMessagePath",
            "podSets.template.spec.containers.terminationMessagePolicy",
        ),
        "nor those of its containers",
        kinds=("appwrapper",),
    ),
    Row(
        ("run",),
        "what contradicts a template is found before the start, not by the kind's controller",
        kinds=("appwrapper", "trainjob"),
        when=contradicts,
    ),
    Row(
        ("webhook.default.object.spec",),
        "the start writes Kueue's patch of the runtime; there is none before",
        kinds=("trainjob",),
        drops=("runtimePatches",),
    ),
    Row(
        ("run",),
        "so it needs none to be there",
        kinds=("trainjob",),
        when=has_no_patch,
    ),
    Row(
        ("restore.object",),
        "each field is again what it was, not what its podset says",
        kinds=("sparkapplication",),
    ),
    Row(
        ("isActive",),
        "a cluster that is not ready, or failed, may have pods that hold its quota",
        kinds=("raycluster",),
        when=is_starting_or_failed,
    ),
    Row(
        ("isActive",),
        "an application that was submitted, or ends, may have pods that hold its quota",
        kinds=("sparkapplication",),
        when=is_submitted_or_ending,
    ),
    Row(
        ("isActive",),
        "a cluster holds its quota before the service on it is ready",
        kinds=("rayservice",),
        when=has_a_cluster_before_it_is_ready,
    ),
    Row(
        ("restore.object.spec",),
        "a template that the start had to write is gone after the stop, as it was before",
        kinds=("rayjob",),
        when=has_no_submitter,
        drops=("submitterPodTemplate",),
    ),
    Row(
        ("isActive",),
        "a pod that runs holds its quota until it is gone, and a node until then",
        kinds=PODS,
    ),
    Row(
        ("podSets.template.spec",),
        "a Workload's template shows no gate of its pods",
        kinds=PODS,
        drops=("schedulingGates",),
    ),
    Row(
        ("webhook.default.object.spec",),
        "a pod without a queue is not gated, whatever it says to be of",
        kinds=PODS,
        when=names_no_queue,
        drops=("schedulingGates",),
    ),
    Row(
        ("webhook.default.object.metadata", "run.object.metadata", "run.pods.metadata"),
        "no finalizer is put on pods, and Kueue's goes with the first decision",
        kinds=PODS,
        drops=("finalizers",),
    ),
    Row(
        ("webhook.default.object.metadata.annotations", "run.pods.metadata.annotations"),
        "the role of a pod is noted by its start",
        kinds=PODS,
        drops=("kueue.x-k8s.io/role-hash",),
    ),
    Row(
        ("composableWorkload",),
        "no Workload is made of a pod that is refused",
        kinds=PODS,
        when=is_refused_alone,
    ),
    Row(
        (*_ANSWERS, "composableWorkload"),
        "a group that is charged by its first pod has no pods that ask for something else",
        kinds=GROUPS,
        when=is_fast_and_mixed,
    ),
    Row(
        ("webhook.default",),
        "policies look at the kind of an owner, and not for the owner: what it made is left alone",
        kinds=SERVED,
        when=has_lost_its_owner,
    ),
    Row(
        ("webhook.default.object.spec.template.metadata.annotations",),
        "a template says by which kind its pods wait: under another name they would not be gated",
        kinds=("statefulset",),
        when=names_another_parent,
        drops=("kueue.x-k8s.io/pod-suspending-parent",),
    ),
    Row(
        ("load",),
        "there are no finalizers to take off",
        kinds=PODS,
    ),
    Row(
        ("composableWorkload",),
        "a Workload's labels are its job's, its finalizer is none, its marks are Tidegate's",
        kinds=PODS,
        drops=("labels", "annotations", "finalizers"),
    ),
)
