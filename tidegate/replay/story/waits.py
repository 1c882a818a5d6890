"""The waits in a workload's story: the duration, the reason and the end of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from tidegate.contracts.decisions import FlavorTried
from tidegate.model.calendar import utc_text
from tidegate.model.ids import UNSATISFIED_CHECKS
from tidegate.model.texts import printable
from tidegate.replay.story.context import EventContext, StoppedQueue
from tidegate.replay.story.freeing import FreedQuota
from tidegate.replay.story.sentences import tried_text
from tidegate.replay.story.why import Line, Story

_BEGINS = ("WorkloadSubmitted", "WorkloadRequeued")
_ENDS = {
    "WorkloadAdmitted": "admitted",
    "WorkloadAdopted": "adopted",
    "WorkloadEvicted": "evicted",
    "WorkloadDeactivated": "deactivated",
    "WorkloadFinished": "finished",
    "WorkloadRemoved": "removed",
}
NOTHING = EventContext()


class Wait(msgspec.Struct, kw_only=True):
    """One wait, from the submission or a requeuing on."""

    from_seq: int
    from_us: int
    to_seq: int = 0  # 0: it has not ended
    to_us: int = 0
    outcome: str = ""  # admitted, adopted, evicted, deactivated, finished, removed; empty: waits
    reason: str = ""  # the last pending reason; empty: none
    reason_seq: int = 0
    tried: tuple[FlavorTried, ...] = ()
    checks: dict[str, str] = {}  # with quota: its admission checks and their last states
    ahead: int = 0
    ahead_first: tuple[str, ...] = ()
    freed: tuple[FreedQuota, ...] = ()
    stopped: tuple[StoppedQueue, ...] = ()
    reserved_seq: int = 0


def waits(story: Story, notes: Mapping[int, EventContext]) -> list[Wait]:
    """Return a story's waits, in order; all but the last have ended."""
    result: list[Wait] = []
    for line in story.lines:
        begins = line.what in _BEGINS or (line.what == "VariantCreated" and not result)
        if begins and (not result or result[-1].outcome):
            result.append(Wait(from_seq=line.seq, from_us=line.at_us))
        elif result and not result[-1].outcome:
            _add_context(result[-1], line, notes.get(line.seq, NOTHING))
    return result


def annotated_lines(story: Story, notes: Mapping[int, EventContext]) -> Iterator[tuple[Line, str]]:
    """Yield a story's lines, each with its context as text; empty: it has none."""
    for line in story.lines:
        note = notes.get(line.seq)
        yield line, "" if note is None else " ".join(_context_texts(note, story.cluster_queue))


def needed_text(wait: Wait) -> str:
    """Return what a wait was for: admission checks, stopped queues, or flavors tried; or ""."""
    if wait.reason == UNSATISFIED_CHECKS:
        checks = (f"{name} ({printable(message)})" for name, message in sorted(wait.checks.items()))
        return f"it has quota and waits for admission checks: {', '.join(checks)}"
    if wait.stopped:
        return "; ".join(map(stopped_text, wait.stopped))
    return "; ".join(map(tried_text, wait.tried))


def stopped_text(stopped: StoppedQueue) -> str:
    """Return a sentence about the author and the time of a stop policy."""
    by = f" by {printable(stopped.by)}" if stopped.by else " (author not recorded)"
    since = utc_text(stopped.at_us)
    return f"{stopped.kind} {stopped.name} was stopped{by} at {since} ({stopped.policy})"


def freed_text(freed: FreedQuota) -> str:
    """Return an event that freed quota as text, with its seq."""
    amounts = _amounts_text(freed.amounts)
    verb = {
        "WorkloadFinished": "finished",
        "WorkloadRemoved": "was removed",
        "QuotaReleased": "released its quota",
    }.get(freed.type, f"changed ({freed.type})")
    return f"{freed.object} {verb} (seq {freed.seq}{': ' + amounts if amounts else ''})"


def _add_context(wait: Wait, line: Line, note: EventContext) -> None:
    if line.what == "WorkloadPending":
        wait.reason, wait.reason_seq, wait.tried = line.reason, line.seq, line.tried
        wait.ahead, wait.ahead_first = note.ahead, note.ahead_first
        wait.stopped = note.stopped
    elif line.what == "QuotaReserved":
        wait.freed, wait.reserved_seq = note.freed, line.seq
        wait.checks = dict(line.checks)
        if wait.checks:
            wait.reason, wait.reason_seq, wait.tried = UNSATISFIED_CHECKS, line.seq, ()
    elif line.what == "CheckReported":
        wait.checks |= {
            name: message for name, message in line.checks.items() if name in wait.checks
        }
    elif line.what in _ENDS and not (line.what == "WorkloadEvicted" and not wait.reserved_seq):
        wait.outcome, wait.to_seq, wait.to_us = _ENDS[line.what], line.seq, line.at_us


def _context_texts(note: EventContext, cluster_queue: str) -> Iterator[str]:
    if note.ahead:
        more = note.ahead - len(note.ahead_first)
        names = ", ".join(note.ahead_first) + (f" and {more} more" if more else "")
        yield f"Ahead of it in {cluster_queue}: {names}."
    if note.freed:
        yield f"Quota was freed: {'; '.join(map(freed_text, note.freed))}."
    if note.priorities is not None:
        mine, preemptor = note.priorities
        intent = f", decided by seq {note.intent_seq}" if note.intent_seq else ""
        yield f"Its priority is {mine}, its preemptor's {preemptor}{intent}."
    for stopped in note.stopped:
        yield f"{stopped_text(stopped)}."
    if note.borrowed:
        yield f"{cluster_queue} had borrowed {_amounts_text(note.borrowed)}."


def _amounts_text(by_flavor: Mapping[str, Mapping[str, str]]) -> str:
    return ", ".join(
        f"{resource} {amount} of {flavor}"
        for flavor, by_resource in by_flavor.items()
        for resource, amount in by_resource.items()
    )
