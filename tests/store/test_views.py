"""Each SQL report on one story: the same text on every database, compared with a kept answer.

``views/<name>.txt`` holds the rows; ``REWRITE=1`` writes them anew, for the diff to be read.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from store.ledger import SqlLedger
from store.views.catalog import VIEWS
from tests.store.histories import AT, LEASE_US, sealed
from tests.store.story import STORY
from tests.store.text import shown, table
from tidegate.contracts.facts import FlavorDefined
from tidegate.kinds.kueue_api.prices import read_prices
from tidegate.model.quota import FlavorSpec

KEPT = Path(__file__).parent / "views"


@pytest.fixture(scope="module")
def engine(shared_engine: Engine) -> Engine:
    """A ledger that holds the story, and prices."""
    ledger = SqlLedger(shared_engine)
    ledger.begin_term("a", LEASE_US)
    prices = FlavorDefined(
        at_us=STORY[-1][-1].at_us,
        name="on-demand",
        spec=FlavorSpec(),
        author="kim",
        prices=read_prices("cpu=0.04 EUR from 2026-03-01, cpu=0.06 EUR borrowed from 2026-03-01"),
    )
    for entries in sealed(*STORY, [prices]):
        ledger.append(1, entries[0].seq - 1, entries, AT)
    return shared_engine


def table_of(engine: Engine, name: str) -> str:
    with engine.connect() as conn:
        result = conn.execute(text(f"SELECT * FROM {name}"))  # noqa: S608 - a name from the code
        return table(result.keys(), sorted(result, key=lambda row: [shown(item) for item in row]))


@pytest.mark.parametrize("name", VIEWS)
def test_a_report_says_of_the_story(engine: Engine, name: str) -> None:
    path = KEPT / f"{name}.txt"
    if os.environ.get("REWRITE"):
        path.write_text(table_of(engine, name))
    assert table_of(engine, name) == path.read_text()


@pytest.mark.parametrize("name", VIEWS)
def test_a_report_has_the_columns_that_it_documents(shared_engine: Engine, name: str) -> None:
    with shared_engine.connect() as conn:
        result = conn.execute(text(f"SELECT * FROM {name}"))  # noqa: S608 - a name from the code
        assert tuple(result.keys()) == tuple(column.name for column in VIEWS[name].columns)
