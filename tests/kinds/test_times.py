"""Times and durations as integers of microseconds."""

from __future__ import annotations

import pytest

from tidegate.errors import UndecodableError
from tidegate.kinds.times import duration_us, micros, rfc3339

SECOND = 1_000_000


@pytest.mark.parametrize(
    ("text", "at_us"),
    [
        ("", 0),
        ("1970-01-01T00:00:01Z", SECOND),
        ("2026-01-01T00:00:00Z", 1_767_225_600 * SECOND),
        ("2026-01-01T01:00:00.5+01:00", 1_767_225_600 * SECOND + 500_000),
        ("2026-01-01T00:00:00.000001Z", 1_767_225_600 * SECOND + 1),
    ],
)
def test_a_time_is_utc_microseconds(text: str, at_us: int) -> None:
    assert micros(text) == at_us


@pytest.mark.parametrize("text", ["soon", "2026-01-01T00:00:00", "1767225600"])
def test_what_is_no_time_is_an_error(text: str) -> None:
    with pytest.raises(UndecodableError):
        micros(text)


def test_a_time_is_written_in_whole_seconds() -> None:
    assert rfc3339(1_767_225_600 * SECOND + 999_999) == "2026-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("text", "us"),
    [
        ("0", 0),
        ("90s", 90 * SECOND),
        ("1h30m", 5_400 * SECOND),
        ("1.5h", 5_400 * SECOND),
        ("250ms", 250_000),
        ("3us", 3),
    ],
)
def test_a_duration_is_microseconds(text: str, us: int) -> None:
    assert duration_us(text) == us


@pytest.mark.parametrize("text", ["", "90", "-5s", "1d", "soon", "5s "])
def test_what_is_no_duration_is_an_error(text: str) -> None:
    with pytest.raises(UndecodableError):
        duration_us(text)
