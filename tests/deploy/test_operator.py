"""Every command that speaks to the bus works against the one that is shipped: TLS and accounts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from store.access.engine import open_engine
from store.ledger import SqlLedger
from tests.deploy.nats_server import Served, nats_with_accounts
from tests.parts.sample import ENTRIES, TURNS, filled
from tidegate.bus.jetstream.connection import open_bus
from tidegate.bus.streams import StreamOptions
from tidegate.cli.program import build_app
from tidegate.cli.sample.ledger import LEDGER_ID
from tidegate.contracts.entry import Position

pytestmark = pytest.mark.real
KEPT = TURNS[:-4]


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    """Lend a server with all streams and the events of the sample."""
    with nats_with_accounts(tmp_path / "server") as result:
        url, ca = result.url("scheduler"), str(result.ca)
        async with open_bus(url, cluster="local", name="scheduler", ca=ca) as bus:
            await bus.ensure_streams(StreamOptions())
            _, counts = await bus.event_publisher().last_published(Position())
            await bus.event_publisher().publish(LEDGER_ID, counts, ENTRIES)
        yield result


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    with filled(str(tmp_path / "whole.db"), TURNS):
        return tmp_path / "whole.db"


@pytest.fixture
def cut(tmp_path: Path) -> Path:
    """The sample as a backup from before its last turns has it."""
    with filled(str(tmp_path / "cut.db"), KEPT):
        return tmp_path / "cut.db"


async def run(served: Served, *arguments: str) -> Result:
    names = [*arguments, "--bus-ca", str(served.ca)]
    return await asyncio.to_thread(CliRunner().invoke, build_app(), names)


async def recover(served: Served, user: str, ledger: Path, *more: str) -> Result:
    where = ("--bus", served.url(user), "--ledger", str(ledger))
    return await run(served, "ledger", "recover", *where, *more)


async def test_the_operator_brings_events_back(served: Served, cut: Path) -> None:
    result = await recover(served, "operator", cut, "--from-events")
    assert (result.exit_code, "up to seq 79" in result.stderr) == (0, True), result.output
    engine = open_engine(str(cut))
    assert list(SqlLedger(engine).read()) == ENTRIES
    engine.dispose()


async def test_the_operator_gives_a_ledger_a_new_name(served: Served, cut: Path) -> None:
    result = await recover(served, "operator", cut)
    assert (result.exit_code, "The ledger goes on as" in result.stderr) == (0, True), result.output


async def test_the_reader_may_not_recover(served: Served, cut: Path) -> None:
    result = await recover(served, "reader", cut)
    assert result.exit_code == 3
    assert "permissions violation" in result.stderr.lower()


@pytest.mark.parametrize("user", [pytest.param("reader", marks=pytest.mark.slow), "operator"])
async def test_the_events_are_a_witness(served: Served, whole: Path, cut: Path, user: str) -> None:
    def given(ledger: Path) -> tuple[str, ...]:
        witness = ("--witness", served.url(user), "--no-redecide", "--ledger", str(ledger))
        return "ledger", "verify", *witness

    held, lacks = await run(served, *given(whole)), await run(served, *given(cut))
    assert (held.exit_code, lacks.exit_code) == (0, 1), held.output
    assert "seq 79" in lacks.stderr


@pytest.mark.parametrize("user", ["reader", pytest.param("operator", marks=pytest.mark.slow)])
async def test_the_doctor_is_content(served: Served, whole: Path, user: str) -> None:
    given = ("--only", "bus", "--bus", served.url(user), "--ledger", str(whole))
    result = await run(served, "doctor", *given, "-o", "name")
    assert (result.exit_code, result.stdout.split()) == (0, ["StreamsInPlace"])


@pytest.mark.slow
async def test_without_the_authority_a_command_says_which_option_lacks(
    served: Served, cut: Path
) -> None:
    given = ("ledger", "recover", "--bus", served.url("operator"), "--ledger", str(cut))
    result = await asyncio.to_thread(CliRunner().invoke, build_app(), given)
    assert result.exit_code == 3
    assert "--bus-ca FILE" in result.stderr
