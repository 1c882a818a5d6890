"""What a step came to, in the words of the recorded files."""

from __future__ import annotations

from collections.abc import Iterable

from tests.conformance.amounts import nested
from tests.conformance.cases import Json
from tests.conformance.nodes import cohorts, queue, root, usage
from tests.conformance.topologies import domains
from tests.differential.world import World
from tidegate.contracts.decisions import (
    DecisionEvent,
    PreemptionIntended,
    QuotaReserved,
    Victim,
    WorkloadEvicted,
)
from tidegate.core.queueing import heads
from tidegate.core.state.state import State, Workload
from tidegate.model.podset import PodSetAssignment

_HOLDING = ("reserved", "admitted", "evicting")


def state(world: World, acted: Iterable[DecisionEvent]) -> Json:
    """Return the members of a step's expected state; ``acted``: decided on the actions alone."""
    state = world.state
    evictions = [decision for decision in acted if isinstance(decision, WorkloadEvicted)]
    return {
        "admitted": {
            workload.job.name: _admission(workload)
            for workload in state.workloads.values()
            if _holds(workload)
        },
        "usage": _queue_usage(state),
        "cohortUsage": _cohort_usage(state),
        "inactive": sorted(
            workload.job.name
            for workload in state.workloads.values()
            if not workload.active and workload.phase != "finished"
        ),
        "evicted": sorted(
            [eviction.workload.partition("/")[2], eviction.reason] for eviction in evictions
        ),
        "pending": _pending(state),
    }


def recorded_state(expected: Json) -> Json:
    """Return a step's expected state with its defaults; a queue's two lists become one."""
    return {
        "admitted": expected.get("admitted", {}),
        "usage": expected.get("usage", {}),
        "cohortUsage": expected.get("cohortUsage", {}),
        "inactive": sorted(expected.get("inactive", ())),
        "evicted": sorted(expected.get("evicted", ())),
        "pending": {
            queue: sorted([*lists.get("active", ()), *lists.get("inadmissible", ())])
            for queue, lists in expected.get("pending", {}).items()
        },
    }


def event(decisions: Iterable[DecisionEvent]) -> Json:
    """Return a cycle's admissions and preemptions in their order; empty if it had none."""
    fields: Json = {}
    for decision in decisions:
        if isinstance(decision, QuotaReserved):
            fields.setdefault("admit", []).append(_name(decision))
        elif isinstance(decision, PreemptionIntended):
            victims = sorted([_name(victim), str(victim.reason)] for victim in decision.victims)
            fields.setdefault("preempt", []).append({"by": _name(decision), "victims": victims})
    return fields


def _name(decision: QuotaReserved | PreemptionIntended | Victim) -> str:
    return decision.workload.partition("/")[2]


def preemptions(cycles: Iterable[Json]) -> list[tuple[str, str, str]]:
    """Return preemptor, victim and reason, sorted, each as often as it happened."""
    return sorted(
        (preemption["by"], victim, reason)
        for cycle in cycles
        for preemption in cycle.get("preempt", ())
        for victim, reason in preemption["victims"]
    )


def order(cycles: Iterable[Json], trees: dict[str, str]) -> list[Json]:
    """Return the cycles' events without their numbers.

    Under fair sharing the admissions of one cycle in unrelated trees come in any order: they are
    grouped by ``trees``, workload to its tree. Without it, pass no trees.
    """
    return [
        {
            "admit": sorted(cycle.get("admit", ()), key=lambda name: trees.get(name, "")),
            "preempt": sorted(
                cycle.get("preempt", ()),
                key=lambda preemption: trees.get(str(preemption["by"]), ""),
            ),
        }
        for cycle in cycles
    ]


def trees(world: World) -> dict[str, str]:
    """Return the root of each workload's cohort tree, by the workload's name."""
    state = world.state
    roots: dict[str, str] = {}
    for name in state.objects.cluster_queues:
        roots[name] = root(queue(state, name)).name
    queues = {
        candidate_queue.name: candidate_queue.spec.cluster_queue
        for candidate_queue in state.objects.local_queues.values()
    }
    return {name: roots[queues[asked.queue]] for name, asked in world.asked.items()}


def _holds(workload: Workload) -> bool:
    return workload.phase in _HOLDING


def _admission(workload: Workload) -> Json:
    return {given.name: _assigned(given) for given in workload.assignment}


def _assigned(given: PodSetAssignment) -> Json:
    fields: Json = {"count": given.count, "flavors": dict(given.flavors)}
    return fields if given.topology is None else {**fields, "places": domains(given.topology)}


def _queue_usage(state: State) -> Json:
    used = {name: nested(usage(queue(state, name))) for name in state.objects.cluster_queues}
    return {name: mapping for name, mapping in used.items() if mapping}


def _cohort_usage(state: State) -> Json:
    used: Json = {}
    for name, node in cohorts(state).items():
        mapping = nested(usage(node))
        if mapping:
            used[name] = mapping
    return used


def _pending(state: State) -> Json:
    waiting: Json = {}
    for name in state.objects.cluster_queues:
        active, parked = heads.pending_keys(state, name)
        names = sorted(workload.partition("/")[2] for workload in [*active, *parked])
        if names:
            waiting[name] = names
    return waiting
