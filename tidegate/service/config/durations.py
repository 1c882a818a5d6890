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
_PART = re.compile(r"(\d+)(?:\.(\d+))?(h|ms|us|µs|ns|m|s)")


def duration_us(text: str, where: str, *, least_us: int = 0) -> int:
    """Return a duration in microseconds, cut off below; ``where`` names it in an error.

    Raises:
        SettingsError: it is none, or shorter than ``least_us``.
    """
    if text == "0":
        text = "0s"
    parts = list(_PART.finditer(text))
    if not parts or "".join(part.group() for part in parts) != text:
        raise SettingsError(f"{where}: {text!r} is not a duration such as 1h30m or 250ms.")
    total_us = sum(_part_ns(part) for part in parts) // 1_000
    if total_us < least_us:
        raise SettingsError(f"{where}: {text!r} is too short.")
    return total_us


def _part_ns(part: re.Match[str]) -> int:
    whole, fraction, unit = part.groups(default="")
    unit_ns = _UNITS_NS[unit]
    beyond_ns = int(fraction or 0) * unit_ns // int("1" + "0" * len(fraction))
    return int(whole) * unit_ns + beyond_ns
