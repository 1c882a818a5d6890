"""The view ``budgets``, beside what ``tests.core.budget_judge`` counts from the raw events."""

from __future__ import annotations

from itertools import groupby
from random import Random

import pytest
from sqlalchemy import Engine

from store.ledger import SqlLedger
from store.schema.migrate import rebuild_reports
from tests.core.budget_judge import Judge
from tests.core.test_budgets import DAY, HOUR, acted
from tests.parts.reports import rows
from tests.replay.world import World
from tests.store.conftest import KEPT
from tests.store.histories import AT, LEASE_US
from tidegate.cli.times import utc
from tidegate.contracts.codec import decode
from tidegate.contracts.decision_kinds.queues import BudgetRenewed
from tidegate.contracts.entry import Entry


def played(seed: int) -> list[Entry]:
    """Return a history of queues whose budgets and jobs come and go."""
    world, random = World().open(), Random(f"{seed}/budgets")
    for _ in range(40):
        world.turn(*acted(world, random))
        for name in sorted(world.jobs):
            if random.random() < 0.8:
                world.turn(*world.obey(name))
        world.turn(world.wait(random.choice((1, 60, HOUR, 7 * HOUR, 2 * DAY, 9 * DAY))))
    return world.entries


@pytest.mark.parametrize("url", KEPT, indirect=True)
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_a_period_has_what_the_raw_events_give(engine: Engine, seed: int) -> None:
    entries = played(seed)
    ledger, judge = SqlLedger(engine), Judge()
    ledger.begin_term("a", LEASE_US)
    compared = 0
    for number, (_, turn) in enumerate(groupby(entries, key=lambda entry: entry.turn)):
        items = list(turn)
        ledger.append(1, items[0].seq - 1, items, AT)
        judge.follow(items)
        if number % 30 == 0:
            compared += compare(engine, judge)
    assert compared + compare(engine, judge) > 5
    compare_past(engine, entries)
    before = rows(engine, "budgets")
    rebuild_reports(engine)
    assert rows(engine, "budgets") == before


def compare_past(engine: Engine, entries: list[Entry]) -> None:
    """Hold the rows of periods that are over to what was decided of them."""
    over = [row for row in rows(engine, "budgets") if row["state"] == "over"]
    decoded = [decode(entry.payload) for entry in entries]
    renewed = [event for event in decoded if isinstance(event, BudgetRenewed)]
    assert renewed
    assert sorted((row["owner"], row["from_at"], row["used_hours"] * 1_000) for row in over) == [
        (owner, since, pytest.approx(spent))
        for owner, since, spent in sorted(
            (event.cluster_queue or event.cohort, utc(event.since_us), event.spent)
            for event in renewed
        )
    ]


def compare(engine: Engine, judge: Judge) -> int:
    """Hold the current rows to the judge; return how many there are."""
    current = {
        (f"{row['kind']}/{row['owner']}", row["resource"]): row
        for row in rows(engine, "budgets")
        if row["state"] == "current"
    }
    assert current.keys() == judge.lines.keys()
    for key, row in current.items():
        line = judge.lines[key]
        assert row["budget_hours"] * 1_000 == line.budget.hours
        assert row["to_at"] == utc(line.until_us)
        assert row["enforcement"] == ("hard" if line.budget.hard else "soft")
        assert row["used_hours"] * 1_000 == pytest.approx(float(line.spent), abs=1e-6)
        assert row["at_end_as_now"] >= row["used_hours"]
    return len(current)
