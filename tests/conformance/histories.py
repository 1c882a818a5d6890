"""A recorded Workload as the events that led to the state it was recorded in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tests.conformance.cases import Json, micros
from tests.conformance.pods import podset
from tests.conformance.topologies import placement
from tidegate.contracts.decision_kinds.placements import NodeFailed
from tidegate.contracts.decisions import (
    DecisionEvent,
    QuotaReleased,
    QuotaReserved,
    WorkloadAdmitted,
    WorkloadEvicted,
    WorkloadPreempted,
    WorkloadRequeued,
)
from tidegate.contracts.facts import (
    CheckReported,
    FactEvent,
    WorkloadFinished,
    WorkloadSubmitted,
)
from tidegate.model.ids import ObjectRef
from tidegate.model.podset import PodSetAssignment
from tidegate.model.quantity import amount

_PREFIX = "kueue.x-k8s.io/"


def key(document: Json) -> str:
    """Return a Workload's ``namespace/name``; the namespace may be empty."""
    meta: Json = document.get("metadata", {})
    return f"{meta.get('namespace', '')}/{meta.get('name', '')}"


def conditions(document: Json) -> dict[str, Json]:
    """Return a Workload's conditions by type."""
    return {
        condition["type"]: condition
        for condition in document.get("status", {}).get("conditions", ())
    }


def queue_of(document: Json) -> str:
    """Return the ClusterQueue of a Workload's admission, "" if it has none."""
    queue: str = document.get("status", {}).get("admission", {}).get("clusterQueue", "")
    return queue


def holds_quota(document: Json) -> bool:
    """Tell whether it counts against quota: reserved, with an admission, and not finished."""
    mapping = conditions(document)
    reserved = mapping.get("QuotaReserved", {}).get("status") == "True"
    done = mapping.get("Finished", {}).get("status") == "True"
    return reserved and not done and "admission" in document.get("status", {})


def history(documents: Iterable[Json], *, admit: bool = False) -> list[FactEvent | DecisionEvent]:
    """Return the workloads' events by time; arrivals first, by namespace and name.

    ``admit``: what holds quota and waits for no check is admitted, whether or not the recorded
    object says so; else the core would begin by making good for it.
    """
    arriving = sorted(documents, key=key)
    events: list[FactEvent | DecisionEvent] = [submitted(workload) for workload in arriving]
    later = [event for workload in arriving for event in _decided(workload, admit=admit)]
    return events + sorted(later, key=lambda event: event.at_us)


def submitted(document: Json) -> WorkloadSubmitted:
    """Translate what a Workload asks for."""
    meta: Json = document.get("metadata", {})
    spec: Json = document["spec"]
    notes: dict[str, str] = meta.get("annotations", {})
    allowed = notes.get(_PREFIX + "workload-allowed-resource-flavors")
    gated = notes.get(_PREFIX + "admission-gated-by", "")
    done = document.get("status", {}).get("reclaimablePods", ())
    return WorkloadSubmitted(
        at_us=0,
        workload=key(document),
        uid=meta.get("uid", ""),
        job=ObjectRef(
            kind="workload",
            namespace=meta.get("namespace", ""),
            name=meta.get("name", ""),
            uid=meta.get("uid", ""),
        ),
        queue=spec.get("queueName", ""),
        priority=spec.get("priority", 0),
        created_us=micros(meta.get("creationTimestamp", "")),
        podsets=tuple(podset(candidate_podset) for candidate_podset in spec.get("podSets", ())),
        active=spec.get("active", True),
        reclaimable={pods["name"]: pods["count"] for pods in done},
        priority_boost=_boost(notes.get(_PREFIX + "priority-boost", "0")),
        gates=tuple(name for name in gated.split(",") if name),
        preemption_gates=tuple(gate["name"] for gate in spec.get("preemptionGates", ())),
        allowed_flavors=None if allowed is None else tuple(allowed.split(",")),
        variant_of=_variant_of(meta),
        elastic=_has_shrunk(document),
        replaces=notes.get(_PREFIX + "workload-slice-replacement-for", ""),
    )


