"""A snapshot of other fields has another version: bytes of the older one would be misread."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import msgspec

from tidegate.core.folding import snapshot

_WORDS = {"description", "title", "default"}
KNOWN = (25, "caaf992a8b03290b")
"""The version, and a digest of what each of its fields is."""


def test_other_fields_are_another_version() -> None:
    fields = snapshot._Snapshot  # noqa: SLF001 - nothing else names them
    schema = _without_words(msgspec.json.schema(fields))
    digest = sha256(msgspec.json.encode(schema)).hexdigest()[:16]
    assert (snapshot.VERSION, digest) == KNOWN, "raise VERSION, and write both here"


def _without_words(schema: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return a schema without texts and defaults, which change no byte of a snapshot."""
    if isinstance(schema, dict):
        return {name: _without_words(part) for name, part in schema.items() if name not in _WORDS}
    return [_without_words(each) for each in schema] if isinstance(schema, list) else schema
