"""Suites of whole scheduling cycles: ``schedule``, ``schedule-fair``, ``afs`` and their like."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tests.conformance.amounts import nested, without_zeros
from tests.conformance.cases import Case, Json
from tests.conformance.histories import assignment, conditions, key, queue_of
from tests.conformance.nodes import queue, usage
from tests.conformance.projection import Projection
from tests.conformance.report import compare
from tests.conformance.stage import cluster_queue, fold, stage
from tests.conformance.topologies import domains
from tidegate.contracts import facts
from tidegate.contracts.decisions import DecisionEvent, WorkloadPending
from tidegate.core.decide import decide
from tidegate.core.queueing import heads
from tidegate.core.quota.charging import pod_count, requests_per_pod, total_requests
from tidegate.core.quota.readiness import readiness
from tidegate.core.state.state import State
from tidegate.core.topology.cluster import topologies
from tidegate.model.ids import FlavorResource
from tidegate.model.quantity import amount

_HOLDING = ("reserved", "admitted", "evicting")


class Run:
    """One case on its way through its steps."""

    def __init__(self, case: Case, mode: str) -> None:
        self.case, self.mode = case, mode
        self.state: State = stage(case, mode, admit=True)
        self.projection = Projection(case.input["workloads"])

    def schedule(self) -> None:
        """Run one cycle; no workload stops or starts, for no controller runs.

        Nor does the one that tells of failed nodes: the recorded objects name them.
        """
        topologies(self.state).changed.clear()
        decisions = decide(self.state, cycles_max=1)
        refused = self.case.input.get("statusPatchError")
        if self.case.input.get("statusPatchFails") or refused:
            # The write that makes a decision true is refused: for Kueue a workload's status, for
            # us the ledger's commit. The state is thrown away and built again from what is true.
            self.state = stage(self.case, self.mode, admit=True)
            self.projection.see_refused(decisions, 404 if refused == "NotFound" else 500)
        else:
            self.projection.see(filter(self._is_schedulers, decisions))

    def _is_schedulers(self, decision: DecisionEvent) -> bool:
        """Tell whether Kueue's scheduler decides it; that a queue is missing its controller says.

        That one did not run when the cases were recorded. Kueue's rules number the cycles.
        """
        by_cycle = not isinstance(decision, WorkloadPending) or decision.cycle > 0
        return by_cycle or self.mode != "kueue"

    def delete(self, workload: str) -> None:
        """Let an object be gone."""
        known = self.state.workloads[workload]
        gone = facts.WorkloadRemoved(at_us=self.state.now_us, workload=workload, uid=known.uid)
        fold(self.state, [gone])
        self.projection.forget(workload)

    def replaced(self) -> list[Json]:
        """Return the slices that were taken over in this run.

        They are finished and hold nothing; the recorded cache had not heard of that yet.
        """
        workloads = self.case.input["workloads"]
        return [workload for workload in workloads if key(workload) in self.projection.replaced]


def run(case: Case, mode: str) -> Iterator[str]:
    """Play a case's steps, one cycle if it names none, and compare at each observation."""
    ran = Run(case, mode)
    cycles: int = case.input.get("scheduleCycles", 1)
    steps: list[Json] = case.input.get("steps") or [{"do": "schedule"}] * cycles
    for step in steps:
        match step["do"]:
            case "schedule":
                ran.schedule()
            case "deleteWorkloads":
                for workload in step["workloads"]:
                    ran.delete(workload)
            case "updateClusterQueue":
                fold(ran.state, [cluster_queue(step["clusterQueue"])])
            case "observe":
                yield from _compare(ran, case.expected[step["as"]], f"{step['as']} ")
            case "requeueInadmissible":
                yield from _compare_moved(ran, step["moved"])
            case other:
                yield f"a step that is not known: {other}"
    yield from _compare(ran, case.expected, "")


def _compare(ran: Run, expected: Json, at: str) -> Iterator[str]:
    projection = ran.projection
    fields: dict[str, object] = {
        "quotaReserved": sorted(set(projection.reserved)),
        "admitted": sorted(set(projection.admitted)),
        "preempted": _with_reasons(projection.preempted),
        "evicted": _with_reasons(projection.evicted),
        "assignments": _assignments(ran),
        "newAssignments": _assignments(ran, new=True),
        "usage": _usages(ran),
    }
    for member, value in fields.items():
        if member in expected:
            wanted = _NORMAL.get(member, _same)(expected[member])
            yield from compare(at + member, wanted, value)
    waiting = _union(expected.get("left", {}), expected.get("inadmissible", {}))
    yield from compare(f"{at}left and inadmissible", waiting, _waiting(ran.state))
    yield from _compare_statuses(ran, expected.get("workloadStatus", {}), at)
    if "events" in expected:
        wanted = sorted(
            (event["object"], event["type"], event["reason"]) for event in expected["events"]
        )
        yield from compare(f"{at}events", wanted, sorted(projection.events.elements()))


def _compare_moved(ran: Run, moved: list[str]) -> Iterator[str]:
    """What was inadmissible and is to be woken now waits in the active queue."""
    active = {
        workload
        for name in ran.state.objects.cluster_queues
        for workload in heads.pending_keys(ran.state, name)[0]
    }
    yield from compare("moved to active", moved, [text for text in moved if text in active])


