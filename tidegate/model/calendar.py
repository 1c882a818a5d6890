"""Days, weeks and months of UTC in microseconds, without a clock and without ``datetime``.

Source: the proleptic Gregorian calendar; H. Hinnant, "chrono-Compatible Low-Level Date Algorithms".
"""

from __future__ import annotations

from typing import Literal

Period = Literal["day", "week", "month"]
PERIODS: tuple[Period, ...] = ("day", "week", "month")
HOUR_US = 3_600_000_000
DAY_US = 24 * HOUR_US
_MONDAY = 4
"""Days from 1 January 1970, a Thursday, to the first Monday."""
_FEBRUARY, _OCTOBER = 2, 10
_ERA_DAYS = 146_097
_EPOCH_DAYS = 719_468
"""Days from 1 March of the year 0 to 1 January 1970."""


def period_span(period: Period, at_us: int) -> tuple[int, int]:
    """Return when the day, week (from Monday) or month of a time begins, and when it ends."""
    day = at_us // DAY_US
    if period == "day":
        first, after = day, day + 1
    elif period == "week":
        first = day - (day - _MONDAY) % 7
        after = first + 7
    else:
        year, month, _ = _date(day)
        first = _days(year, month)
        after = _days(year + month // 12, month % 12 + 1)
    return first * DAY_US, after * DAY_US


def utc_text(at_us: int) -> str:
    """Return a time to the second: ``2026-04-01T00:00:00Z``."""
    day, rest_us = divmod(at_us, DAY_US)
    year, month, of_month = _date(day)
    seconds = rest_us // 1_000_000
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{year:04}-{month:02}-{of_month:02}T{clock}Z"


def _date(day: int) -> tuple[int, int, int]:
    """Return year, month and day of the month of a day since 1 January 1970."""
    era, of_era = divmod(day + _EPOCH_DAYS, _ERA_DAYS)
    leaps = of_era // 1_460 - of_era // 36_524 + of_era // 146_096
    year = (of_era - leaps) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    since_march = (5 * of_year + 2) // 153
    of_month = of_year - (153 * since_march + 2) // 5 + 1
    month = since_march + 3 if since_march < _OCTOBER else since_march - 9
    return year + era * 400 + (month <= _FEBRUARY), month, of_month


def _days(year: int, month: int) -> int:
    """Return how many days after 1 January 1970 a month begins."""
    year -= month <= _FEBRUARY
    era, of_era = divmod(year, 400)
    of_year = (153 * (month - 3 if month > _FEBRUARY else month + 9) + 2) // 5
    return era * _ERA_DAYS + of_era * 365 + of_era // 4 - of_era // 100 + of_year - _EPOCH_DAYS
