"""A ledger gets a new name only on a bus that knows of it: else readers would refuse its events."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from itertools import count
from random import Random

import pytest

from store.access.engine import open_engine
from store.ledger import SqlLedger
from tests.parts.migrated import migrate
from tests.parts.nats.connection import Blows, Connection
from tests.parts.nats.server import Server
from tests.parts.virtual import run_virtually
from tidegate.bus.jetstream.connection import NatsBus
from tidegate.bus.jetstream.keys import LEDGER
from tidegate.bus.streams import StreamOptions
from tidegate.cli.commands.ledger.recover import rename_ledger
from tidegate.contracts.chain import GENESIS, seal
from tidegate.contracts.entry import Position, Positions
from tidegate.contracts.facts import LedgerOpened
from tidegate.errors import BusUnreachableError


def test_a_ledger_keeps_its_name_on_a_bus_that_does_not_take_the_new_one() -> None:
    async def story() -> None:
        server, answers = Server(lambda: time.time_ns() // 1_000), count()
        bus = NatsBus(Connection(server, Random(0)).client, "local")
        await bus.ensure_streams(StreamOptions())
        blows = Blows(leaderless=lambda: next(answers) > 0)  # it tells how far EVENTS is, no more
        silent = NatsBus(Connection(server, Random(0), blows=blows).client, "local")
        with pytest.raises(BusUnreachableError):
            await rename_ledger(ledger, silent, "local", "after")
        assert [entry.seq for entry in ledger.read()] == [1]
        opened = await rename_ledger(ledger, bus, "local", "after", "kim")
        assert (opened.ledger_id, opened.author) == ("after", "kim")
        assert await bus.register().read(LEDGER) == "after"
        assert [entry.type for entry in ledger.read()] == ["LedgerOpened"] * 2

    with _ledger() as ledger:
        run_virtually(story())


def test_a_ledger_under_a_new_name_reads_what_is_observed_from_then_on() -> None:
    """A list that was asked for before its lost tail's decisions would adopt too few."""

    async def story() -> None:
        bus = NatsBus(Connection(Server(lambda: 1), Random(0)).client, "local")
        await bus.ensure_streams(StreamOptions())
        await _tell_and_forget(bus)
        await rename_ledger(ledger, bus, "local", "after")
        read = ledger.begin_term("scheduler", 0)
        assert read is not None
        assert read.observations.seq == 2

    with _ledger() as ledger:
        run_virtually(story())


def test_each_member_is_listed_anew_as_if_nothing_had_been_read_of_it() -> None:
    """Its lists from before the lost tail would adopt too few, and no gap would ask for others."""

    async def story() -> None:
        bus = NatsBus(Connection(Server(lambda: 1), Random(0)).client, "local")
        await bus.ensure_streams(StreamOptions(), ("east",))
        ledger.append(1, 1, [], Positions(members={"east": Position(7, 5)}))
        await rename_ledger(ledger, bus, "local", "after")
        read = ledger.begin_term("scheduler", 0)
        assert read is not None
        assert read.members == {"east": Position()}

    with _ledger() as ledger:
        run_virtually(story())


@contextmanager
def _ledger() -> Generator[SqlLedger]:
    """Yield a ledger that has a name."""
    engine = open_engine("sqlite://")
    try:
        migrate(engine)
        ledger = SqlLedger(engine)
        term = ledger.begin_term("before", 0)
        assert term is not None
        opened = LedgerOpened(at_us=1, ledger_id="before", cluster="local")
        rows = seal(GENESIS, term.epoch, "local", [opened])
        ledger.append(term.epoch, 0, rows, Positions())
        yield ledger
    finally:
        engine.dispose()


async def _tell_and_forget(bus: NatsBus) -> None:
    for number in range(2):
        await bus.observation_publisher().publish(
            "tidegate.local.observed.nodes._.a", b"{}", f"s:{number}"
        )
    (first, _) = await bus.observation_reader().pull(Position(), count_max=2, wait_s=1)
    await bus.observation_reader().purge_through(first.at)
