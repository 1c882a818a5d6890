"""Kubernetes' times and durations to integers of microseconds, and back."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import lru_cache

from tidegate.errors import UndecodableError
from tidegate.model.texts import INT64_MAX

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_UNITS_US = {
    "ns": Fraction(1, 1_000),
    "us": Fraction(1),
    "µs": Fraction(1),
    "ms": Fraction(1_000),
    "s": Fraction(1_000_000),
    "m": Fraction(60_000_000),
    "h": Fraction(3_600_000_000),
}
_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)", re.ASCII)
_TEXT_MAX = 64


def micros(text: str) -> int:
    """Return an RFC 3339 time as UTC microseconds since 1970; an empty text is 0.

    Raises:
        UndecodableError: the text is not a time.
    """
    if not text:
        return 0
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise UndecodableError(f"{text[:_TEXT_MAX]!r} is not an RFC 3339 time.") from error
    if moment.tzinfo is None:
        raise UndecodableError(f"{text!r} has no time zone: write it with Z at its end.")
    return (moment - _EPOCH) // _MICROSECOND


def rfc3339(at_us: int) -> str:
    """Write UTC microseconds as Kubernetes writes times: whole seconds, with Z."""
    return _rfc3339_of_seconds(at_us // 1_000_000)


@lru_cache(maxsize=64)
def _rfc3339_of_seconds(at_s: int) -> str:
    """Return UTC seconds as text; cached, since writes of one moment repeat the same few."""
    return (_EPOCH + timedelta(seconds=at_s)).strftime("%Y-%m-%dT%H:%M:%SZ")


def duration_us(text: str) -> int:
    """Return a duration such as ``90s``, ``1h30m`` or ``250ms`` in microseconds.

    Raises:
        UndecodableError: the text is not a duration, it is negative, or no int64 holds it.
    """
    parts = _PART.findall(text) if len(text) <= _TEXT_MAX else []
    whole = "".join(number + unit for number, unit in parts)
    if not text or text not in {"0", whole}:
        raise UndecodableError(f"{text[:_TEXT_MAX]!r} is not a duration such as 90s or 1h30m.")
    total_us = int(sum(Fraction(number) * _UNITS_US[unit] for number, unit in parts))
    if total_us > INT64_MAX:
        raise UndecodableError(f"{text!r} is longer than any duration may be.")
    return total_us
