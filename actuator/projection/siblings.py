"""Several Workloads of one job: slices of an elastic job, and a parent with its variants.

The parent shows the state of its admitted variant.

Source: behaviour.md 13, 14.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from zlib import crc32

import msgspec

from actuator.projection.workload_view import WorkloadView
from tidegate.contracts.decisions import (
    DecisionEvent,
    QuotaReleased,
    VariantUngated,
    WorkloadAdmitted,
    WorkloadEvicted,
)
from tidegate.contracts.facts import FactEvent, WorkloadAdopted, WorkloadChanged, WorkloadSubmitted
from tidegate.contracts.phases import SLICE_REPLACED
from tidegate.core.queueing.siblings import PREEMPTION_GATE
from tidegate.jobs.kind import Object
from tidegate.jobs.workload_fields import variant_of
from tidegate.kinds import names
from tidegate.kinds.kueue_api.workloads.workload import Workload
from tidegate.kinds.meta import ObjectMeta
from tidegate.kinds.times import micros, rfc3339
from tidegate.model.ids import ObjectRef
from tidegate.model.texts import parse_whole

EVICTED = "VariantEvicted"
_BY_HAND = "Deactivated"


def requested_pods(event: WorkloadSubmitted | WorkloadChanged) -> dict[str, int]:
    """Return how many pods are asked for of each podset."""
    return {podset.name: podset.count for podset in event.podsets}


def note_requested_podsets(view: WorkloadView, event: WorkloadChanged) -> None:
    """Note whether a job asks for other podsets than before; they are written without quota.

    An elastic job's podsets are as many as its counts say. The first change may be of other fields.
    """
    checksum = crc32(msgspec.msgpack.encode(event.podsets))
    changed, view.asked = view.asked != checksum, checksum
    view.stale = view.stale or (changed and view.made and not view.elastic and not view.parent)
    view.renews = view.renews or (view.stale and view.phase == "pending")


def end_slice(view: WorkloadView, at_us: int) -> None:
    """Show that another Workload of the job took over from this one."""
    view.phase, view.admitted_us = "finished", 0
    message = "Another Workload of its job took over from it"
    view.set("Finished", true=True, reason=SLICE_REPLACED, message=message, at_us=at_us)


def note_first_workload(view: WorkloadView, workloads: Mapping[str, WorkloadView]) -> None:
    """Note which Workload was the first of a new one's job."""
    older = workloads.get(view.replaces)
    if older is not None:
        view.first = older.first or older.name


def note_generation(view: WorkloadView, generation: int, at_us: int) -> bool:
    """Record the job's generation that the ledger knows; return whether it is new.

    Pods are ungated by a Workload only while its job is still as the ledger knew it. What came
    last counts: a cluster that was restored has its jobs as they were before.
    """
    state, before = (at_us, generation), view.generation
    if view.elastic and state > (view.generation_us, before):
        view.generation_us, view.generation = state
    return view.generation != before


def generation_of(annotations: Mapping[str, str]) -> int:
    """Return which generation of its job a Workload was written for; 0 if it does not say."""
    return parse_whole(annotations.get(names.GENERATION, "")) or 0


def inherit_fields(view: WorkloadView, workloads: Mapping[str, WorkloadView]) -> None:
    """Let a Workload that takes over from another know what that one knew."""
    older = workloads.get(view.replaces)
    if older is not None:
        note_generation(view, older.generation, older.generation_us)


def slice_annotations(view: WorkloadView) -> dict[str, str]:
    """Return the annotations of a Workload of an elastic job; none of another's."""
    if not view.elastic:
        return {}
    marks_of = {
        names.ELASTIC_JOB: "true",
        names.GENERATION: str(view.generation),
        names.SLICE_NAME: view.first or view.name,
    }
    return marks_of | ({names.SLICE_REPLACES: view.replaces} if view.replaces else {})


def podsets_with_counts(podsets: list[Object], view: WorkloadView) -> list[Object]:
    """Return podsets as many pods of each as are asked for now."""
    return [
        {**podset, "count": view.counts.get(podset["name"], podset["count"])} for podset in podsets
    ]


