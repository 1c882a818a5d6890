"""A notice costs as much to write down whatever else waits, and no crash loses a position."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.notify.events import MINUTE_US, admitted, finished, heard, pending, submitted
from tidegate.notify.configuration import Rule, When
from tidegate.notify.positions import Change, Position, Served
from tidegate.notify.receivers import Notifier
from tidegate.notify.rules import Notice, Wait
from tidegate.subscribe import LedgerEvent

RULES = (Rule(when=(When.FINISHED,)), Rule(waiting_longer_than="30m"))
NOTICES = 50


class Disk:
    """Counts the bytes that are synced to it, by what each file has become longer."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bytes, self._sizes = 0, dict[int, int]()
        monkeypatch.setattr(os, "fsync", self._sync)

    def _sync(self, file: int) -> None:
        now = os.fstat(file)
        before = self._sizes.get(now.st_ino, 0)
        self.bytes += now.st_size - before if now.st_size > before else now.st_size
        self._sizes[now.st_ino] = now.st_size


class Counting:
    """Takes notices; says when it took the last."""

    def __init__(self) -> None:
        self.taken, self.all = 0, asyncio.Event()

    async def send(self, notice: Notice) -> bool:
        self.taken += notice.type == "Finished"
        if self.taken == NOTICES:
            self.all.set()
        return True


async def _bytes_beside(waits: int, folder: Path, disk: Disk) -> int:
    """Return how many bytes are written for some notices while so many workloads wait."""
    waiting = {
        f"a/wait-{number}": Wait(seq=1, since_us=0, key=f"local/{number}/{16 * '0'}")
        for number in range(waits)
    }
    position, sender = Position(folder, f"beside-{waits}"), Counting()
    position.write(Served(seq=0, waiting=waiting))
    notifier = Notifier(RULES, sender, position, lambda: MINUTE_US)
    disk.bytes = 0

    async def follow(_since: int) -> AsyncIterator[LedgerEvent]:
        for event in heard(*(finished(f"b/done-{number}") for number in range(NOTICES))):
            yield event
        await asyncio.Event().wait()

    work = asyncio.create_task(notifier.run(follow, NOTICES))
    await sender.all.wait()
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)
    return disk.bytes


async def test_a_notice_costs_as_much_beside_many_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk(monkeypatch)
    few, many = [await _bytes_beside(waits, tmp_path, disk) for waits in (40, 4_000)]
    whole = (tmp_path / "beside-4000.json").stat().st_size
    assert many <= few + whole  # once, as it starts


def _played(position: Position, *events: list[LedgerEvent]) -> Served | None:
    """Write after each of some parts of a history; return what is read then."""

    async def play() -> None:
        served = position.read()
        notifier = Notifier(RULES, Counting(), position, lambda: MINUTE_US)
        history = [event for part in events for event in part]

        async def follow(since: int) -> AsyncIterator[LedgerEvent]:
            for event in history:
                if event.seq >= since:
                    yield event
            raise EOFError

        assert served is not None
        with pytest.raises(EOFError):
            await notifier.run(follow, len(history))

    asyncio.run(play())
    return position.read()


def test_what_was_appended_is_read_as_the_whole(tmp_path: Path) -> None:
    position = Position(tmp_path, "r")
    position.write(Served(seq=0))
    history = list(
        heard(
            submitted("a/one"),
            submitted("a/two"),
            pending("a/two", "q"),
            admitted("a/one", "q"),
            finished("a/one"),
        )
    )
    read = _played(position, history)
    assert read is not None
    assert (read.seq, list(read.waiting)) == (5, ["a/two"])
    assert read.waiting["a/two"].cluster_queue == "q"


def test_a_line_that_is_not_whole_counts_for_nothing(tmp_path: Path) -> None:
    position, file = Position(tmp_path, "r"), tmp_path / "r.json"
    position.write(Served(seq=3))
    assert position.append(Change(seq=4))
    whole = file.read_bytes()
    for end in range(len(whole) - 1, whole.index(b"\n"), -1):
        file.write_bytes(whole[:end])
        assert position.read() == Served(seq=3)


def test_a_file_is_replaced_before_it_grows_without_end(tmp_path: Path) -> None:
    position, file = Position(tmp_path, "r"), tmp_path / "r.json"
    position.write(Served(seq=0))
    for seq in range(1, 20_000):
        if not position.append(Change(seq=seq)):
            position.write(Served(seq=seq))
    read = position.read()
    assert read == Served(seq=19_999)
    assert file.stat().st_size < 70_000
