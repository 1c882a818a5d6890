"""How far EVENTS reaches back, and what it takes to reach as far as wanted."""

from __future__ import annotations

import pytest

from tidegate.bus.retention import EventsRetention
from tidegate.cli.doctor.examining import examine_retention

DAY_S, MIB = 86_400.0, 1024 * 1024


def reach(days: float, mib: float, limit_mib: int = 100) -> EventsRetention:
    return EventsRetention(
        span_s=days * DAY_S, held_bytes=int(mib * MIB), bytes_max=limit_mib * MIB, age_s=7 * DAY_S
    )


@pytest.mark.parametrize(
    ("seen", "wanted_mib"),
    [
        (reach(7, 99), 0),  # full, and as old as wanted
        (reach(2, 20), 0),  # 70 MiB a week
        (reach(0.1, 20), 0),  # a busy hour
        (reach(0, 99), 0),  # all at once: no rate
        (reach(2, 99), 434),  # cut after two of seven days: 346.5 MiB and a quarter
        (reach(0.5, 99), 1733),
        (reach(1, 20), 176),  # not full yet, but it will be
    ],
)
def test_bytes_follow_from_days_and_rate(seen: EventsRetention, wanted_mib: int) -> None:
    assert seen.bytes_wanted() == wanted_mib * MIB
    findings = list(examine_retention(seen))
    assert [finding.code for finding in findings] == ["EventsHeldShort"] * bool(wanted_mib)
    assert all(str(wanted_mib * MIB) in finding.to_do for finding in findings)


def test_it_is_set_in_days_and_mebibytes() -> None:
    assert reach(2, 99).summary() == (
        "EVENTS reaches 2.0 of 7.0 days back, with 99 of 100 MiB at 50 MiB a day"
    )
