"""A plain Pod: it waits behind a scheduling gate, starts without it, and is stopped by deletion.

Only pods that were gated at creation (label ``kueue.x-k8s.io/managed``) are managed;
other pods are never deleted. Kueue's finalizer is taken off as soon as
a decision reaches the pod; only a stop puts it on, on pods of a group.

Called: a plain Pod
Suspended by: the scheduling gate ``kueue.x-k8s.io/admission``
Podsets: ``main``: 1 pod
Put in: node labels, tolerations, labels, annotations; the gate goes
Restored: nothing: it gets the condition ``TerminationTarget`` and is deleted

Source: behaviour.md 16, Pod.
"""

from __future__ import annotations

import msgspec

from tidegate.contracts.decisions import PodSetStart
from tidegate.contracts.observations import JobObserved, JobState
from tidegate.errors import UndecodableError
from tidegate.jobs.job_metadata import job_state, managed_job
from tidegate.jobs.kind import Delete, Done, JobKind, Object, Patch, Refused, Start, Step, Stop
from tidegate.jobs.pods.pod_roles import pod_podset, pod_template
from tidegate.jobs.pods.pod_state import (
    OUTCOMES,
    gates_of,
    is_active,
    is_awaiting_admission,
    is_finished,
    is_gated,
    is_ready,
    missing_gate,
    with_single_domain,
)
from tidegate.jobs.templates.notes import decision_seq_of
from tidegate.jobs.templates.paths import merge_patch, value_at
from tidegate.jobs.templates.template import conflicting_key, inject_start
from tidegate.kinds import names
from tidegate.kinds.meta import ObjectMeta
from tidegate.kinds.pods import Pod
from tidegate.kinds.podsets import pod_set

NAME, PODSET, TERMINATION_TARGET = "pod", "main", "TerminationTarget"
_GATES = (names.ADMISSION_GATE, names.TOPOLOGY_GATE)
"""Gates that a start removes; the latter stays until the pod has its topology domain."""


def is_gated_for_queue(meta: ObjectMeta) -> bool:
    """Return whether a pod was gated for a queue at its creation."""
    return meta.labels.get(names.MANAGED) == "true"


def observe(pod: Pod) -> JobObserved:
    """See ``JobKind.observe``."""
    if names.POD_GROUP_TOTAL_COUNT in pod.metadata.annotations:
        raise UndecodableError(
            f"annotation {names.POD_GROUP_TOTAL_COUNT}: a pod of a group has the label or "
            f"the annotation {names.POD_GROUP_NAME}."
        )
    return msgspec.structs.replace(
        managed_job(KIND, pod.metadata),
        pod_priority_class=pod.spec.priority_class_name,
        podsets=(pod_set(pod_template(pod), name=PODSET),),
        finished=pod.status.phase if is_finished(pod) else "",
        message=pod.status.message,
        state=job_state(
            pod.metadata,
            suspended=is_gated(pod),
            active=int(is_active(pod)),
            ready=int(is_ready(pod)),
        ),
    )


def status_of(meta: ObjectMeta, pod: Object) -> JobState:
    """See ``JobKind.status_of``."""
    gates = value_at(pod, ("spec", "schedulingGates"))
    listed = gates if isinstance(gates, list | tuple) else ()
    gated = any(value_at(gate, ("name",)) == names.ADMISSION_GATE for gate in listed)
    lost = meta.is_deleting and not value_at(pod, ("spec", "nodeName"))
    return job_state(meta, suspended=gated, active=0 if gated or lost or terminal_phase(pod) else 1)


def terminal_phase(pod: Object) -> str:
    """See ``JobKind.terminal_phase``."""
    phase = value_at(pod, ("status", "phase"))
    return phase if phase in OUTCOMES else ""


def start(start: Start, pod: Object) -> Step:
    """See ``JobKind.start``: one patch puts in and takes the gate off."""
    podset = start.only_podset_start(PODSET)
    return podset if isinstance(podset, Refused) else start_step(start, pod, podset, {})


