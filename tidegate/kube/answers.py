"""What an API server's error answer says to a person."""

from __future__ import annotations

import msgspec

_TEXT_MAX = 500


class _Status(msgspec.Struct, frozen=True):
    """The part of a Status object that a person reads."""

    message: str = ""


def status_message(body: bytes) -> str:
    """Return the sentence in an error answer: a Status object's message, else its text."""
    try:
        return msgspec.json.decode(body, type=_Status).message[:_TEXT_MAX]
    except msgspec.DecodeError:
        return body.decode(errors="replace").strip()[:_TEXT_MAX]
