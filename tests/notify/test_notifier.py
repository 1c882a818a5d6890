"""A receiver gets the notices of a real stream, each once, also when the notifier is killed."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import msgspec
import pytest

from tests.notify.conftest import Hook
from tests.notify.events import MINUTE_US, admitted, heard, submitted
from tests.parts.sample import ENTRIES, published
from tidegate.errors import MissedEventsError
from tidegate.notify.configuration import Configuration, Receiver, Rule, When
from tidegate.notify.positions import Position, Served
from tidegate.notify.receivers import NoticeSender, Notifier, Source, serve_receivers
from tidegate.notify.rules import Notice, Wait
from tidegate.notify.webhook import open_webhook
from tidegate.subscribe import LedgerEvent

ADMITTED = [entry.seq for entry in ENTRIES if entry.type == "WorkloadAdmitted"]
RULES = (Rule(when=(When.ADMITTED,)),)
WAITING = (Rule(waiting_longer_than="30m"),)
pytestmark = pytest.mark.usefixtures("at_once")


class Kept:
    """Takes notices; after some it takes no more, as one that hangs."""

    def __init__(self, most: int = sys.maxsize) -> None:
        self.keys, self._most, self.full = list[str](), most, asyncio.Event()

    async def send(self, notice: Notice) -> bool:
        if len(self.keys) == self._most:
            self.full.set()
            await asyncio.Event().wait()
        self.keys.append(notice.key)
        return True


async def until(done: asyncio.Event, work: asyncio.Task[None]) -> None:
    waiting = asyncio.ensure_future(done.wait())
    await asyncio.wait({waiting, work}, timeout=60, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    assert done.is_set(), work
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)


@pytest.mark.real
async def test_a_receiver_that_was_away_gets_the_rest_and_nothing_twice(
    tmp_path: Path, hook: Hook
) -> None:
    async with published(tmp_path / "nats") as url:
        source = Source(bus=url)
        last, events = (await source.newest())[0], partial(source.events, 0)
        positions = tmp_path / "positions"
        Position(positions, "r").write(Served(seq=0))
        first = Kept(2)
        notifier = Notifier(RULES, first, Position(positions, "r"))
        await until(first.full, asyncio.create_task(notifier.run(events, last)))
        hook.statuses = [503]  # and then it is there again
        receiver = Receiver(name="r", url=hook.url, rules=RULES)
        read = Configuration(receivers=(receiver,))
        rest = len(ADMITTED) - 2
        work = asyncio.create_task(
            serve_receivers(read, source, positions, lambda to: open_webhook(to, "/t", 60.0))
        )
        async with asyncio.timeout(60):
            while len(hook.taken) < rest and not work.done():
                await asyncio.sleep(0.02)
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
    seqs = [int(key.split("/")[1]) for key in (*first.keys, *hook.taken)]
    assert rest > 0
    assert seqs == ADMITTED
    assert len(hook.keys) == rest + 1


async def played(
    events: list[LedgerEvent], position: Position, minute: int, newest: int
) -> list[str]:
    """Run a notifier on events, at a time that stands still; return the keys of its notices."""

    async def follow(since: int) -> AsyncIterator[LedgerEvent]:
        for _ in range(10):  # a bus takes its time
            await asyncio.sleep(0)
        for event in events:
            if event.seq >= since:
                yield event
        await asyncio.Event().wait()

    kept = Kept()
    notifier = Notifier(WAITING, kept, position, lambda: minute * MINUTE_US)
    work = asyncio.create_task(notifier.run(follow, newest))
    for _ in range(50):  # turns of the loop: by then all there is to handle is handled
        await asyncio.sleep(0)
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)
    return kept.keys


async def test_a_wait_is_noticed_by_the_clock_also_after_a_restart(tmp_path: Path) -> None:
    events = list(heard(submitted("a/one"), submitted("a/two"), admitted("a/two", "q", 1)))
    position = Position(tmp_path, "r")
    position.write(Served(seq=0))
    assert await played(events, position, minute=1, newest=3) == []
    assert await played(events, position, minute=30, newest=3) == [
        f"local/1/{16 * '0'}/waiting/30m"
    ]
    assert await played(events, position, minute=60, newest=3) == []


async def test_a_wait_that_ended_between_reads_is_not_noticed(tmp_path: Path) -> None:
    events = list(heard(submitted("a/one"), admitted("a/one", "q", 40)))
    position = Position(tmp_path, "r")
    position.write(Served(seq=1, waiting={"a/one": Wait(seq=1, since_us=0, key="k")}))
    assert await played(events, position, minute=99, newest=2) == []
    assert await played([], Position(tmp_path, "other"), minute=99, newest=2) == []


async def test_a_damaged_position_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "r.json").write_bytes(msgspec.json.encode({"seq": "many"}))
    with pytest.raises(Exception, match="Remove it to continue"):
        Position(tmp_path, "r").read()


class Trimmed(Source, frozen=True, kw_only=True):
    """A bus that holds the events from the third on."""

    async def newest(self) -> dict[int, int]:
        return {0: 4}

    async def events(self, partition: int, since: int) -> AsyncIterator[LedgerEvent]:
        del partition
        if since < 3:
            raise MissedEventsError(f"event {since}", "event 3")
        for event in heard(admitted("a/x", "q"), admitted("a/y", "q"), first=3):
            if event.seq >= since:
                yield event
        await asyncio.Event().wait()


async def test_a_receiver_that_was_away_for_too_long_stops_no_other(tmp_path: Path) -> None:
    kept = Kept(2)

    @asynccontextmanager
    async def sender(_receiver: Receiver) -> AsyncGenerator[NoticeSender]:
        yield kept

    for name, seq in (("away", 0), ("near", 2)):
        Position(tmp_path, name).write(Served(seq=seq))
    both = tuple(Receiver(name=n, url="http://h/", rules=RULES) for n in ("away", "near"))
    source = Trimmed(bus="")
    work = asyncio.create_task(
        serve_receivers(Configuration(receivers=both), source, tmp_path, sender)
    )
    async with asyncio.timeout(60):
        while len(kept.keys) < 2 and not work.done():
            await asyncio.sleep(0.01)
    assert not work.done()
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)
    with pytest.raises(MissedEventsError):
        await serve_receivers(Configuration(receivers=both[:1]), source, tmp_path, sender)
