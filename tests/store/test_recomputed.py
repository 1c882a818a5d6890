"""Each number of the reports, beside the same number out of the events' raw JSON.

Histories are a busy cluster's, by a seed, and the sample's. What adds up the raw events is
``tests.store.recomputed``, which imports nothing of the product.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Engine, text

from store.ledger import SqlLedger
from tests.parts.reports import rows
from tests.store.busy import Busy
from tests.store.conftest import Fresh
from tests.store.histories import AT, LEASE_US
from tests.store.recomputed import Books
from tidegate.cli.sample.ledger import sample_turns
from tidegate.cli.times import parse_utc

HISTORIES = (0, 1, 2, "sample")
RAW = "SELECT seq, at_us, payload FROM ledger_event ORDER BY seq"
US = 1_000_000


@pytest.fixture(scope="module", params=HISTORIES)
def kept(request: pytest.FixtureRequest, kept_engine: Fresh) -> Iterator[tuple[Engine, Books]]:
    """A ledger, and the books that its raw events make."""
    busy = Busy(request.param) if isinstance(request.param, int) else None
    actual_entries = (
        sample_turns() if busy is None else iter([busy.open(), *filter(None, busy.turns(150))])
    )
    with kept_engine() as engine:
        ledger = SqlLedger(engine)
        ledger.begin_term("a", LEASE_US)
        for entries in actual_entries:
            ledger.append(1, entries[0].seq - 1, entries, AT)
        with engine.connect() as conn:
            raw = [tuple(row) for row in conn.execute(text(RAW))]
        yield engine, Books().read(raw)


def natural(resource: str, units: float) -> float:
    return units / 1_000 if resource == "cpu" else units


def test_usage_of_each_hour(kept: tuple[Engine, Books]) -> None:
    engine, books = kept
    mapping = defaultdict[tuple[int, str, str], float](float)
    for row in rows(engine, "usage_hourly"):
        key = (parse_utc(row["hour"]), row["cluster_queue"], row["resource"])
        mapping[key] += row["resource_seconds"]
    raw = {key: natural(key[2], units / US) for key, units in books.usage.items() if units}
    assert len(raw) > 3
    assert {key: value for key, value in mapping.items() if value} == pytest.approx(raw)


def test_every_holding(kept: tuple[Engine, Books]) -> None:
    engine, books = kept
    result = [
        (
            row["workload"],
            row["cluster_queue"],
            row["resource"],
            row["amount"],
            row["from_seq"],
            row["to_seq"],
        )
        for row in rows(engine, "holdings")
    ]
    raw = [
        holding._replace(amount=natural(holding.resource, holding.amount))
        for holding in books.holdings
    ]
    assert sorted(result, key=repr) == sorted(map(tuple, raw), key=repr)


def test_every_wait(kept: tuple[Engine, Books]) -> None:
    engine, books = kept
    result = sorted(
        (row["workload"], parse_utc(row["from_at"]), row["waited_s"], row["outcome"])
        for row in rows(engine, "waits")
    )
    until = books.now_us
    assert result == sorted(
        (wait.workload, wait.from_us, ((wait.to_us or until) - wait.from_us) / US, wait.outcome)
        for wait in books.waits
    )


def test_every_preemption(kept: tuple[Engine, Books]) -> None:
    engine, books = kept
    mapping = {(row["seq"], row["resource"]): _loss(row) for row in rows(engine, "preemptions")}
    assert mapping == {
        (loss.seq, loss.resource): (
            loss.workload,
            loss.by,
            loss.reason,
            loss.ran_us / US,
            natural(loss.resource, loss.planned),
            None if loss.freed is None else natural(loss.resource, loss.freed),
        )
        for loss in books.losses
    }
    assert mapping


def _loss(row: dict[str, Any]) -> tuple[Any, ...]:
    names = ("workload", "by", "reason", "ran_s", "planned", "freed")
    return tuple(row[name] for name in names)
