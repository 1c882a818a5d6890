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
from tidegate.jobs.job_metadata import asked, state
from tidegate.jobs.kind import Delete, Done, JobKind, Object, Patch, Refused, Start, Step, Stop
from tidegate.jobs.pods.pod_roles import pod_podset, pod_template
from tidegate.jobs.pods.pod_state import (
    OUTCOMES,
    gates_of,
    is_active,
    is_finished,
    is_gated,
    is_held,
    is_ready,
    lacking,
    with_its_domain,
)
from tidegate.jobs.templates.notes import decided_on
from tidegate.jobs.templates.paths import difference, found_at
from tidegate.jobs.templates.template import conflicts, injected
from tidegate.kinds import names
from tidegate.kinds.meta import ObjectMeta
from tidegate.kinds.pods import Pod
from tidegate.kinds.podsets import pod_set

NAME, PODSET, TERMINATION_TARGET = "pod", "main", "TerminationTarget"
_GATES = (names.ADMISSION_GATE, names.TOPOLOGY_GATE)
"""Gates that a start removes; the latter stays until the pod has its topology domain."""


def is_marked(meta: ObjectMeta) -> bool:
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
        asked(KIND, pod.metadata),
        pod_priority_class=pod.spec.priority_class_name,
        podsets=(pod_set(pod_template(pod), name=PODSET),),
        finished=pod.status.phase if is_finished(pod) else "",
        message=pod.status.message,
        state=state(
            pod.metadata,
            suspended=is_gated(pod),
            active=int(is_active(pod)),
            ready=int(is_ready(pod)),
        ),
    )


def status_of(meta: ObjectMeta, pod: Object) -> JobState:
    """See ``JobKind.status_of``."""
    gates = found_at(pod, ("spec", "schedulingGates"))
    listed = gates if isinstance(gates, list | tuple) else ()
    gated = any(found_at(gate, ("name",)) == names.ADMISSION_GATE for gate in listed)
    lost = meta.deleting and not found_at(pod, ("spec", "nodeName"))
    return state(meta, suspended=gated, active=0 if gated or lost or ended(pod) else 1)


def ended(pod: Object) -> str:
    """See ``JobKind.ended``."""
    phase = found_at(pod, ("status", "phase"))
    return phase if phase in OUTCOMES else ""


def start(start: Start, pod: Object) -> Step:
    """See ``JobKind.start``: one patch puts in and takes the gate off."""
    podset = start.only(PODSET)
    return podset if isinstance(podset, Refused) else started(start, pod, podset, {})


def started(start: Start, pod: Object, podset: PodSetStart, marks: dict[str, str]) -> Step:
    """Return the step that starts one pod, alone or in a group, with these annotations."""
    if decided_on(pod, start.ledger_id) >= start.seq:
        return Done()
    return let_go(pod, podset, start.decision, marks)


def let_go(pod: Object, podset: PodSetStart, decision: str, marks: dict[str, str]) -> Step:
    """Return the patch that puts in what a pod is given and takes its gate off."""
    if not gates_of(pod):
        return Done()
    if names.TOPOLOGY_GATE not in {gate["name"] for gate in gates_of(pod)}:
        podset = with_its_domain(podset)
    problem = conflicts(pod, podset) or lacking(pod, podset)
    if problem:
        return Refused(reason="invalid", message=problem)
    desired, _ = injected(pod, podset)
    stays = names.ADMISSION_GATE in podset.gates  # it runs in another cluster
    gone = set[str]() if stays else {*_GATES} - {*podset.gates}
    gates = [gate for gate in gates_of(pod) if gate["name"] not in gone]
    desired["spec"] = {**desired["spec"], "schedulingGates": gates}
    if not gates:
        del desired["spec"]["schedulingGates"]
    return Patch(body=difference(pod, _marked(desired, decision, marks)))


def stop(stop: Stop, pod: Object, waited_s: float) -> Step:
    """See ``JobKind.stop``: say why in a condition, then delete; one that is gated just waits."""
    del waited_s
    phase = pod.get("status", {}).get("phase")
    if phase in OUTCOMES or "deletionTimestamp" in pod["metadata"]:
        return Done()
    mark = marked(stop, pod, retain=stop.keeps and not is_held(pod))
    if isinstance(mark, Patch) or decided_on(pod, stop.ledger_id) > stop.seq or is_held(pod):
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


def marked(stop: Stop, pod: Object, *, retain: bool) -> Patch | Done:
    """Return the step that records a stop on a pod before the pod is deleted.

    ``retain``: when it is deleted it stays, as ended, until its finalizer is taken off.
    """
    if decided_on(pod, stop.ledger_id) >= stop.seq:
        return Done()
    return Patch(body=difference(pod, _marked(pod, stop.decision, {}, retain=retain)))


def is_kept(pod: Object) -> bool:
    """Return whether a pod stays when it is deleted."""
    return names.MANAGED in pod["metadata"].get("finalizers", ())


def podsets(pod: Object) -> list[Object]:
    """See ``JobKind.podsets``."""
    return [pod_podset(pod, PODSET, 1)]


def _marked(pod: Object, decision: str, marks: dict[str, str], *, retain: bool = False) -> Object:
    """Return a pod with a decision on it, and with Kueue's finalizer only if it is kept."""
    meta = dict(pod["metadata"])
    meta["annotations"] = {**meta.get("annotations", {}), names.DECISION: decision, **marks}
    if retain != is_kept(pod):
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
    seen=Pod,
    observe=observe,
    start=start,
    stop=stop,
    status_of=status_of,
    ended=ended,
    podsets=podsets,
    asks=is_marked,
    finalizer=names.MANAGED,
    owns=False,
    optional=False,
)
