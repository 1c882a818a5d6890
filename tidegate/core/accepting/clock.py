"""What time it is: ingest's heartbeats are the only clock, by the bus's timestamps.

The state's time never falls. A step of more than ``STEP_US_MAX`` that a session's own counter of
seconds does not show is a broken clock: ``ClockSkewed`` records it, and from there on the bus's
times are read with that difference taken off, until another step shows that it was mended.
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
"""Of how many sessions the newest heartbeat is remembered, the newest sessions."""
_SECOND_US = 1_000_000


def time_of(state: State, told_us: int) -> int:
    """Return the time of an observation that came at ``told_us``; changes nothing.

    A step ahead that no heartbeat has shown yet is not believed: time stands still until one does.
    """
    at_us = told_us - state.skew_us
    heard_us = max((beat.at_us for beat in state.dedup.beats.values()), default=0)
    unproven = state.expected is not None and at_us > max(state.now_us, heard_us) + STEP_US_MAX
    return state.now_us if unproven else max(state.now_us, at_us)


def hear(state: State, beat: Heartbeat, told_us: int) -> Iterator[FactEvent]:
    """Yield what a heartbeat tells, to be folded before the next is asked for.

    The first one of a session is believed, unless time would run backwards by it: after an outage
    nothing else says how long it lasted.
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
    """Return what time it must be by the session's own counter of seconds."""
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
    # Of two sessions that watch other things (a rolling upgrade) the one that began last counts.
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
    """Tell whether a session began a first list of what it does not watch: a CRD went again."""
    return any(
        round_seen.session == beat.session and not round_seen.completed
        for resource, round_seen in state.rounds.items()
        if resource not in beat.resources and resource not in (state.expected or ())
    )
