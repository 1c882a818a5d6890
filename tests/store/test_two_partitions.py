"""Reports of a ledger with two partitions have the rows of each, as two ledgers apart have them.

Both partitions count their seqs from 1, so whatever joins on a seq alone mixes the two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from msgspec.structs import replace
from sqlalchemy import Engine

from store.ledger import SqlLedger
from store.views.catalog import VIEWS
from tests.parts.reports import rows
from tests.store.busy import QUEUES, Busy
from tests.store.conftest import Fresh
from tests.store.histories import AT, LEASE_US
from tests.store.story import STORY
from tests.store.text import shown
from tidegate.contracts.chain import GENESIS, seal
from tidegate.contracts.codec import decode, encode
from tidegate.contracts.entry import Entry
from tidegate.contracts.facts import Event, FlavorDefined
from tidegate.kinds.kueue_api.prices import read_prices
from tidegate.model.quota import FlavorSpec

PRICES = "cpu=0.04 EUR from 2026-03-01, cpu=0.06 EUR borrowed from 2026-03-01"
NAMES = {"team-a": "crew-a", "team-b": "crew-b", **{name: f"dark-{name}" for name in QUEUES}}
"""What is called otherwise in the other partition: a ClusterQueue is in one alone."""


def priced(at_us: int, flavor: str) -> FlavorDefined:
    return FlavorDefined(at_us=at_us, name=flavor, spec=FlavorSpec(), prices=read_prices(PRICES))


def story() -> list[Sequence[Event]]:
    return [*STORY, [priced(STORY[-1][-1].at_us, "on-demand")]]


def busy(seed: int) -> list[Sequence[Event]]:
    cluster = Busy(seed)
    entries = [cluster.open(), *filter(None, cluster.turns(120))]
    turns: list[Sequence[Event]] = [[decode(entry.payload) for entry in turn] for turn in entries]
    return [*turns, [priced(turns[-1][-1].at_us, "default")]]


def retold(turns: Sequence[Sequence[Event]]) -> list[Sequence[Event]]:
    """Return a history with other names."""

    def other(event: Event) -> Event:
        text = encode(event).decode()
        for name, called in NAMES.items():
            text = text.replace(f'"{name}"', f'"{called}"')
        return decode(text)

    return [[other(event) for event in turn] for turn in turns]


def sealed(partition: int, turns: Sequence[Sequence[Event]]) -> Iterator[list[Entry]]:
    head = replace(GENESIS, partition=partition)
    for turn in turns:
        entries = seal(head, 1, "local", turn)
        head = entries[-1]
        yield entries


def write(engine: Engine, *histories: tuple[int, Sequence[Sequence[Event]]]) -> None:
    """Append turns of each partition in turn, as two schedulers do."""
    ledgers = [SqlLedger(engine, partition) for partition, _ in histories]
    for ledger in ledgers:
        ledger.begin_term("a", LEASE_US)
    rest = [sealed(*history) for history in histories]
    while any(left := [next(each, None) for each in rest]):
        for ledger, entries in zip(ledgers, left, strict=True):
            if entries:
                ledger.append(1, entries[0].seq - 1, entries, AT)


@pytest.fixture(scope="module", params=["story", "busy"])
def databases(request: pytest.FixtureRequest, kept_engine: Fresh) -> Iterator[list[Engine]]:
    """One database with two partitions, and one for each of them."""
    first, second = (story(), story()) if request.param == "story" else (busy(1), busy(2))
    two = (0, first), (1, retold(second))
    with kept_engine() as both, kept_engine() as zero, kept_engine() as engine:
        write(both, *two)
        write(zero, two[0])
        write(engine, two[1])
        yield [both, zero, engine]


def texts(*engines: Engine, name: str) -> list[list[str]]:
    current_rows = [row for engine in engines for row in rows(engine, name)]
    return sorted([shown(value) for value in row.values()] for row in current_rows)


@pytest.mark.parametrize("name", VIEWS)
def test_a_report_has_the_rows_of_both(databases: list[Engine], name: str) -> None:
    both, *apart = databases
    expected = texts(*apart, name=name)
    assert expected or name == "budgets"
    assert texts(both, name=name) == expected
