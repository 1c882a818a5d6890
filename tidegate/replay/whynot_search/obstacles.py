"""Obstacles that keep a workload from being tried at all, whatever quota there is."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tidegate.core.accepting.jobs.adoption import has_synced
from tidegate.core.queueing.admission_checks import required_checks
from tidegate.core.quota.forest import forest
from tidegate.core.quota.readiness import readiness
from tidegate.core.state.state import State, Workload
from tidegate.model.quota import COHORTS_MAX

_SECOND_US = 1_000_000


class Obstacle(msgspec.Struct, frozen=True, kw_only=True):
    """One condition that has to change, and the command or action for it."""

    code: str  # for programs
    text: str  # a sentence
    since_us: int = 0  # when a user caused it; 0: no user did, or the time is not known
    until_us: int = 0  # when it ends by itself; 0: it does not, or the time is not known


def obstacles(state: State, workload: Workload) -> list[Obstacle]:
    """Return all obstacles that keep a pending workload from being tried."""
    return [
        *_list_obstacles(state),
        *_workload_obstacles(state, workload),
        *_queue_obstacles(state, workload),
    ]


def pending_checks(state: State, workload: Workload) -> Iterator[Obstacle]:
    """Yield the admission checks that a workload with quota waits for, with their last states."""
    for name in required_checks(state, workload.cluster_queue, workload.assignment):
        state_of_check = workload.checks.get(name)
        if state_of_check is None:
            text = f"Admission check {name} has no state yet: see its controller."
            yield Obstacle(code="AdmissionCheck", text=text)
        elif state_of_check.state != "Ready":
            more = f": {state_of_check.message}" if state_of_check.message else "."
            text = f"Admission check {name} is {state_of_check.state}{more}"
            yield Obstacle(code="AdmissionCheck", text=text)


def _list_obstacles(state: State) -> Iterator[Obstacle]:
    if not has_synced(state):
        text = (
            "ingest has not listed all resources yet, so the scheduler decides nothing: see "
            "`tidegate doctor`."
        )
        yield Obstacle(code="NotListed", text=text)


def _workload_obstacles(state: State, workload: Workload) -> Iterator[Obstacle]:
    if not workload.active:
        yield Obstacle(code="Inactive", text="Its Workload has spec.active: false; set it to true.")
    if workload.gates:
        text = f"It has the gates {', '.join(workload.gates)}: each has to be removed."
        yield Obstacle(code="Gated", text=text)
    if workload.requeue_after_us > state.now_us:
        left_s = -(-(workload.requeue_after_us - state.now_us) // _SECOND_US)
        text = f"Its back-off ends in {left_s} s, after {workload.requeue_count} attempts."
        yield Obstacle(code="BackingOff", text=text, until_us=workload.requeue_after_us)
    if workload.made_way_for:
        text = f"Its preemptor {workload.made_way_for} has to be admitted first."
        yield Obstacle(code="MadeWay", text=text)
    intent = state.intents.get(workload.key)
    if intent is not None:
        leaving = [
            victim.workload
            for victim in intent.victims
            if victim.workload in state.workloads
            and state.workloads[victim.workload].phase == "evicting"
        ]
        text = (
            f"It starts once these workloads have stopped: {', '.join(leaving) or 'none is left'}."
        )
        yield Obstacle(code="WaitingForPreempted", text=text)


def _queue_obstacles(state: State, workload: Workload) -> Iterator[Obstacle]:
    key = workload.local_queue
    local = state.objects.local_queues.get(key)
    if local is None:
        yield Obstacle(code="NoLocalQueue", text=f"LocalQueue {key} does not exist: create it.")
        return
    if local.deleting:
        yield Obstacle(code="LocalQueueGoes", text=f"LocalQueue {key} is being deleted.")
    if local.spec.stop_policy != "None":
        by, since_us = _stopped_by(state, key)
        text = f"LocalQueue {key} is stopped: its stopPolicy is {local.spec.stop_policy}{by}."
        yield Obstacle(code="LocalQueueStopped", text=text, since_us=since_us)
    name = local.spec.cluster_queue
    status = readiness(state, name)
    if not status.active:
        text = f"ClusterQueue {name} is not active: {status.message}"
        since_us = _stopped_by(state, name)[1] if status.reason == "Stopped" else 0
        yield Obstacle(code=f"ClusterQueue{status.reason}", text=text, since_us=since_us)
    elif forest(state).cluster_queues[name].tree.cyclic:
        above = f"form a cycle or are more than {COHORTS_MAX}"
        text = f"The Cohorts above ClusterQueue {name} {above}: change a parentName."
        yield Obstacle(code="CohortCycle", text=text)


def _stopped_by(state: State, key: str) -> tuple[str, int]:
    """Return the author of a queue's stopPolicy, as the end of a sentence, and its time."""
    stop = state.objects.stops.get(key)
    if stop is None:
        return "", 0
    return f", set by {stop.by}" if stop.by else "", stop.at_us
