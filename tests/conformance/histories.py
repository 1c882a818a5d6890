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


def key(told: Json) -> str:
    """Return a Workload's ``namespace/name``; the namespace may be empty."""
    meta: Json = told.get("metadata", {})
    return f"{meta.get('namespace', '')}/{meta.get('name', '')}"


def conditions(told: Json) -> dict[str, Json]:
    """Return a Workload's conditions by type."""
    return {one["type"]: one for one in told.get("status", {}).get("conditions", ())}


def queue_of(told: Json) -> str:
    """Return the ClusterQueue of a Workload's admission, "" if it has none."""
    queue: str = told.get("status", {}).get("admission", {}).get("clusterQueue", "")
    return queue


def holds_quota(told: Json) -> bool:
    """Tell whether it counts against quota: reserved, with an admission, and not finished."""
    found = conditions(told)
    reserved = found.get("QuotaReserved", {}).get("status") == "True"
    done = found.get("Finished", {}).get("status") == "True"
    return reserved and not done and "admission" in told.get("status", {})


def history(told: Iterable[Json], *, admit: bool = False) -> list[FactEvent | DecisionEvent]:
    """Return the workloads' events by time; arrivals first, by namespace and name.

    ``admit``: what holds quota and waits for no check is admitted, whether or not the recorded
    object says so; else the core would begin by making good for it.
    """
    arriving = sorted(told, key=key)
    events: list[FactEvent | DecisionEvent] = [submitted(one) for one in arriving]
    later = [event for one in arriving for event in _decided(one, admit=admit)]
    return events + sorted(later, key=lambda event: event.at_us)


def submitted(told: Json) -> WorkloadSubmitted:
    """Translate what a Workload asks for."""
    meta: Json = told.get("metadata", {})
    spec: Json = told["spec"]
    notes: dict[str, str] = meta.get("annotations", {})
    allowed = notes.get(_PREFIX + "workload-allowed-resource-flavors")
    gated = notes.get(_PREFIX + "admission-gated-by", "")
    done = told.get("status", {}).get("reclaimablePods", ())
    return WorkloadSubmitted(
        at_us=0,
        workload=key(told),
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
        podsets=tuple(podset(one) for one in spec.get("podSets", ())),
        active=spec.get("active", True),
        reclaimable={one["name"]: one["count"] for one in done},
        priority_boost=_boost(notes.get(_PREFIX + "priority-boost", "0")),
        gates=tuple(name for name in gated.split(",") if name),
        preemption_gates=tuple(one["name"] for one in spec.get("preemptionGates", ())),
        allowed_flavors=None if allowed is None else tuple(allowed.split(",")),
        variant_of=_variant_of(meta),
        elastic=_has_shrunk(told),
        replaces=notes.get(_PREFIX + "workload-slice-replacement-for", ""),
    )


def _has_shrunk(told: Json) -> bool:
    """Tell whether more pods were admitted than it asks for now: those count that it asks for."""
    given = told.get("status", {}).get("admission", {}).get("podSetAssignments", ())
    podsets = told["spec"].get("podSets", ())
    asked = {one.get("name", ""): one.get("count", 1) for one in podsets}
    return any(one.get("count", 0) > asked.get(one["name"], 0) for one in given)


def _variant_of(meta: Json) -> str:
    owners = (one["name"] for one in meta.get("ownerReferences", ()) if one["kind"] == "Workload")
    return next((f"{meta.get('namespace', '')}/{name}" for name in owners), "")


def assignment(told: Json) -> tuple[PodSetAssignment, ...]:
    """Translate ``status.admission``; amounts become base units."""
    return tuple(
        PodSetAssignment(
            name=one.get("name", ""),
            count=one.get("count", 0),
            flavors=one.get("flavors", {}),
            usage={name: amount(name, text) for name, text in one.get("resourceUsage", {}).items()},
            topology=placement(one["topologyAssignment"]) if "topologyAssignment" in one else None,
            delayed_topology=one.get("delayedTopologyRequest", ""),
        )
        for one in told.get("podSetAssignments", ())
    )


def _boost(text: str) -> int:
    return int(text) if text.lstrip("-").isdigit() else 0


def _decided(told: Json, *, admit: bool) -> Iterator[FactEvent | DecisionEvent]:
    workload, uid = key(told), told.get("metadata", {}).get("uid", "")
    found = {name: one for name, one in conditions(told).items() if one["status"] == "True"}
    at_us = {name: micros(one.get("lastTransitionTime", "")) for name, one in found.items()}
    queue = queue_of(told)
    if holds_quota(told):
        yield QuotaReserved(
            at_us=at_us["QuotaReserved"],
            workload=workload,
            uid=uid,
            cluster_queue=queue,
            assignment=assignment(told["status"]["admission"]),
        )
    checks = told.get("status", {}).get("admissionChecks", ())
    for check in checks:
        yield CheckReported(
            at_us=0, workload=workload, uid=uid, check=check["name"], state=check["state"]
        )
    if holds_quota(told) and ("Admitted" in found or (admit and not checks)):
        at = at_us.get("Admitted", at_us["QuotaReserved"])
        yield WorkloadAdmitted(at_us=at, workload=workload, uid=uid, cluster_queue=queue)
    yield from _failed_nodes(told)
    if "Preempted" in found:
        yield WorkloadPreempted(
            at_us=at_us["Preempted"],
            workload=workload,
            uid=uid,
            cluster_queue=queue,
            by="",
            reason=found["Preempted"]["reason"],
        )
        yield from _evicted(told, at_us["Preempted"], "Preempted")
    elif "Evicted" in found:
        yield from _evicted(told, at_us["Evicted"], found["Evicted"]["reason"])
    if "Finished" in found:
        yield WorkloadFinished(at_us=at_us["Finished"], workload=workload, uid=uid)


def _failed_nodes(told: Json) -> Iterator[DecisionEvent]:
    for node in told.get("status", {}).get("unhealthyNodes", ()):
        yield NodeFailed(
            at_us=0,
            workload=key(told),
            uid=told.get("metadata", {}).get("uid", ""),
            cluster_queue=queue_of(told),
            node=node["name"],
            reason="Gone",
        )


def _evicted(told: Json, at_us: int, reason: str) -> Iterator[DecisionEvent]:
    workload, uid = key(told), told.get("metadata", {}).get("uid", "")
    queue = queue_of(told)
    yield WorkloadEvicted(
        at_us=at_us, workload=workload, uid=uid, cluster_queue=queue, reason=reason
    )
    if not holds_quota(told):  # it has left already and waits again
        yield QuotaReleased(at_us=at_us, workload=workload, uid=uid, cluster_queue=queue)
        yield WorkloadRequeued(at_us=at_us, workload=workload, uid=uid, cluster_queue=queue)
