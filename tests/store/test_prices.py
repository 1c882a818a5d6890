"""A day is charged by the price of that day: a price that comes later changes no day before it."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine, insert, text
from sqlalchemy.exc import DBAPIError

from store.ledger import SqlLedger
from store.reporting.tables import price
from store.schema import migrate
from tests.parts.reports import rows
from tests.store.histories import AT, LEASE_US, sealed
from tidegate.contracts.decisions import QuotaReleased, QuotaReserved
from tidegate.contracts.facts import WorkloadSubmitted
from tidegate.model.ids import ObjectRef
from tidegate.model.podset import PodSetAssignment

MARCH_30_US, DAY_US = 1_774_828_800_000_000, 86_400_000_000
DAYS = ("2026-03-30", "2026-03-31", "2026-04-01", "2026-04-02")
HOURS = 24.0


@pytest.fixture
def charged(engine: Engine) -> Engine:
    """A ledger in which one workload holds one core for the four days."""
    job = ObjectRef(kind="batch/job", namespace="n", name="j", uid="u")
    submitted = WorkloadSubmitted(
        at_us=MARCH_30_US,
        workload="n/j",
        uid="u",
        job=job,
        queue="main",
        created_us=MARCH_30_US,
        podsets=(),
    )
    given = PodSetAssignment(name="main", count=1, flavors={"cpu": "spot"}, usage={"cpu": 1_000})
    reserved = QuotaReserved(
        at_us=MARCH_30_US, workload="n/j", uid="u", cluster_queue="a", assignment=(given,)
    )
    released = QuotaReleased(
        at_us=MARCH_30_US + len(DAYS) * DAY_US, workload="n/j", uid="u", cluster_queue="a"
    )
    ledger = SqlLedger(engine)
    ledger.lead("a", LEASE_US)
    for entries in sealed([submitted, reserved, released]):
        ledger.append(1, 0, entries, AT)
    return engine


def set_price(engine: Engine, cost: float, begin: str = "", end: str | None = None) -> None:
    row = {"flavor": "spot", "resource": "cpu", "per_unit_hour": cost, "currency": "EUR"}
    with engine.begin() as conn:
        conn.execute(insert(price).values(**row, valid_from=begin, valid_until=end))


def costs(engine: Engine) -> dict[str, float | None]:
    return {row["day"]: row["cost"] for row in rows(engine, "chargeback")}


def test_a_price_without_days_holds_always(charged: Engine) -> None:
    set_price(charged, 0.5)
    assert costs(charged) == dict.fromkeys(DAYS, HOURS * 0.5)


def test_a_price_of_april_leaves_march_as_it_was(charged: Engine) -> None:
    set_price(charged, 0.5)
    before = costs(charged)
    set_price(charged, 2.0, "2026-04-01")
    after = costs(charged)
    assert [after[day] for day in DAYS[:2]] == [before[day] for day in DAYS[:2]]
    assert [after[day] for day in DAYS[2:]] == [HOURS * 2.0] * 2
    used = {row["day"]: row["price_from"] for row in rows(charged, "chargeback")}
    assert used == {**dict.fromkeys(DAYS[:2], ""), **dict.fromkeys(DAYS[2:], "2026-04-01")}


def test_a_day_before_the_first_price_and_one_after_its_end_have_none(charged: Engine) -> None:
    set_price(charged, 0.5, "2026-03-31", "2026-04-02")
    assert costs(charged) == dict(zip(DAYS, (None, HOURS * 0.5, HOURS * 0.5, None), strict=True))


def test_an_ended_price_does_not_bring_back_the_one_before_it(charged: Engine) -> None:
    set_price(charged, 0.5)
    set_price(charged, 2.0, "2026-03-31", "2026-04-01")
    assert [costs(charged)[day] for day in DAYS] == [HOURS * 0.5, HOURS * 2.0, None, None]


@pytest.mark.parametrize(("begin", "end"), [("April", None), ("", "2026-4-1")])
def test_what_is_no_day_is_refused(charged: Engine, begin: str, end: str | None) -> None:
    with pytest.raises(DBAPIError, match="price_"):
        set_price(charged, 1.0, begin, end)


def test_a_downgrade_keeps_the_newest_price(charged: Engine) -> None:
    set_price(charged, 0.5)
    set_price(charged, 2.0, "2026-04-01")
    migrate.downgrade(charged, "0004")
    with charged.connect() as conn:
        assert [tuple(row) for row in conn.execute(text("SELECT * FROM price"))] == [
            ("spot", "cpu", 2.0, "EUR")
        ]
