"""The state's time: ingest's heartbeats are the only clock, by NATS' timestamps.

The state's time never falls. A step of more than ``STEP_US_MAX`` that a session's own counter of
seconds does not show is a broken clock: ``ClockSkewed`` records it, and from then on the difference
is subtracted from NATS' timestamps, until another step shows that the clock was corrected.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.contracts.facts import ClockSkewed, FactEvent, TimePassed, WatchesExpected
from tidegate.contracts.observations import Heartbeat
from tidegate.core.accepting.unwatched import note_unwatched, release_unwatched
from tidegate.core.members.hearing import fall_silent
from tidegate.core.state import deadlines
from tidegate.core.state.dedup import Beat
from tidegate.core.state.state import State
from tidegate.model.clusters import cluster_of

STEP_US_MAX = 300_000_000
SESSIONS_MAX = 16
"""For how many sessions, the newest, the last heartbeat is remembered."""
_SECOND_US = 1_000_000


def time_of(state: State, told_us: int) -> int:
    """Return the time of an observation that NATS stored at ``told_us``; changes nothing.

    A step ahead that no heartbeat has confirmed is ignored: time stands still until one does.
    """
    at_us = told_us - state.skew_us
    heard_us = max((beat.at_us for beat in state.dedup.beats.values()), default=0)
    unproven = state.expected is not None and at_us > max(state.now_us, heard_us) + STEP_US_MAX
    return state.now_us if unproven else max(state.now_us, at_us)


def take_heartbeat(state: State, beat: Heartbeat, told_us: int) -> Iterator[FactEvent]:
    """Yield the facts of a heartbeat, each to be folded before the next is taken.

    The first heartbeat of a session sets the time, unless it would run backwards: after an outage
    nothing else shows how long that lasted.
    """
    last = state.dedup.beats.get(beat.session)
    if last is not None and beat.beat <= last.beat:
        return
    at_us = told_us - state.skew_us
    expected_us = _expected_us(state, last, beat, at_us)
    if abs(at_us - expected_us) > STEP_US_MAX:
        yield ClockSkewed(at_us=expected_us, told_us=told_us)
        at_us = expected_us
    at_us = max(at_us, state.now_us)
    _remember(state, beat, at_us)
    yield from _watches(state, last, beat, at_us)
    if last is None or last.resources != beat.resources:
        note_unwatched(state, beat, at_us)
    yield from release_unwatched(state, at_us)
    yield from fall_silent(state, at_us)
    due_us = deadlines.next_due(state)
    if due_us is not None and due_us <= at_us:
        yield TimePassed(at_us=at_us)


def _expected_us(state: State, last: Beat | None, beat: Heartbeat, at_us: int) -> int:
    """Return the time by the session's own counter of seconds."""
    if last is not None:
        return max(state.now_us, last.at_us + (beat.beat - last.beat) * _SECOND_US)
    return max(state.now_us, at_us)


def _remember(state: State, beat: Heartbeat, at_us: int) -> None:
    beats = state.dedup.beats
    beats.pop(beat.session, None)  # the newest last
    beats[beat.session] = Beat(beat=beat.beat, at_us=at_us, resources=beat.resources)
    if len(beats) > SESSIONS_MAX:
        del beats[next(iter(beats))]


def _watches(
    state: State, last: Beat | None, beat: Heartbeat, at_us: int
) -> Iterator[WatchesExpected]:
    # If two sessions watch different resources (a rolling upgrade), the one that began last counts.
    if last is not None and last.resources == beat.resources and state.expected is not None:
        if _gave_up(state, beat):
            yield WatchesExpected(at_us=at_us, resources=state.expected)
        return
    members = (name for name in state.expected or () if cluster_of(name))
    resources = tuple(sorted({*beat.resources, *members}))
    begun = any(name not in resources for name in state.rounds if not cluster_of(name))
    if beat.resources and (resources != state.expected or begun):
        yield WatchesExpected(at_us=at_us, resources=resources)


def _gave_up(state: State, beat: Heartbeat) -> bool:
    """Tell whether a session began to list a resource and stopped watching it: its CRD is gone."""
    return any(
        round_seen.session == beat.session and not round_seen.completed
        for resource, round_seen in state.rounds.items()
        if resource not in beat.resources and resource not in (state.expected or ())
    )
