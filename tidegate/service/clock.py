"""The wall clock of a process, for what the ledger's time does not decide."""

from __future__ import annotations

import time


def utc_now_us() -> int:
    """Return the time in UTC microseconds since 1970."""
    return time.time_ns() // 1_000