def _has_shrunk(document: Json) -> bool:
    """Tell whether more pods were admitted than it asks for now: those count that it asks for."""
    given = document.get("status", {}).get("admission", {}).get("podSetAssignments", ())
    podsets = document["spec"].get("podSets", ())
    asked = {
        candidate_podset.get("name", ""): candidate_podset.get("count", 1)
        for candidate_podset in podsets
    }
    return any(pods.get("count", 0) > asked.get(pods["name"], 0) for pods in given)


def _variant_of(meta: Json) -> str:
    owners = (
        reference["name"]
        for reference in meta.get("ownerReferences", ())
        if reference["kind"] == "Workload"
    )
    return next((f"{meta.get('namespace', '')}/{name}" for name in owners), "")


def assignment(document: Json) -> tuple[PodSetAssignment, ...]:
    """Translate ``status.admission``; amounts become base units."""
    return tuple(
        PodSetAssignment(
            name=candidate_assignment.get("name", ""),
            count=candidate_assignment.get("count", 0),
            flavors=candidate_assignment.get("flavors", {}),
            usage={
                name: amount(name, text)
                for name, text in candidate_assignment.get("resourceUsage", {}).items()
            },
            topology=placement(candidate_assignment["topologyAssignment"])
            if "topologyAssignment" in candidate_assignment
            else None,
            delayed_topology=candidate_assignment.get("delayedTopologyRequest", ""),
        )
        for candidate_assignment in document.get("podSetAssignments", ())
    )


def _boost(text: str) -> int:
    return int(text) if text.lstrip("-").isdigit() else 0


def _decided(document: Json, *, admit: bool) -> Iterator[FactEvent | DecisionEvent]:
    workload, uid = key(document), document.get("metadata", {}).get("uid", "")
    mapping = {name: obj for name, obj in conditions(document).items() if obj["status"] == "True"}
    at_us = {name: micros(fields.get("lastTransitionTime", "")) for name, fields in mapping.items()}
    queue = queue_of(document)
    if holds_quota(document):
        yield QuotaReserved(
            at_us=at_us["QuotaReserved"],
            workload=workload,
            uid=uid,
            cluster_queue=queue,
            assignment=assignment(document["status"]["admission"]),
        )
    checks = document.get("status", {}).get("admissionChecks", ())
    for check in checks:
        yield CheckReported(
            at_us=0, workload=workload, uid=uid, check=check["name"], state=check["state"]
        )
    if holds_quota(document) and ("Admitted" in mapping or (admit and not checks)):
        at = at_us.get("Admitted", at_us["QuotaReserved"])
        yield WorkloadAdmitted(at_us=at, workload=workload, uid=uid, cluster_queue=queue)
    yield from _failed_nodes(document)
    if "Preempted" in mapping:
        yield WorkloadPreempted(
            at_us=at_us["Preempted"],
            workload=workload,
            uid=uid,
            cluster_queue=queue,
            by="",
            reason=mapping["Preempted"]["reason"],
        )
        yield from _evicted(document, at_us["Preempted"], "Preempted")
    elif "Evicted" in mapping:
        yield from _evicted(document, at_us["Evicted"], mapping["Evicted"]["reason"])
    if "Finished" in mapping:
        yield WorkloadFinished(at_us=at_us["Finished"], workload=workload, uid=uid)


def _failed_nodes(document: Json) -> Iterator[DecisionEvent]:
    for node in document.get("status", {}).get("unhealthyNodes", ()):
        yield NodeFailed(
            at_us=0,
            workload=key(document),
            uid=document.get("metadata", {}).get("uid", ""),
            cluster_queue=queue_of(document),
            node=node["name"],
            reason="Gone",
        )


def _evicted(document: Json, at_us: int, reason: str) -> Iterator[DecisionEvent]:
    workload, uid = key(document), document.get("metadata", {}).get("uid", "")
    queue = queue_of(document)
    yield WorkloadEvicted(
        at_us=at_us, workload=workload, uid=uid, cluster_queue=queue, reason=reason
    )
    if not holds_quota(document):  # it has left already and waits again
        yield QuotaReleased(at_us=at_us, workload=workload, uid=uid, cluster_queue=queue)
        yield WorkloadRequeued(at_us=at_us, workload=workload, uid=uid, cluster_queue=queue)
