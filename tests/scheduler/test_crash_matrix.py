"""Killed at every place of a turn, on a file and on PostgreSQL: nothing is lost, nothing doubled.

Afterwards the chain holds and every decision is taken again alike, EVENTS holds each entry of the
ledger once and in order, and every fact that was reported stands in the ledger once.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import BinaryIO

import pytest
from msgspec.structs import replace
from sqlalchemy import Engine

from store.access.engine import open_engine
from store.ledger import SqlLedger
from store.reading.as_of import reports_as_of
from store.views.catalog import VIEWS
from tests.parts.postgresql import Server
from tests.parts.reports import rows
from tests.scheduler.killing import PLACES
from tests.scheduler.stage import QUEUES, beat, queue
from tidegate.bus.embedded import embedded_server
from tidegate.bus.jetstream.connection import NatsBus, open_bus
from tidegate.bus.jetstream.keys import CLUSTER
from tidegate.bus.streams import StreamOptions
from tidegate.contracts.codec import decode, encode
from tidegate.contracts.entry import Entry, Published
from tidegate.contracts.facts import ClusterQueueDefined
from tidegate.contracts.observations import Observation, SyncCompleted, SyncStarted
from tidegate.contracts.subjects import observed_subject
from tidegate.errors import BusUnreachableError, LedgerUnreachableError
from tidegate.replay.verify import audit_ledger

pytestmark = [pytest.mark.timeout(300), pytest.mark.real]
SCHEDULER = (sys.executable, "-m", "scheduler")
DOOMED = (sys.executable, "-m", "tests.scheduler.killing")
OUT_OF_REACH = tuple(kind.__name__ for kind in (BusUnreachableError, LedgerUnreachableError))
NAMES = [f"queue-{number}" for number in range(12)]


TIMES = (("file", 3), ("postgresql", 2), ("file", 1))
"""On what, and at the how manyth time that the place is reached."""
DEATHS = [
    pytest.param(place, *time, marks=[pytest.mark.slow] if at or number % 2 else [])
    for number, place in enumerate(PLACES)
    for at, time in enumerate((TIMES[number % 2], TIMES[1 - number % 2], TIMES[2]))
]
"""Every other place in every run; each on a file and PostgreSQL in the long ones."""


@pytest.fixture
def ledger_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty database."""
    if request.param == "file":
        yield str(tmp_path / "ledger.db")
        return
    server: Server = request.getfixturevalue("postgresql")
    url = server.new_database()
    yield url
    server.drop(url)


@pytest.fixture
async def bus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncGenerator[tuple[str, NatsBus], None]:
    monkeypatch.setenv("TIDEGATE_HOLDER_FILE", str(tmp_path / "holder"))
    async with (
        embedded_server(tmp_path) as url,
        open_bus(url, cluster="local", name="tests") as made,
    ):
        await made.ensure_streams(StreamOptions())
        await made.register().claim(CLUSTER, "uid-1")  # as ingest does
        yield url, made


def start(
    command: tuple[str, ...], url: str, ledger: str, output: BinaryIO | int = subprocess.DEVNULL
) -> subprocess.Popen[bytes]:
    flags = ("--nats-url", url, "--ledger", ledger, "--messages-max", "2", "--forget-messages", "1")
    return subprocess.Popen([*command, *flags], stderr=output)


class Ingest:
    """Tells of all queues in a round, and again in the next whenever it is asked to."""

    def __init__(self, bus: NatsBus) -> None:
        self._outlet, self._round = bus.observation_publisher(), 0

    async def tell(self) -> None:
        """Tell one round."""
        self._round += 1
        queues = [replace(queue(name, n), round=self._round) for n, name in enumerate(NAMES, 5)]
        present = tuple(observation.uid for observation in queues)
        observations: list[Observation] = [
            beat(self._round),
            SyncStarted(resource=QUEUES, session="s", round=self._round),
            *queues,
            SyncCompleted(
                resource=QUEUES, session="s", round=self._round, list_version=99, present=present
            ),
        ]
        subject = observed_subject("local", QUEUES, "", "any")
        for number, each in enumerate(observations):
            name = f"test:{self._round}:{number}"
            await self._outlet.publish(subject, encode(each), name)

    @asynccontextmanager
    async def listening(self) -> AsyncGenerator[None, None]:
        """Answer each request to tell everything again."""

        async def answer() -> None:
            async for _ in self._outlet.resync_requests():
                await self.tell()

        answering = asyncio.create_task(answer())
        try:
            yield
        finally:
            answering.cancel()
            await asyncio.wait({answering})


async def heard(bus: NatsBus, until: Callable[[Published], bool]) -> list[Published]:
    """Return what EVENTS holds, from its beginning up to the first that is waited for."""
    messages = list[Published]()
    async with aclosing(bus.event_feed().follow(0)) as following:
        async for message in following:
            messages.append(message)
            if until(message):
                return messages
    raise AssertionError("EVENTS never ends")


async def die(command: tuple[str, ...], url: str, ledger: str) -> None:
    """Run a scheduler until it kills itself.

    A busy machine may keep it from the bus or the database for too long. Then it ends itself, as it
    should, for its supervisor to start it again; for any other reason it must not.
    """
    for _ in range(3):
        with tempfile.TemporaryFile() as output:
            doomed = start(command, url, ledger, output)
            try:
                code = await asyncio.to_thread(doomed.wait)
            finally:
                doomed.kill()
                doomed.wait()
            if code == -signal.SIGKILL:
                return
            output.seek(0)
            log = output.read().decode()
            assert any(kind in log for kind in OUT_OF_REACH), f"it ended with {code}: {log}"
    raise AssertionError("it never came to the place of its death")


async def go_on(url: str, ledger: str, bus: NatsBus) -> None:
    """Run the scheduler as it stands until it has told everything, and let it drain."""
    running = start(SCHEDULER, url, ledger)
    try:
        await heard(bus, lambda message: ".event.SyncCompleted." in message.subject)
        running.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(running.wait) == 0
    finally:
        running.kill()
        running.wait()


@pytest.mark.parametrize(("place", "ledger_url", "count"), DEATHS, indirect=["ledger_url"])
async def test_killed(place: str, count: int, ledger_url: str, bus: tuple[str, NatsBus]) -> None:
    url, made = bus
    await made.ensure_streams(StreamOptions())
    ingest = Ingest(made)
    async with ingest.listening():
        await ingest.tell()
        await die((*DOOMED, place, str(count)), url, ledger_url)
        await go_on(url, ledger_url, made)
    engine = open_engine(ledger_url, read_only=True)
    entries = list(SqlLedger(engine).read())
    nothing_is_lost_and_nothing_doubled(entries)
    reports_are_the_histories(engine, entries)
    engine.dispose()
    events = await heard(made, lambda message: message.seq >= entries[-1].seq)
    assert [(event.seq, event.hash) for event in events] == [
        (entry.seq, entry.hash) for entry in entries
    ]


def nothing_is_lost_and_nothing_doubled(entries: list[Entry]) -> None:
    assert audit_ledger(entries).head_seq == len(entries)
    assert entries[-1].epoch > 1, "a term after the one that was killed"
    defined = Counter(
        event.name
        for entry in entries
        if isinstance(event := decode(entry.payload), ClusterQueueDefined)
    )
    assert defined == Counter(NAMES)
    assert Counter(entry.type for entry in entries)["LedgerOpened"] == 1


def reports_are_the_histories(engine: Engine, entries: list[Entry]) -> None:
    with reports_as_of(entries) as then:
        for name in VIEWS:
            assert rows(engine, name) == rows(then, name)