def start_step(start: Start, pod: Object, podset: PodSetStart, marks: dict[str, str]) -> Step:
    """Return the step that starts one pod, alone or in a group, with these annotations."""
    if decision_seq_of(pod, start.ledger_id) >= start.seq:
        return Done()
    return ungate_patch(pod, podset, start.decision, marks)


def ungate_patch(pod: Object, podset: PodSetStart, decision: str, marks: dict[str, str]) -> Step:
    """Return the patch that injects a pod's flavor and removes its scheduling gate."""
    if not gates_of(pod):
        return Done()
    if names.TOPOLOGY_GATE not in {gate["name"] for gate in gates_of(pod)}:
        podset = with_single_domain(podset)
    problem = conflicting_key(pod, podset) or missing_gate(pod, podset)
    if problem:
        return Refused(reason="invalid", message=problem)
    desired, _ = inject_start(pod, podset)
    stays = names.ADMISSION_GATE in podset.gates  # it runs in another cluster
    gone = set[str]() if stays else {*_GATES} - {*podset.gates}
    gates = [gate for gate in gates_of(pod) if gate["name"] not in gone]
    desired["spec"] = {**desired["spec"], "schedulingGates": gates}
    if not gates:
        del desired["spec"]["schedulingGates"]
    return Patch(body=merge_patch(pod, _with_decision(desired, decision, marks)))


def stop(stop: Stop, pod: Object, waited_s: float) -> Step:
    """See ``JobKind.stop``: say why in a condition, then delete; one that is gated just waits."""
    del waited_s
    phase = pod.get("status", {}).get("phase")
    if phase in OUTCOMES or "deletionTimestamp" in pod["metadata"]:
        return Done()
    mark = stop_record(stop, pod, retain=stop.keeps and not is_awaiting_admission(pod))
    if (
        isinstance(mark, Patch)
        or decision_seq_of(pod, stop.ledger_id) > stop.seq
        or is_awaiting_admission(pod)
    ):
        return mark
    conditions = pod.get("status", {}).get("conditions", [])
    if any(condition["type"] == TERMINATION_TARGET for condition in conditions):
        return Delete()
    target = {
        "type": TERMINATION_TARGET,
        "status": "True",
        "reason": f"WorkloadEvictedDueTo{stop.order.reason or 'Stopped'}",
        "message": stop.order.message or "Its quota was taken back.",
    }
    return Patch(body={"status": {"conditions": [*conditions, target]}}, subresource="status")


def stop_record(stop: Stop, pod: Object, *, retain: bool) -> Patch | Done:
    """Return the step that records a stop on a pod before the pod is deleted.

    ``retain``: when it is deleted it stays, as ended, until its finalizer is taken off.
    """
    if decision_seq_of(pod, stop.ledger_id) >= stop.seq:
        return Done()
    return Patch(body=merge_patch(pod, _with_decision(pod, stop.decision, {}, retain=retain)))


def has_finalizer(pod: Object) -> bool:
    """Return whether a pod stays when it is deleted."""
    return names.MANAGED in pod["metadata"].get("finalizers", ())


def podsets(pod: Object) -> list[Object]:
    """See ``JobKind.podsets``."""
    return [pod_podset(pod, PODSET, 1)]


def _with_decision(
    pod: Object, decision: str, marks: dict[str, str], *, retain: bool = False
) -> Object:
    """Return a pod with a decision on it, and with Kueue's finalizer only if it is kept."""
    meta = dict(pod["metadata"])
    meta["annotations"] = {**meta.get("annotations", {}), names.DECISION: decision, **marks}
    if retain != has_finalizer(pod):
        others = [
            finalizer for finalizer in meta.get("finalizers", ()) if finalizer != names.MANAGED
        ]
        meta["finalizers"] = [*others, *([names.MANAGED] if retain else [])]
    return {**pod, "metadata": meta}


KIND = JobKind(
    name=NAME,
    group="",
    version="v1",
    kind="Pod",
    plural="pods",
    object_type=Pod,
    observe=observe,
    start=start,
    stop=stop,
    status_of=status_of,
    terminal_phase=terminal_phase,
    podsets=podsets,
    may_manage=is_gated_for_queue,
    finalizer=names.MANAGED,
    owns_jobs=False,
    optional=False,
)
