"""Numbers written by others: read within a bound, or not at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.parts.drawn import drawn
from tidegate.model.texts import INT32_MAX, INT64_MAX, parse_signed, parse_whole


@pytest.mark.parametrize(
    "text", ["", "-1", "+1", "1_0", " 1", "\u0661", "\u00b2", "9" * 5_000, "0x1", "1e3"]
)
def test_what_is_no_plain_bounded_number_is_none(text: str) -> None:
    assert parse_whole(text) is None


@pytest.mark.parametrize(
    ("text", "value"), [("+5", 5), ("-5", -5), ("+0", 0), ("+-5", None), ("++5", None), ("+", None)]
)
def test_a_signed_number_may_have_a_plus(text: str, value: int | None) -> None:
    assert parse_signed(text) == value


@drawn(200)
@given(st.integers(min_value=-(2**70), max_value=2**70))
def test_a_number_is_read_up_to_its_bound_and_no_further(value: int) -> None:
    assert parse_whole(str(value)) == (value if 0 <= value <= INT64_MAX else None)
    assert parse_signed(str(value)) == (value if -INT64_MAX - 1 <= value <= INT64_MAX else None)
    assert parse_whole(str(value), INT32_MAX) == (value if 0 <= value <= INT32_MAX else None)


@drawn(200)
@given(st.text())
def test_any_text_is_read_without_an_error(text: str) -> None:
    for number in (parse_whole(text), parse_signed(text)):
        assert number is None or isinstance(number, int)
