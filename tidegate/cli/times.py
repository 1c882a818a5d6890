"""Times as people write and read them, and options that name a moment of the ledger."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from math import isfinite

import typer

from tidegate.model.calendar import utc_text
from tidegate.model.texts import parse_whole

utc = utc_text
"""Return UTC microseconds as text, to the second: ``2026-03-01T07:50:00Z``."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND_US, _DAY_S = 1_000_000, 86_400
_AGO = re.compile(r"(?:(\d{1,5})d)?(?:(\d{1,5})h)?(?:(\d{1,6})m)?(?:(\d{1,8})s)?", re.ASCII)


def parse_utc(text: str) -> int:
    """Read an ISO 8601 time as UTC microseconds; one without an offset is UTC.

    Raises:
        ValueError: it is not a time, or in UTC none of the years 1 to 9999.
    """
    parsed = datetime.fromisoformat(text)
    moment = parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
    try:
        moment = moment.astimezone(UTC)
    except OverflowError as error:
        raise ValueError(text) from error
    return (moment - _EPOCH) // timedelta(microseconds=1)


def parse_age(text: str) -> int | None:
    """Read how long ago something was, in microseconds: ``90s``, ``1d12h``; None: it is none.

    Each unit comes once at most, the larger first.
    """
    match = _AGO.fullmatch(text)
    if match is None or not text:
        return None
    units = (_DAY_S, 3_600, 60, 1)
    counts = (int(count or 0) for count in match.groups())
    return sum(count * unit for count, unit in zip(counts, units, strict=True)) * _SECOND_US


def finite(value: float) -> float:
    """Return an option's number, which has to be one: neither ``nan`` nor ``inf``."""
    if not isfinite(value):
        raise typer.BadParameter(f"{value} is not a number to count with.")
    return value


def duration_text(seconds: float) -> str:
    """Return a duration in its two largest units: ``45s``, ``12m30s``, ``3d4h``."""
    remaining = int(seconds)
    parts = list[str]()
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)):
        count, remaining = divmod(remaining, size)
        if count or (unit == "s" and not parts):
            parts.append(f"{count}{unit}")
        elif parts:
            break
    return "".join(parts[:2])


def parse_seq(text: str, option: str) -> int:
    """Return the seq that decimal digits write."""
    seq = parse_whole(text)
    if seq is None:
        raise typer.BadParameter(f"{option} {text[:32]!r} is not a valid seq.")
    return seq


def parse_time_option(text: str, option: str) -> int:
    """Return the time that an option names."""
    try:
        return parse_utc(text)
    except ValueError:
        raise typer.BadParameter(
            f"{option} {text!r} is not a time: 2026-03-02T08:30:00Z, or 2h (ago)."
        ) from None
