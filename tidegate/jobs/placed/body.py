"""What crosses between clusters for a placed job: its body, and the status of its copy.

A body is the bytes that the copy is made from. It is the same for as long as its owner changes
nothing: no status, no version, and nothing that Tidegate writes. So its digest is news only when
the copy would be another one.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import msgspec

from tidegate.contracts.subjects import BODY_BYTES_MAX
from tidegate.errors import TooLargeError, UndecodableError
from tidegate.jobs.kind import JobKind, Object
from tidegate.jobs.templates.paths import Path, merge_patch, object_at, text_at, with_value
from tidegate.kinds import names
from tidegate.kinds.decode import FAILURES

OURS = "tidegate.dev"
SUSPEND: Path = ("spec", "suspend")
_CONTROLLERS_OWN = ("uncountedTerminatedPods",)
"""What the Job's controller alone needs: uids of pods in its own cluster."""
_LISTS = ("completedIndexes", "failedIndexes")
"""Of a batch Job: these are left out of a status that would be too long."""
_COUNTERS = ("succeeded", "failed")
"""Of a batch Job: the API server lets neither go back, as where a second copy begins anew."""


def is_tidegate_name(name: str) -> bool:
    """Return whether a qualified name is in Tidegate's domain or below."""
    return _is_in(OURS, name)


def is_reserved_name(name: str) -> bool:
    """Return whether a qualified name is in Tidegate's or in Kueue's domain, or below."""
    return _is_in(OURS, name) or _is_in(names.GROUP, name)


def _is_in(domain: str, name: str) -> bool:
    prefix = name.partition("/")[0].lower()
    return prefix == domain or prefix.endswith(f".{domain}")


def body_of(kind: JobKind[Any], job: Object) -> bytes:
    """Return a job's body as JSON, keys sorted.

    Raises:
        UndecodableError: a part that is needed has another form.
        TooLargeError: it has more bytes than one body may have.
    """
    assert kind.managed_by is not None, "only kinds that others may run are placed"
    notes = {
        key: text
        for key, text in object_at(job, ("metadata", "annotations")).items()
        if not is_tidegate_name(key) and key != names.LAST_APPLIED
    }
    body: Object = {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {
            "namespace": text_at(job, ("metadata", "namespace")),
            "name": text_at(job, ("metadata", "name")),
            "labels": object_at(job, ("metadata", "labels")),
            "annotations": notes,
        },
        "spec": object_at(job, ("spec",)),
    }
    for path in (SUSPEND, kind.managed_by.path):
        body = with_value(body, path, None)
    try:
        text = msgspec.json.encode(body, order="deterministic")
    except (RecursionError, TypeError, UnicodeEncodeError) as error:
        raise UndecodableError(f"It has no body: {error}"[:1_024]) from error
    if len(text) > BODY_BYTES_MAX:
        raise TooLargeError(f"a body of at most {BODY_BYTES_MAX} bytes", len(text))
    return text


def digest_of(body: bytes) -> str:
    """Return what a body is called: its SHA-256 in hexadecimal digits."""
    return sha256(body).hexdigest()


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
    patch = merge_patch(before, status)
    return {"status": patch} if patch else None


def _read(text: str) -> dict[str, Any] | None:
    try:
        return msgspec.json.decode(text, type=dict[str, Any]) if text else {}
    except FAILURES:
        return None
