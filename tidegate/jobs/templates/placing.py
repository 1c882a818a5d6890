"""Inject a start's fields into the podsets of a job; a stop removes exactly these again."""

from __future__ import annotations

from typing import Any

import msgspec

from tidegate.contracts.decisions import PodSetStart
from tidegate.errors import UndecodableError
from tidegate.jobs.job_metadata import has_gated_pods
from tidegate.jobs.job_status import (
    Layout,
    PodSetLocation,
    charged_template,
    template_at,
    with_template,
    without_created,
)
from tidegate.jobs.kind import Object, Refused, Start
from tidegate.jobs.templates.notes import InjectedFields, without_injected
from tidegate.jobs.templates.paths import parse_path, path_text, value_at, with_value
from tidegate.jobs.templates.template import (
    conflicting_key,
    derived_fields,
    gated_start,
    inject_start,
)


class PodSetNote(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The changes of a start to one podset."""

    added: InjectedFields = InjectedFields()
    made: tuple[str, ...] = ()  # objects that had to be made on the way to a part
    count: int | None = None  # as it was; None: not changed


class Note(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """The changes of a start to a job, as recorded in ``tidegate.dev/injected``."""

    podsets: dict[str, PodSetNote] = {}
    was: dict[str, Any] = {}  # by path: what was written over; null: there was nothing


def inject_podsets(layout: Layout, before: Object, start: Start) -> tuple[Object, Note] | Refused:
    """Inject a start's fields into a job's templates; return job and note, or a refusal."""
    places = layout.podset_locations(before)
    meta = before["metadata"]
    elastic = has_gated_pods(meta.get("labels", {}), meta.get("annotations", {}))
    podsets = (
        gated_start(podset, start.order.job.uid) if elastic else podset
        for podset in start.order.podsets
    )
    by_name = {podset.name: podset for podset in podsets}
    problem = _mismatch(before, places, by_name)
    if problem:
        return Refused(reason="invalid", message=problem)
    try:
        if layout.inject is not None:
            return _record_overwritten(layout, before, by_name)
        return _inject_templates(before, places, by_name)
    except UndecodableError as error:
        return Refused(reason="invalid", message=str(error))


def restore_podsets(layout: Layout, job: Object, note: Note) -> Object:
    """Return a job as it was before ``inject_podsets`` gave this note."""
    before = job
    for place in layout.podset_locations(job):
        podset_note = note.podsets.get(place.name, PodSetNote())
        if place.is_written:
            template = without_injected(template_at(before, place), podset_note.added)
            before = without_created(with_template(before, place, template)[0], podset_note.made)
        if podset_note.count is not None and place.count_path is not None:
            before = with_value(before, place.count_path, podset_note.count)
    for path, value in note.was.items():
        if parse_path(path)[0] == "spec":  # any user may have edited the note
            before = with_value(before, parse_path(path), value)
    return before


def derived_note(layout: Layout, job: Object, podsets: tuple[PodSetStart, ...]) -> Note:
    """Return the note that the ledger's knowledge of a start amounts to; see ``before_start``."""
    if layout.inject is not None:
        return Note(
            was={path_text(path): value for path, value in layout.former_values(job)}
            if podsets
            else {}
        )
    starts, notes = {podset.name: podset for podset in podsets}, dict[str, PodSetNote]()
    for place in layout.podset_locations(job):
        start = starts.get(place.name)
        if start is not None and place.is_written:
            lowered = place.count_path is not None and place.count < start.count
            notes[place.name] = PodSetNote(
                added=derived_fields(template_at(job, place), start),
                count=start.count if lowered else None,
            )
    return Note(podsets=notes)


def _mismatch(
    job: Object, places: tuple[PodSetLocation, ...], podsets: dict[str, PodSetStart]
) -> str:
    """Return in a sentence what of a start does not fit a job; empty if all does."""
    unknown = sorted(podsets.keys() - {place.name for place in places})
    if unknown:
        return f"The start names podset {unknown[0]}, which the job has not."
    for place in places:
        if place.name not in podsets:
            return f"The start has no podset {place.name}."
        problem = conflicting_key(charged_template(job, place), podsets[place.name])
        if problem:
            return problem
    return ""


def _inject_templates(
    job: Object, places: tuple[PodSetLocation, ...], podsets: dict[str, PodSetStart]
) -> tuple[Object, Note]:
    notes, was = dict[str, PodSetNote](), dict[str, Any]()
    for place in places:
        if place.template is not None and value_at(job, place.template) is None:
            was[path_text(place.template)] = None
        job, note = _inject_podset(job, place, podsets[place.name])
        if note != PodSetNote():
            notes[place.name] = note
    return job, Note(podsets=notes, was=was)


def _inject_podset(
    job: Object, place: PodSetLocation, podset: PodSetStart
) -> tuple[Object, PodSetNote]:
    template, added = inject_start(template_at(job, place), podset)
    job, parents = with_template(job, place, template)
    note = PodSetNote(added=added, made=parents)
    if podset.count < place.count and place.count_path is not None:
        note = msgspec.structs.replace(note, count=value_at(job, place.count_path))
        job = with_value(job, place.count_path, podset.count)
    return job, note


def _record_overwritten(
    layout: Layout, before: Object, podsets: dict[str, PodSetStart]
) -> tuple[Object, Note]:
    assert layout.inject is not None, "only such kinds write over"
    job = layout.inject(before, podsets)
    was = {
        path_text(path): value_at(before, path)
        for path in layout.overwritten_paths(before)
        if value_at(before, path) != value_at(job, path)
    }
    return job, Note(was=was)
