"""Go's durations, which Kueue's Configuration is written in: ``1h30m``, ``250ms``."""

from __future__ import annotations

import re

from tidegate.errors import SettingsError

_UNITS_NS = {
    "h": 3_600_000_000_000,
    "m": 60_000_000_000,
    "s": 1_000_000_000,
    "ms": 1_000_000,
    "us": 1_000,
    "µs": 1_000,
    "ns": 1,
}
_PART = re.compile(r"(?:(\d+)(?:\.(\d*))?|\.(\d+))(h|ms|us|µs|ns|m|s)")


def duration_us(text: str, where: str, *, least_us: int = 0) -> int:
    """Return a duration in microseconds, cut off below; ``where`` names it in an error.

    Raises:
        SettingsError: it is none, or shorter than ``least_us``.
    """
    unsigned = text.removeprefix("+")
    if unsigned == "0":
        unsigned = "0s"
    parts = list(_PART.finditer(unsigned))
    if not parts or "".join(part.group() for part in parts) != unsigned:
        raise SettingsError(f"{where}: {text!r} is not a duration such as 1h30m or 250ms.")
    total_us = sum(_part_ns(part) for part in parts) // 1_000
    if total_us < least_us:
        raise SettingsError(f"{where}: {text!r} is too short.")
    return total_us


def default_us(text: str, where: str, default: str) -> int:
    """Return a duration in microseconds, and the default for one of no length.

    Raises:
        SettingsError: it is none, or shorter than a microsecond.
    """
    return duration_us(text, where, least_us=1 if text.strip("+0.hmsuµn") else 0) or duration_us(
        default, where
    )


def optional_us(text: str | None, where: str) -> int | None:
    """Return a duration in microseconds; None where none is written.

    Raises:
        SettingsError: it is none.
    """
    return None if text is None else duration_us(text, where)


def _part_ns(part: re.Match[str]) -> int:
    whole, after, alone, unit = part.groups(default="")
    unit_ns, fraction = _UNITS_NS[unit], after or alone
    beyond_ns = int(fraction or 0) * unit_ns // int("1" + "0" * len(fraction))
    return int(whole or 0) * unit_ns + beyond_ns