def is_reserved(obj: Object) -> bool:
    """Return whether a Workload object shows a reservation."""
    conditions = obj.get("status", {}).get("conditions", ())
    return any(
        (condition["type"], condition["status"]) == ("QuotaReserved", "True")
        for condition in conditions
    )


def needs_more_than_reserved(view: WorkloadView, obj: Object) -> bool:
    """Return whether a job requests more than its Workload with quota has, or in another queue.

    It left, and perhaps came back, both unseen: while it holds quota its podsets only become
    smaller, and its queue stays.
    """
    if not is_reserved(obj) or view.phase == "finished":
        return False
    if view.made and obj["spec"].get("queueName", "") != view.queue:
        return True
    required = view.counts
    return any(
        required.get(podset["name"], 0) > podset["count"] for podset in obj["spec"]["podSets"]
    )


def release_patch(obj: Object) -> Object:
    """Return the patch by which a Workload holds no quota."""
    conditions = obj["status"]["conditions"]
    remaining = [
        condition
        for condition in conditions
        if condition["type"] not in ("QuotaReserved", "Admitted")
    ]
    return {"status": {"admission": None, "conditions": remaining}}


def join_parent(
    view: WorkloadView, event: WorkloadSubmitted, workloads: Mapping[str, WorkloadView]
) -> None:
    """Let a new Workload be a variant of its parent, from which on that is one."""
    view.parent, view.uid = event.variant_of, event.job.uid
    view.flavor = ",".join(event.allowed_flavors or ())
    parent = workloads.get(view.parent)
    if parent is not None and parent.phase != "finished":
        parent.has_variants, parent.phase = True, "parent"


def clear_variants(parent: WorkloadView) -> None:
    """Let a Workload without variants be like any other."""
    parent.has_variants = False
    if parent.phase == "parent":
        parent.phase = "pending"


def forward(parent: WorkloadView, variant: WorkloadView, event: FactEvent | DecisionEvent) -> bool:
    """Apply a variant's event to its parent's view; return whether it changed."""
    match event:
        case WorkloadAdmitted() | WorkloadAdopted():
            _admit_parent(parent, variant, event.at_us)
        case WorkloadEvicted() if parent.true_condition("Admitted"):
            by_hand = not parent.active or parent.deactivated
            message = f"The variant {variant.name} was evicted: {event.message or event.reason}"
            reason = _BY_HAND if by_hand else EVICTED
            parent.set("Evicted", true=True, reason=reason, message=message, at_us=event.at_us)
        case QuotaReleased() if parent.true_condition("Admitted"):
            _release_parent(parent, variant, event.at_us)
        case _:
            return False
    return True


def open_gate(variant: WorkloadView, event: FactEvent | DecisionEvent) -> bool:
    """Open a variant's preemption gate; return whether the event did so."""
    if not isinstance(event, VariantUngated):
        return False
    variant.ungated_us = event.at_us
    return True


def family_labels(view: WorkloadView) -> dict[str, str]:
    """Return the label that a parent bears; none for others."""
    return {names.CONCURRENT_PARENT: "true"} if view.has_variants else {}


def variant_object(view: WorkloadView, parent: Object, spec: Object) -> Object:
    """Return a variant's Workload object as it is made; ``spec`` is what it asks for by itself.

    The rest is copied from its parent, which owns it.
    """
    meta = parent["metadata"]
    prefix = names.REQUEST_PARAMETER
    copied = {
        key: value for key, value in meta.get("annotations", {}).items() if key.startswith(prefix)
    }
    gates = [*parent["spec"].get("preemptionGates", ()), {"name": PREEMPTION_GATE}]
    owner = {key: meta[key] for key in ("name", "uid")}
    return {
        "apiVersion": names.API_VERSION,
        "kind": "Workload",
        "metadata": {
            "namespace": view.namespace,
            "name": view.name,
            "labels": {**_without_parent_label(meta), names.JOB_UID: view.uid},
            "annotations": {
                **copied,
                names.DECISION: view.decision,
                names.VARIANT_FOR: f"{view.job.kind}/{view.job.name}",
                names.ALLOWED_FLAVORS: view.flavor,
            },
            "ownerReferences": [
                {"apiVersion": names.API_VERSION, "kind": "Workload", "controller": True, **owner}
            ],
        },
        "spec": {**spec, "podSets": parent["spec"]["podSets"], "preemptionGates": gates},
    }