def _compare_statuses(ran: Run, expected: Json, at: str) -> Iterator[str]:
    for workload, status in expected.items():
        mapping = ran.projection.conditions.get(workload, {})
        wanted = {
            condition["type"]: (condition["status"], condition["reason"])
            for condition in status.get("conditions", ())
        }
        yield from compare(f"{at}conditions {workload}", wanted, mapping)
        stats = status.get("schedulingStats", {}).get("evictions", ())
        counts = {
            (eviction["reason"], eviction["underlyingCause"]): eviction["count"]
            for eviction in stats
        }
        seen = dict(ran.projection.evictions.get(workload, {}))
        yield from compare(f"{at}evictions {workload}", counts, seen)
        if "resourceRequests" in status:
            wanted_rows = [_request_row(row) for row in status["resourceRequests"]]
            rows = _request_rows(ran.state, workload)
            yield from compare(f"{at}requests {workload}", wanted_rows, rows)


def _request_row(row: Json) -> tuple[str, dict[str, int]]:
    resources = row.get("resources", {})
    return row["name"], {name: amount(name, text) for name, text in resources.items()}


def _request_rows(state: State, workload: str) -> list[tuple[str, dict[str, int]]]:
    known = state.workloads[workload]
    return [
        (podset.name, total_requests(each, pod_count(known, podset)))
        for podset, each in zip(known.podsets, requests_per_pod(state, known), strict=True)
    ]


def _with_reasons(obj: dict[str, str]) -> list[Json]:
    return [{"workload": name, "reason": reason} for name, reason in sorted(obj.items())]


def _assignments(ran: Run, *, new: bool = False) -> Json:
    """Return the admissions of all that hold quota in a cache that never heard of an end.

    ``new``: without those that were admitted, with healthy nodes, at the beginning.
    """
    mapping = {
        key(obj): _admission(queue_of(obj), assignment(obj["status"]["admission"]))
        for obj in ran.replaced()
    }
    for workload in ran.state.workloads.values():
        if workload.phase in _HOLDING:
            mapping[workload.key] = _admission(workload.cluster_queue, workload.assignment)
    if new:
        mapping = {name: fields for name, fields in mapping.items() if name not in _settled(ran)}
    return mapping


def _settled(ran: Run) -> list[str]:
    """Return the workloads that were admitted at the beginning, and whose nodes were healthy."""
    return [
        key(workload)
        for workload in ran.case.input["workloads"]
        if conditions(workload).get("Admitted", {}).get("status") == "True"
        and not workload["status"].get("unhealthyNodes")
    ]


def _admission(queue: str, given: Any) -> Json:  # noqa: ANN401 - see ``_normal_assignments``
    rows = [
        (
            podset.name,
            podset.count,
            podset.flavors,
            dict(podset.usage),
            None if podset.topology is None else domains(podset.topology),
            podset.delayed_topology,
        )
        for podset in given
    ]
    return {"clusterQueue": queue, "podSetAssignments": rows}


def _normal_assignments(expected: Json) -> Json:
    return {
        workload: _admission(value["clusterQueue"], assignment(value))
        for workload, value in expected.items()
    }


def _usages(ran: Run) -> Json:
    """Return what active ClusterQueues use; a replaced slice's part is freed by its controller."""
    used: Json = {}
    for name in ran.state.objects.cluster_queues:
        if readiness(ran.state, name).active:
            used[name] = nested(_with_replaced(ran, name))
    return used


def _with_replaced(ran: Run, name: str) -> dict[FlavorResource, int]:
    reserved = usage(queue(ran.state, name))
    for obj in ran.replaced():
        for given in assignment(obj["status"]["admission"]) if queue_of(obj) == name else ():
            for resource, units in given.usage.items():
                fr = FlavorResource(given.flavors[resource], resource)
                reserved[fr] = reserved.get(fr, 0) + units
    return reserved


def _normal_usage(expected: Json) -> Json:
    return {name: without_zeros(usage) for name, usage in expected.items()}


def _waiting(state: State) -> dict[str, list[str]]:
    value = {}
    for name in state.objects.cluster_queues:
        active, parked = heads.pending_keys(state, name)
        if active or parked:
            value[name] = sorted([*active, *parked])
    return value


def _union(left: Json, inadmissible: Json) -> dict[str, list[str]]:
    names = {*left, *inadmissible}
    return {name: sorted([*left.get(name, []), *inadmissible.get(name, [])]) for name in names}


def _same(value: Any) -> Any:  # noqa: ANN401 - plain data of any shape
    return value


def _by_name(documents: list[Json]) -> list[Json]:
    rows = [{"workload": row["workload"], "reason": row["reason"]} for row in documents]
    return sorted(rows, key=lambda row: str(row["workload"]))


_NORMAL: dict[str, Callable[[Any], Any]] = {
    "assignments": _normal_assignments,
    "newAssignments": _normal_assignments,
    "usage": _normal_usage,
    "preempted": _by_name,
    "evicted": _by_name,
    "quotaReserved": sorted,
    "admitted": sorted,
}
