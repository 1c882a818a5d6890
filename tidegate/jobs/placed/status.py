"""The status of a copy: the fields that are published, and those written into the job at home."""

from __future__ import annotations

from typing import Any

import msgspec

from tidegate.jobs.kind import Object
from tidegate.jobs.templates.merging import difference
from tidegate.kinds.decode import FAILURES

_CONTROLLERS_OWN = ("uncountedTerminatedPods",)
"""What the Job's controller alone needs: uids of pods in its own cluster."""
_LISTS = ("completedIndexes", "failedIndexes")
"""Of a batch Job: these are left out of a status that would be too long."""
_COUNTERS = ("succeeded", "failed")
"""Of a batch Job: the API server lets neither go back, as where a second copy begins anew."""


def status_text(job: Object, bytes_max: int) -> str:
    """Return an object's status as JSON with sorted keys; empty: it has none, or one too long."""
    status = job.get("status")
    if not isinstance(status, dict):
        return ""
    for left_out in (_CONTROLLERS_OWN, (*_CONTROLLERS_OWN, *_LISTS)):
        rest = {field: value for field, value in status.items() if field not in left_out}
        try:
            text = msgspec.json.encode(rest, order="deterministic") if rest else b""
        except FAILURES:
            return ""
        if len(text) <= bytes_max:
            return text.decode()
    return ""


def status_patch(job: Object, text: str) -> Object | None:
    """Return the patch of the job's status that shows a copy's; None: it shows that already.

    An empty text: there is no copy, and nothing runs. How much has succeeded and failed stands.
    """
    before: Object = job.get("status") or {}
    status = _read(text)
    if status is None:
        return None
    counted: Object = {field: before[field] for field in _COUNTERS if field in before}
    for field, counter in counted.items():
        after = status.get(field, 0)
        status[field] = max(counter, after) if isinstance(after, int) else counter
    patch = difference(before, status)
    return {"status": patch} if patch else None


def _read(text: str) -> dict[str, Any] | None:
    try:
        return msgspec.json.decode(text, type=dict[str, Any]) if text else {}
    except FAILURES:
        return None
