"""Inject a start's fields into the podsets of a job; a stop removes exactly these again."""

from __future__ import annotations

from typing import Any

import msgspec

from tidegate.contracts.decisions import PodSetStart
from tidegate.errors import UndecodableError
from tidegate.jobs.job_metadata import is_held_back
from tidegate.jobs.job_status import (
    Layout,
    Place,
    charged_at,
    template_at,
    with_template,
    without_made,
)
from tidegate.jobs.kind import Object, Refused, Start
from tidegate.jobs.templates.notes import Added, restored
from tidegate.jobs.templates.paths import found_at, parsed, shown, with_value
from tidegate.jobs.templates.template import conflicts, held_back, injected, known


class PodSetNote(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The changes of a start to one podset."""

    added: Added = Added()
    made: tuple[str, ...] = ()  # objects that had to be made on the way to a part
    count: int | None = None  # as it was; None: not changed


class Note(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """The changes of a start to a job, as recorded in ``tidegate.dev/injected``."""

    podsets: dict[str, PodSetNote] = {}
    was: dict[str, Any] = {}  # by path: what was written over; null: there was nothing


def placed(layout: Layout, before: Object, start: Start) -> tuple[Object, Note] | Refused:
    """Return a job with what a start puts in, and the note of it; or why it cannot."""
    places = layout.places(before)
    meta = before["metadata"]
    elastic = is_held_back(meta.get("labels", {}), meta.get("annotations", {}))
    podsets = (
        held_back(podset, start.order.job.uid) if elastic else podset
        for podset in start.order.podsets
    )
    by_name = {podset.name: podset for podset in podsets}
    problem = _mismatch(before, places, by_name)
    if problem:
        return Refused(reason="invalid", message=problem)
    try:
        if layout.inject is not None:
            return _written_over(layout, before, by_name)
        return _put_in(before, places, by_name)
    except UndecodableError as error:
        return Refused(reason="invalid", message=str(error))


def unplaced(layout: Layout, job: Object, note: Note) -> Object:
    """Return a job as it was before ``placed`` gave this note."""
    before = job
    for place in layout.places(job):
        podset_note = note.podsets.get(place.name, PodSetNote())
        if place.is_written:
            template = restored(template_at(before, place), podset_note.added)
            before = without_made(with_template(before, place, template)[0], podset_note.made)
        if podset_note.count is not None and place.count_path is not None:
            before = with_value(before, place.count_path, podset_note.count)
    for path, value in note.was.items():
        if parsed(path)[0] == "spec":  # any user may have edited the note
            before = with_value(before, parsed(path), value)
    return before


def known_note(layout: Layout, job: Object, podsets: tuple[PodSetStart, ...]) -> Note:
    """Return the note that the ledger's knowledge of a start amounts to; see ``before_start``."""
    if layout.inject is not None:
        return Note(
            was={shown(path): value for path, value in layout.unnoted(job)} if podsets else {}
        )
    starts, notes = {podset.name: podset for podset in podsets}, dict[str, PodSetNote]()
    for place in layout.places(job):
        start = starts.get(place.name)
        if start is not None and place.is_written:
            lowered = place.count_path is not None and place.count < start.count
            notes[place.name] = PodSetNote(
                added=known(template_at(job, place), start),
                count=start.count if lowered else None,
            )
    return Note(podsets=notes)


def _mismatch(job: Object, places: tuple[Place, ...], podsets: dict[str, PodSetStart]) -> str:
    """Return in a sentence what of a start does not fit a job; empty if all does."""
    unknown = sorted(podsets.keys() - {place.name for place in places})
    if unknown:
        return f"The start names podset {unknown[0]}, which the job has not."
    for place in places:
        if place.name not in podsets:
            return f"The start has no podset {place.name}."
        problem = conflicts(charged_at(job, place), podsets[place.name])
        if problem:
            return problem
    return ""


def _put_in(
    job: Object, places: tuple[Place, ...], podsets: dict[str, PodSetStart]
) -> tuple[Object, Note]:
    notes, was = dict[str, PodSetNote](), dict[str, Any]()
    for place in places:
        if place.template is not None and found_at(job, place.template) is None:
            was[shown(place.template)] = None
        job, note = _placed(job, place, podsets[place.name])
        if note != PodSetNote():
            notes[place.name] = note
    return job, Note(podsets=notes, was=was)


def _placed(job: Object, place: Place, podset: PodSetStart) -> tuple[Object, PodSetNote]:
    template, added = injected(template_at(job, place), podset)
    job, parents = with_template(job, place, template)
    note = PodSetNote(added=added, made=parents)
    if podset.count < place.count and place.count_path is not None:
        note = msgspec.structs.replace(note, count=found_at(job, place.count_path))
        job = with_value(job, place.count_path, podset.count)
    return job, note


def _written_over(
    layout: Layout, before: Object, podsets: dict[str, PodSetStart]
) -> tuple[Object, Note]:
    assert layout.inject is not None, "only such kinds write over"
    job = layout.inject(before, podsets)
    was = {
        shown(path): found_at(before, path)
        for path in layout.written_over(before)
        if found_at(before, path) != found_at(job, path)
    }
    return job, Note(was=was)