def set_variant_metadata(desired: Object, view: WorkloadView) -> None:
    """Put into metadata and spec of a Workload what its family makes of it."""
    if view.parent:
        desired["spec"]["active"] = view.phase != "inactive"
    meta = desired["metadata"]
    if view.made and view.has_variants != (names.CONCURRENT_PARENT in meta.get("labels", {})):
        meta["labels"] = {**_without_parent_label(meta), **family_labels(view)}


def _without_parent_label(meta: Object) -> Object:
    """Return an object's labels but the one that a parent bears."""
    had: Object = meta.get("labels", {})
    return {key: value for key, value in had.items() if key != names.CONCURRENT_PARENT}


def gate_states(view: WorkloadView, states: list[Object]) -> list[Object]:
    """Return how a variant's preemption gates stand: its own is open once it is its turn."""
    others = [state for state in states if state["name"] != PREEMPTION_GATE]
    if not view.ungated_us:
        return others
    at = rfc3339(view.ungated_us)
    return [*others, {"name": PREEMPTION_GATE, "position": "Open", "lastTransitionTime": at}]


def family_fields(workload: Workload) -> dict[str, Any]:
    """Return what a Workload shows of its family, by the fields of ``WorkloadView``."""
    meta = workload.metadata
    fields: dict[str, Any] = {"has_variants": names.CONCURRENT_PARENT in meta.labels}
    if job_of(meta) is not None:
        fields["parent"] = variant_of(meta)
        fields["flavor"] = meta.annotations.get(names.ALLOWED_FLAVORS, "")
        fields["ungated_us"] = ungated_us(workload)
    return fields


def ungated_us(workload: Workload) -> int:
    """Return since when a variant's preemption gate is open, by its Workload; 0: closed."""
    opened = (gate for gate in workload.status.preemption_gates if gate.name == PREEMPTION_GATE)
    return max((micros(gate.last_transition_time) for gate in opened), default=0)


def job_of(meta: ObjectMeta) -> ObjectRef | None:
    """Return the job that a Workload was made for as a variant; None: it was not."""
    kind, _, name = meta.annotations.get(names.VARIANT_FOR, "").rpartition("/")
    if not kind or not variant_of(meta):
        return None
    uid = meta.labels.get(names.JOB_UID, "")
    return ObjectRef(kind=kind, namespace=meta.namespace, name=name, uid=uid)


def _admit_parent(parent: WorkloadView, variant: WorkloadView, at_us: int) -> None:
    parent.cluster_queue, parent.assignment = variant.cluster_queue, variant.assignment
    message = f"Quota reserved in ClusterQueue {variant.cluster_queue}"
    parent.set("QuotaReserved", true=True, reason="QuotaReserved", message=message, at_us=at_us)
    parent.end("Evicted", reason="QuotaReserved", at_us=at_us)
    message = f"The variant {variant.name} is admitted"
    parent.set("Admitted", true=True, reason="Admitted", message=message, at_us=at_us)
    message = "Not all pods are ready or succeeded"
    parent.set("PodsReady", true=False, reason="WaitForStart", message=message, at_us=at_us)


def _release_parent(parent: WorkloadView, variant: WorkloadView, at_us: int) -> None:
    parent.cluster_queue, parent.assignment = "", ()
    parent.executed_us = variant.executed_us
    message = f"The variant {variant.name} is no longer admitted"
    parent.set(
        "QuotaReserved", true=False, reason="PendingEvaluation", message=message, at_us=at_us
    )
    parent.set("Admitted", true=False, reason="NoReservation", message=message, at_us=at_us)
    parent.set("PodsReady", true=False, reason="WaitForStart", message=message, at_us=at_us)
