"""Annotations of a start on a job: the decision, and a note of what was changed for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec

from tidegate.errors import UndecodableError
from tidegate.jobs.kind import Object, decided
from tidegate.jobs.templates.paths import found_at
from tidegate.kinds import names
from tidegate.kinds.decode import FAILURES

Note = TypeVar("Note")


def decided_on(job: Object, ledger_id: str) -> int:
    """Return the seq of the decision in a job's annotation; see ``decided``."""
    return decided(job["metadata"].get("annotations", {}).get(names.DECISION, ""), ledger_id)


def mark(job: Object, ledger_id: str) -> int:
    """Return the newest decision that an object bears, wherever its kind bears it."""
    listed = found_at(job, ("status", "conditions"))
    conditions = listed if isinstance(listed, list) else []
    ordered = [
        condition for condition in conditions if found_at(condition, ("type",)) == names.ORDERED
    ]
    texts = [found_at(condition, ("message",)) for condition in ordered]
    seqs = [decided(text, ledger_id) for text in texts if isinstance(text, str)]
    return max(decided_on(job, ledger_id), *seqs, 0)


def unmarked(job: Object) -> Object:
    """Return a copy of an object that bears no decision."""
    meta, status = dict(job["metadata"]), dict(job.get("status") or {})
    notes = meta.get("annotations", {})
    meta["annotations"] = {key: text for key, text in notes.items() if key != names.DECISION}
    conditions = status.get("conditions")
    if isinstance(conditions, list):
        others = [
            condition for condition in conditions if found_at(condition, ("type",)) != names.ORDERED
        ]
        status["conditions"] = others
    return {**job, "metadata": meta, **({"status": status} if "status" in job else {})}


def noted(job: Object, decision: str, note: object | None) -> Object:
    """Return a job with a decision on it, and with a note unless nothing was changed."""
    annotations = {**job["metadata"].get("annotations", {}), names.DECISION: decision}
    if note is not None:
        annotations[names.INJECTED] = msgspec.json.encode(note).decode()
    return {**job, "metadata": {**job["metadata"], "annotations": annotations}}


def before_start(
    job: Object,
    kind: type[Note],
    restored: Callable[[Object, Note], Object],
    derive: Callable[[], Note],
) -> Object:
    """Return a job as its owner wrote it; ``restored`` undoes what a note of this type records.

    Any user may edit the note. One that is malformed, or does not apply, counts as none: then
    what is ``derive`` of the start is undone.
    """
    written = job["metadata"].get("annotations", {}).get(names.INJECTED)
    if written is None:
        return job
    try:
        original = restored(job, msgspec.json.decode(written, type=kind))
    except (*FAILURES, UndecodableError):
        original = restored(job, derive())
    annotations = dict(job["metadata"]["annotations"])
    del annotations[names.INJECTED]
    return {**original, "metadata": {**job["metadata"], "annotations": annotations}}
