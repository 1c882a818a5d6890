"""The pace of a ClusterQueue, by which a start is estimated."""

from __future__ import annotations

from typing import Any

from tidegate.cli.commands.show.positions import RECENT, Pace, paces

MINUTE_US = 60_000_000


def wait(queue: str, to_at: str | None, outcome: str = "admitted") -> dict[str, Any]:
    return {"cluster_queue": queue, "to_at": to_at, "outcome": outcome}


def test_the_pace_is_the_mean_time_between_admissions_and_that_of_either_half() -> None:
    told = [wait("a", f"2026-03-02T08:{minute:02}:00Z") for minute in (0, 10, 4)]
    assert paces(told) == {"a": Pace(5 * MINUTE_US, 4 * MINUTE_US, 6 * MINUTE_US)}


def test_only_the_last_admissions_count() -> None:
    late = [wait("a", f"2026-03-02T09:{minute:02}:00Z") for minute in range(RECENT)]
    assert paces([wait("a", "2025-01-01T00:00:00Z"), *late]) == {
        "a": Pace(MINUTE_US, MINUTE_US, MINUTE_US)
    }


def test_a_queue_that_admitted_once_has_no_pace() -> None:
    assert (
        paces([wait("a", "2026-03-02T08:00:00Z"), wait("a", None, ""), wait("b", None, "")]) == {}
    )
