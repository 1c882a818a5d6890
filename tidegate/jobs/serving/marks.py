"""Annotations of started jobs on their object: the decisions, and what the pods are given.

Its templates stay as they are, for each change would replace all pods. What stands here lets no pod
go by itself: its Workload has to be admitted as well.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tidegate.contracts.decisions import PodSetStart
from tidegate.jobs.kind import Object
from tidegate.kinds import names
from tidegate.kinds.decode import FAILURES


def _key(name: str, index: int | None) -> str:
    return name if index is None else f"{name}-{index}"


def given(annotations: Mapping[str, str], index: int | None) -> tuple[PodSetStart, ...] | None:
    """Return what the pods of a started job are given; None: it was not started."""
    written = annotations.get(_key(names.INJECTED, index))
    if written is None:
        return None
    try:
        return msgspec.json.decode(written, type=tuple[PodSetStart, ...])
    except FAILURES:
        return None


def decision(annotations: Mapping[str, str], index: int | None) -> str:
    """Return the decision in an object's annotation for one of its jobs, empty for none."""
    return annotations.get(_key(names.DECISION, index), "")


def marked(index: int | None, decision: str, start: tuple[PodSetStart, ...] | None) -> Object:
    """Return the patch that puts a decision on an object, and what a start gives; None: a stop."""
    note = None if start is None else msgspec.json.encode(start).decode()
    marks = {_key(names.DECISION, index): decision, _key(names.INJECTED, index): note}
    return {"metadata": {"annotations": marks}}


def of_one(group: Object, index: int | None) -> Object:
    """Return an object as it looks to one of its jobs: that job's marks under the usual names."""
    if index is None:
        return group
    notes = group["metadata"].get("annotations", {})
    notes_kept = {
        key: text for key, text in notes.items() if key not in (names.DECISION, names.INJECTED)
    }
    for name in (names.DECISION, names.INJECTED):
        if _key(name, index) in notes:
            notes_kept[name] = notes[_key(name, index)]
    return {**group, "metadata": {**group["metadata"], "annotations": notes_kept}}
