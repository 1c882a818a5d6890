"""The story of ``tidegate why`` as records, for programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from tidegate.cli.times import utc
from tidegate.replay.story.context import EventContext, StoppedQueue
from tidegate.replay.story.freeing import FreedQuota
from tidegate.replay.story.waits import Wait, waits
from tidegate.replay.story.why import Line, Story

Notes: TypeAlias = Mapping[int, EventContext]
_SECOND_US = 1_000_000


def story_record(story: Story, notes: Notes) -> dict[str, Any]:
    """Return a story for programs."""
    return {
        "workload": story.workload,
        "uid": story.uid,
        "job": story.job,
        "phase": story.phase,
        "clusterQueue": story.cluster_queue,
        "lines": [_line_record(line, notes) for line in story.lines],
        "waits": [_wait_record(wait) for wait in waits(story, notes)],
    }


def _line_record(line: Line, notes: Notes) -> dict[str, Any]:
    note = notes.get(line.seq)
    return {
        "seq": line.seq,
        "at": utc(line.at_us),
        "type": line.what,
        "text": line.text,
        "reason": line.reason,
        "tried": line.tried,
        **({"placements": line.placements} if line.placements else {}),
        **({} if note is None else _context_record(note)),
    }


def _context_record(note: EventContext) -> dict[str, Any]:
    mine, preemptor = note.priorities or (None, None)
    fields: dict[str, Any] = {
        "ahead": note.ahead,
        "aheadFirst": note.ahead_first,
        "freedBy": [_freed_record(freed) for freed in note.freed],
        "priority": mine,
        "preemptorPriority": preemptor,
        "intentSeq": note.intent_seq,
        "borrowed": note.borrowed,
        "stopped": [_stopped_record(stopped) for stopped in note.stopped],
    }
    return {name: value for name, value in fields.items() if value}


def _stopped_record(stopped: StoppedQueue) -> dict[str, Any]:
    return {
        "kind": stopped.kind,
        "name": stopped.name,
        "policy": stopped.policy,
        "at": utc(stopped.at_us),
        "by": stopped.by,
    }


def _freed_record(freed: FreedQuota) -> dict[str, Any]:
    return {
        "seq": freed.seq,
        "at": utc(freed.at_us),
        "type": freed.type,
        "object": freed.object,
        "amounts": freed.amounts,
    }


def _wait_record(wait: Wait) -> dict[str, Any]:
    ended = bool(wait.outcome)
    return {
        "fromSeq": wait.from_seq,
        "from": utc(wait.from_us),
        "toSeq": wait.to_seq if ended else None,
        "to": utc(wait.to_us) if ended else None,
        "seconds": (wait.to_us - wait.from_us) / _SECOND_US if ended else None,
        "outcome": wait.outcome,
        "reason": wait.reason,
        "reasonSeq": wait.reason_seq or None,
        "tried": wait.tried,
        "checks": wait.checks,
        "ahead": wait.ahead,
        "aheadFirst": wait.ahead_first,
        "freedBy": [_freed_record(freed) for freed in wait.freed],
        "stopped": [_stopped_record(stopped) for stopped in wait.stopped],
    }
