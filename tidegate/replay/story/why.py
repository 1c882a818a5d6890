"""Builds the story of one workload: its events in order, with times and amounts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from tidegate.contracts import decisions, facts
from tidegate.contracts.codec import decode, type_name
from tidegate.contracts.decision_kinds.placements import PlacementTried, SecondPassFailed
from tidegate.contracts.entry import Entry
from tidegate.contracts.facts import Event
from tidegate.contracts.phases import AnyPhase, phase_after
from tidegate.model.ids import ObjectRef
from tidegate.replay.story.sentences import StoryEvent, sentence


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One event of the story."""

    seq: int
    at_us: int
    what: str  # the event's type
    text: str  # one sentence
    of: str = ""  # the event's workload: itself, a variant, or a victim
    reason: str = ""  # where the event has one, e.g. WaitingForQuota
    tried: tuple[decisions.FlavorTried, ...] = ()  # of WorkloadPending
    placements: tuple[PlacementTried, ...] = ()  # why pods found no nodes
    checks: dict[str, str] = {}  # admission checks to their states, e.g. "Pending"


class Story(msgspec.Struct, kw_only=True):
    """A workload from its submission on."""

    workload: str
    uid: str = ""
    job: ObjectRef | None = None
    phase: AnyPhase = "unknown"
    active: bool = True  # spec.active
    cluster_queue: str = ""
    partition: int = 0  # of its ledger
    lines: list[Line] = []


def story_of(entries: Iterable[Entry], workload: str) -> Story:
    """Return the story of the workload with this key, "<namespace>/<name>".

    ``entries`` may be a part of a ledger, or only entries that name the workload. O(1) memory
    beside the story; entries that do not name the workload are not decoded.
    """
    story = Story(workload=workload)
    for entry, event, owner in _events_of(entries, workload):
        story.partition = entry.partition
        request = event.submission if isinstance(event, decisions.VariantCreated) else event
        if isinstance(request, facts.WorkloadSubmitted) and request.workload == workload:
            story.uid, story.job = request.uid, request.job
        is_about = getattr(event, "workload", "") == workload
        if is_about or _is_parent_of(workload, event):
            story.phase = phase_after(story.phase, event, workload, was_active=story.active)
        if is_about:
            story.active = getattr(event, "active", story.active)
            story.cluster_queue = getattr(event, "cluster_queue", "") or story.cluster_queue
        story.lines.append(_line_of(entry, event, workload, owner))
    return story


def _events_of(entries: Iterable[Entry], workload: str) -> Iterator[tuple[Entry, StoryEvent, str]]:
    """Yield the events of a workload and of its variants, each with its workload.

    Facts are recorded for a parent and for each variant: only the parent's are yielded.
    """
    quoted = {workload: f'"{workload}"'}  # a key has no characters that JSON escapes
    for entry in entries:
        if not any(part in entry.payload for part in quoted.values()):
            continue
        event = decode(entry.payload)
        if _is_parent_of(workload, event) and isinstance(event, decisions.VariantCreated):
            quoted[event.workload] = f'"{event.workload}"'
        owner = next((key for key in quoted if _is_about(event, key)), "")
        recorded_once = owner == workload or isinstance(event, decisions.WorkloadDecision)
        if owner and recorded_once and isinstance(event, StoryEvent):
            yield entry, event, owner


def _is_parent_of(workload: str, event: Event) -> bool:
    return getattr(event, "parent", "") == workload


def _is_about(event: Event, workload: str) -> bool:
    by_it = isinstance(event, decisions.WorkloadPreempted) and event.by == workload
    return by_it or getattr(event, "workload", "") == workload


def _line_of(entry: Entry, event: StoryEvent, workload: str, owner: str) -> Line:
    text = sentence(event, owner)
    in_its_stead = owner != workload and not _is_parent_of(workload, event)
    return Line(
        seq=entry.seq,
        at_us=entry.at_us,
        what=type_name(event),
        text=f"{owner}: {text}" if in_its_stead else text,
        of=str(getattr(event, "workload", "")),
        reason=str(getattr(event, "reason", "")),
        tried=event.tried if isinstance(event, decisions.WorkloadPending) else (),
        placements=_placements(event),
        checks=_checks(event),
    )


def _placements(event: StoryEvent) -> tuple[PlacementTried, ...]:
    if isinstance(event, decisions.WorkloadPending | SecondPassFailed):
        return event.placements
    return ()


def _checks(event: StoryEvent) -> dict[str, str]:
    match event:
        case decisions.QuotaReserved():
            return dict.fromkeys(event.checks, "Pending")
        case facts.CheckReported():
            return {event.check: f"{event.state}: {event.message}".removesuffix(": ")}
        case _:
            return {}
