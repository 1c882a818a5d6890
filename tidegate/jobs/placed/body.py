"""The body of a job that may be placed in another cluster: the bytes that its copy is made from.

It is the same for as long as its owner changes nothing: no status, no version, and nothing that
Tidegate writes. So its digest is news only when the copy would be another one.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import msgspec

from tidegate.contracts.messages.subjects import BODY_BYTES_MAX
from tidegate.errors import TooLargeError, UndecodableError
from tidegate.jobs.kind import JobKind, Object
from tidegate.jobs.placed.names import is_tidegates
from tidegate.jobs.templates.paths import Path, object_at, text_at, with_value
from tidegate.kinds import names

SUSPEND: Path = ("spec", "suspend")


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
        if not is_tidegates(key) and key != names.LAST_APPLIED
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
