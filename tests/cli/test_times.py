"""How long ago, as people write it."""

from __future__ import annotations

import pytest

from tidegate.cli.times import parse_age, parse_utc, utc

HOUR_US = 3_600_000_000


@pytest.mark.parametrize(
    ("text", "us"),
    [("2h", 2 * HOUR_US), ("1d12h", 36 * HOUR_US), ("90s", 90_000_000), ("1h30m", 5_400_000_000)],
)
def test_a_span_is_read(text: str, us: int) -> None:
    assert parse_age(text) == us


@pytest.mark.parametrize("text", ["", "h", "2", "30m1h", "-2h", "2h ago", "999999999d"])
def test_what_is_none_is_distinguished(text: str) -> None:
    assert parse_age(text) is None


@pytest.mark.parametrize(
    "text", ["0001-01-01T00:00:00Z", "2026-03-01T07:50:00Z", "9999-12-31T23:59:59Z"]
)
def test_a_time_is_written_as_it_is_read(text: str) -> None:
    assert utc(parse_utc(text)) == text


@pytest.mark.parametrize("text", ["9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00"])
def test_a_time_beyond_the_years_of_utc_is_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"^(9999|0001)-"):
        parse_utc(text)
