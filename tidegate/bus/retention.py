"""How far EVENTS reaches back, measured, and how many bytes the days that are wanted would take."""

from __future__ import annotations

import math

import msgspec

_DAY_S = 86_400.0
_FULL = 0.95
"""Of its bytes: a stream that drops its oldest messages stays a little below its limit."""
_SPARE = 1.25
"""What is advised is larger by so much than what was measured."""
_MIB = 1024 * 1024


class EventsRetention(msgspec.Struct, frozen=True, kw_only=True):
    """The size and age of EVENTS, and its limits."""

    span_s: float  # from its oldest message to its newest
    held_bytes: int
    bytes_max: int
    age_s: float  # how long a message is to be kept

    @property
    def rate(self) -> float:
        """Return bytes a second; 0 if all came at once."""
        return self.held_bytes / self.span_s if self.span_s > 0 else 0.0

    @property
    def is_cut(self) -> bool:
        """Return whether bytes, not age, end what it holds."""
        return self.held_bytes >= _FULL * self.bytes_max and self.span_s < self.age_s

    def bytes_wanted(self) -> int:
        """Return the limit with which messages stay as long as wanted, whole MiB; 0: as it is.

        Before it is full a whole day has to be measured: a busy hour does not predict a week.
        """
        required = self.rate * self.age_s
        if required <= self.bytes_max or not (self.is_cut or self.span_s >= _DAY_S):
            return 0
        return (math.floor(required * _SPARE / _MIB) + 1) * _MIB

    def summary(self) -> str:
        """Say it in a line."""
        held_mib, most = self.held_bytes / _MIB, self.bytes_max / _MIB
        return (
            f"EVENTS reaches {self.span_s / _DAY_S:.1f} of {self.age_s / _DAY_S:.1f} days back,"
            f" with {held_mib:.0f} of {most:.0f} MiB at {self.rate * _DAY_S / _MIB:.0f} MiB a day"
        )
