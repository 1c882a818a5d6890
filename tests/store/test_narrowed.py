"""A report of a time has the rows that all of it has in that time, though less is summed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Engine

from store.ledger import SqlLedger
from store.reading.reports import TimeRange
from tests.parts.reports import rows
from tests.store.busy import Busy
from tests.store.conftest import Fresh
from tests.store.histories import AT, LEASE_US
from tidegate.cli.sample.ledger import sample_turns
from tidegate.cli.times import parse_utc, utc

SUMMED = ("quota_hourly", "usage_hourly", "chargeback")
HOUR_US = 3_600_000_000


@pytest.fixture(scope="module", params=(0, "sample"))
def filled(request: pytest.FixtureRequest, kept_engine: Fresh) -> Iterator[tuple[Engine, str]]:
    """A ledger, and the first hour that its reports tell of."""
    busy = Busy(request.param) if isinstance(request.param, int) else None
    story = sample_turns() if busy is None else iter([busy.open(), *filter(None, busy.turns(150))])
    with kept_engine() as engine:
        ledger = SqlLedger(engine)
        ledger.begin_term("a", LEASE_US)
        for entries in story:
            ledger.append(1, entries[0].seq - 1, entries, AT)
        yield engine, min(row["hour"] for row in rows(engine, "quota_hourly"))


def begun(row: dict[str, Any]) -> str:
    return str(row["hour"]) if "hour" in row else f"{row['day']}T00:00:00Z"


def names_of(row: dict[str, Any]) -> list[Any]:
    return [value for value in row.values() if not isinstance(value, float)]


def sums_of(row: dict[str, Any]) -> list[float]:
    return [value for value in row.values() if isinstance(value, float)]


@pytest.mark.parametrize("name", SUMMED)
@pytest.mark.parametrize(
    ("begin_h", "end_h"), [(0, 1), (1, 2), (0.5, 2.5), (-30, 1), (2, 90), (90, 99)]
)
def test_a_time_has_the_rows_that_begin_in_it(
    filled: tuple[Engine, str], name: str, begin_h: float, end_h: float
) -> None:
    engine, first = filled
    begin, end = (utc(parse_utc(first) + int(hours * HOUR_US)) for hours in (begin_h, end_h))
    every = [row for row in rows(engine, name) if begin <= begun(row) < end]
    narrowed = rows(engine, name, TimeRange(begin, end))
    assert list(map(names_of, narrowed)) == list(map(names_of, every))
    for row, same in zip(narrowed, every, strict=True):
        assert sums_of(row) == pytest.approx(sums_of(same))
