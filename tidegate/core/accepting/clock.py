"""Heartbeats of ingest's sessions: the state's only clock, and which kinds of jobs are watched.

The state's time never falls. A step of more than ``STEP_US_MAX`` that a session's own counter of
seconds does not show is a broken clock: ``ClockSkewed`` records it, and from then on the difference
is subtracted from NATS' timestamps, until another step shows that the clock was corrected. Then
nothing is: what still differs is how late heartbeats are, and where the ledger's time is ahead it
stands still for as long.

Jobs that ingest does not watch any more (their kind was disabled, or its CRD removed) release their
quota: no observation would ever show that such a job stops or ends. This waits a little: an API
server that starts may not know a custom resource for a moment.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.contracts.facts import (
    ClockSkewed,
    FactEvent,
    TimePassed,
    WatchesExpected,
    WorkloadRemoved,
)
from tidegate.contracts.observations import Heartbeat
from tidegate.core.accepting.jobs.adoption import has_synced
from tidegate.core.accepting.jobs.observed import remove_workloads
from tidegate.core.members.cluster_status import detect_silent_members, is_open
from tidegate.core.state import deadlines
from tidegate.core.state.dedup import Beat
from tidegate.core.state.state import STEP_US_MAX, State
from tidegate.model.clusters import cluster_of
from tidegate.model.ids import NOT_WATCHED

SESSIONS_MAX = 16
"""For how many sessions, the newest, the last heartbeat is remembered."""
_SECOND_US = 1_000_000
UNWATCHED_US_MAX = 10_000_000
"""How long a resource must be unwatched before its workloads are removed, in microseconds."""


def time_of(state: State, stored_us: int) -> int:
    """Return the time of an observation that NATS stored at ``stored_us``; changes nothing.

    A step ahead that no heartbeat has confirmed is ignored: time stands still until one does.
    """
    at_us = stored_us - state.skew_us
    heard_us = max((beat.at_us for beat in state.dedup.beats.values()), default=0)
    unproven = state.expected is not None and at_us > max(state.now_us, heard_us) + STEP_US_MAX
    return state.now_us if unproven else max(state.now_us, at_us)


def accept_heartbeat(state: State, heartbeat: Heartbeat, stored_us: int) -> Iterator[FactEvent]:
    """Yield the facts of a heartbeat, each to be folded before the next is taken.

    The first heartbeat of a session sets the time, unless it would run backwards: after an outage
    nothing else shows how long that lasted.
    """
    last = state.dedup.beats.get(heartbeat.session)
    if last is not None and heartbeat.beat <= last.beat:
        return
    at_us = stored_us - state.skew_us
    expected_us = _expected_us(state, last, heartbeat, at_us)
    if abs(at_us - expected_us) > STEP_US_MAX:
        yield ClockSkewed(at_us=expected_us, stored_us=stored_us)
        at_us = expected_us
    at_us = max(at_us, state.now_us)
    _remember_heartbeat(state, heartbeat, at_us)
    yield from _expected_watches(state, last, heartbeat, at_us)
    if last is None or last.resources != heartbeat.resources:
        record_unwatched(state, heartbeat, at_us)
    yield from _release_unwatched(state, at_us)
    yield from detect_silent_members(state, at_us)
    due_us = deadlines.next_due(state)
    if due_us is not None and due_us <= at_us:
        yield TimePassed(at_us=at_us)


def _expected_us(state: State, last: Beat | None, heartbeat: Heartbeat, at_us: int) -> int:
    """Return the time by the session's own counter of seconds."""
    if last is not None:
        return max(state.now_us, last.at_us + (heartbeat.beat - last.beat) * _SECOND_US)
    return max(state.now_us, at_us)


def _remember_heartbeat(state: State, heartbeat: Heartbeat, at_us: int) -> None:
    beats = state.dedup.beats
    beats.pop(heartbeat.session, None)  # the newest last
    beats[heartbeat.session] = Beat(beat=heartbeat.beat, at_us=at_us, resources=heartbeat.resources)
    if len(beats) > SESSIONS_MAX:
        del beats[next(iter(beats))]


def _expected_watches(
    state: State, last: Beat | None, heartbeat: Heartbeat, at_us: int
) -> Iterator[WatchesExpected]:
    # If two sessions watch different resources (a rolling upgrade), the one that began last counts.
    if last is not None and last.resources == heartbeat.resources and state.expected is not None:
        if _has_abandoned_list(state, heartbeat):
            yield WatchesExpected(at_us=at_us, resources=state.expected)
        return
    members = (name for name in state.expected or () if cluster_of(name))
    resources = tuple(sorted({*heartbeat.resources, *members}))
    begun = any(name not in resources for name in state.rounds if not cluster_of(name))
    if heartbeat.resources and (resources != state.expected or begun):
        yield WatchesExpected(at_us=at_us, resources=resources)


def _has_abandoned_list(state: State, heartbeat: Heartbeat) -> bool:
    """Tell whether a session began to list a resource and stopped watching it: its CRD is gone."""
    return any(
        round_seen.session == heartbeat.session and not round_seen.completed
        for resource, round_seen in state.rounds.items()
        if resource not in heartbeat.resources and resource not in (state.expected or ())
    )


def record_unwatched(state: State, heartbeat: Heartbeat, at_us: int) -> None:
    """Note the job resources that a session does not watch. Costs O(workloads)."""
    if not heartbeat.resources:
        return  # the heartbeat does not name what its session watches
    watched, since = set(heartbeat.resources), state.dedup.unwatched
    cluster = cluster_of(heartbeat.session)
    resources = dict.fromkeys(workload.resource for workload in state.workloads.values())
    missing = (name for name in resources if name and name not in watched)
    own = (name for name in missing if cluster_of(name) == cluster)
    others = {name: at for name, at in since.items() if cluster_of(name) != cluster}
    state.dedup.unwatched = others | {name: since.get(name, at_us) for name in own}


def _release_unwatched(state: State, at_us: int) -> Iterator[WorkloadRemoved]:
    """Yield the removal of workloads whose jobs no session has watched for ``UNWATCHED_US_MAX``."""
    for resource, since_us in list(state.dedup.unwatched.items()):
        if at_us - since_us < UNWATCHED_US_MAX or not has_synced(state):
            continue
        if not is_open(state, cluster_of(resource)):
            continue  # a silent cluster's resource may be watched by now
        del state.dedup.unwatched[resource]
        if _is_watched(state, resource, at_us - UNWATCHED_US_MAX):
            continue
        for key in [
            key for key, workload in state.workloads.items() if workload.resource == resource
        ]:
            other = state.workloads.get(key)
            if other is not None:
                yield from remove_workloads(state, at_us, other, other.version, NOT_WATCHED)


def _is_watched(state: State, resource: str, since_us: int) -> bool:
    """Tell whether another session, as in a rolling upgrade, still watches a resource."""
    beats = state.dedup.beats.values()
    return any(resource in beat.resources for beat in beats if beat.at_us >= since_us)
