"""Partitions that are written to, and one that begins, while a server follows them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from sqlalchemy import Engine

from store.access.engine import open_engine
from store.ledger import SqlLedger
from store.schema.migrate import upgrade
from tests.serve.people import ReviewingApi
from tests.serve.test_streaming import opened, served, taken
from tidegate.cli.ledger.reading import Reader, open_reader
from tidegate.contracts.entry import Entry, Positions
from tidegate.errors import LedgerUnreachableError
from tidegate.serve.app import follow_ledger
from tidegate.serve.ledger.live import LiveState
from tidegate.serve.ledger.partitions.following import LedgerFollower

Turns = list[list[Entry]]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """An empty database."""
    engine = open_engine(f"sqlite:///{tmp_path / 'ledger.db'}")
    upgrade(engine)
    yield engine
    engine.dispose()


def write(engine: Engine, turns: Turns) -> None:
    for turn in turns:
        ledger = SqlLedger(engine, turn[0].partition, clock_us=lambda: 0)
        if turn[0].seq == 1:
            assert ledger.begin_term("a", 0) is not None
        ledger.append(1, turn[0].seq - 1, turn, Positions())


def settled(site: LedgerFollower) -> LedgerFollower:
    while site.poll():
        pass
    return site


def homes(site: LedgerFollower) -> dict[str, list[int]]:
    """Return which partitions have each ClusterQueue."""
    mapping = dict[str, list[int]]()
    for followed in site.partitions():
        with followed.live.state() as state:
            for name in state.objects.cluster_queues:
                mapping.setdefault(name, []).append(followed.partition)
    return mapping


async def test_a_stream_tells_both_and_one_that_begins_later(
    tmp_path: Path, engine: Engine, turns: Turns
) -> None:
    first = [turn for turn in turns if turn[0].partition == 0]
    second = [turn for turn in turns if turn[0].partition == 1]
    write(engine, first[:2])
    known = sum(map(len, first[:2]))
    late = sum(map(len, [*first[2:], *second]))
    async with served(tmp_path / "ledger.db", ReviewingApi()) as client:
        async with opened(client, "root", f"after={known}") as stream:
            write(engine, [*first[2:], *second])
            values = [msgspec.json.decode(data) for _, data in await taken(stream, late)]
        after = values[4]["position"] if "position" in values[4] else str(values[4]["seq"])
        async with opened(client, "root", "", **{"Last-Event-ID": after}) as stream:
            again = [msgspec.json.decode(data) for _, data in await taken(stream, late - 5)]
    expected = {(entry.partition, entry.seq) for turn in turns for entry in turn}
    places = [(event["partition"], event["seq"]) for event in values]
    assert sorted(places) == sorted(expected - {(0, seq) for seq in range(1, known + 1)})
    assert sorted(places[5:]) == sorted((event["partition"], event["seq"]) for event in again)


def test_what_follows_from_another_partition_is_not_seen_before_it(
    engine: Engine, turns: Turns, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = [{entry.type for entry in turn} for turn in turns]
    release = next(n for n, names in enumerate(kinds) if "TreeReleased" in names)
    write(engine, turns[:release])
    site = settled(LedgerFollower(str(engine.url)))
    read = LiveState.read

    def read_late(live: LiveState, until: int | None = None) -> list[Entry]:
        page = read(live, until)
        if live.partition == 0:
            monkeypatch.setattr(LiveState, "read", read)
            write(engine, turns[release:])
        return page

    monkeypatch.setattr(LiveState, "read", read_late)
    site.poll()
    assert homes(site) == {"first": [0], "lone": [0], "second": [1]}
    assert homes(settled(site)) == {"first": [1], "lone": [0], "second": [1]}
    site.close()


def test_a_new_partition_is_shown_once_it_is_read(
    engine: Engine, turns: Turns, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidegate.serve.ledger.live.PAGE_ROWS", 20)
    write(engine, [turn for turn in turns if turn[0].partition == 0])
    site = settled(LedgerFollower(str(engine.url)))
    assert list(site.ends) == [0]
    write(engine, [turn for turn in turns if turn[0].partition == 1])
    assert site.poll()
    assert (list(site.ends), site.fault) == ([0], "")
    assert list(settled(site).ends) == [0, 1]
    site.close()


def _ends(site: LedgerFollower) -> dict[int, int]:
    return site.ends


def _newest(site: LedgerFollower) -> list[int]:
    """Return which events the states include, as an answer finds them."""
    numbers = list[int]()
    for followed in site.partitions():
        with followed.live.state() as state:
            numbers.append(state.seq)
    return numbers


@pytest.mark.parametrize("is_folded", [True, False])
@pytest.mark.parametrize(
    ("partition", "look"), [(None, _ends), (None, _newest), (0, _ends), (0, _newest)]
)
def test_a_page_that_is_read_keeps_no_request_waiting(  # noqa: PLR0913 - fixtures and cases
    engine: Engine,
    turns: Turns,
    monkeypatch: pytest.MonkeyPatch,
    partition: int | None,
    look: Callable[[LedgerFollower], Any],
    *,
    is_folded: bool,
) -> None:
    reads = list[Callable[[], object]]()  # what is done at each of this server's reads
    monkeypatch.setattr("tidegate.serve.ledger.live.open_reader", partial(_opened, reads))
    write(engine, turns)
    site = LedgerFollower(str(engine.url), partition)
    if is_folded:
        settled(site)
    known, during = look(site), list[Any]()
    with ThreadPoolExecutor(1) as others:
        reads.append(lambda: during.append(others.submit(look, site).result(timeout=5)))
        site.poll()
        reads.clear()
    assert known in during
    assert known == look(site) if is_folded else known != look(site)
    site.close()


@contextmanager
def _opened(
    reads: list[Callable[[], object]], url: str, *, partition: int | None, reports: bool
) -> Generator[Reader]:
    """Open a ledger that does ``reads`` before it reads."""
    with open_reader(url, partition=partition, reports=reports) as reader:
        read = reader.ledger.read

        def slowly(after: int = 0, until: int | None = None) -> Iterator[Entry]:
            for act in reads:
                act()
            return read(after, until)

        reader.ledger.read = slowly  # type: ignore[method-assign]
        yield reader


async def test_a_database_that_was_away_is_followed_on(
    engine: Engine, turns: Turns, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(engine, turns)
    site = settled(LedgerFollower(str(engine.url)))
    assert site.partitions()[0].live.index.seq == site.ends[0], "all is noted"
    polls, faults = iter([LedgerUnreachableError("it is away"), None]), list[str]()
    poll = site.poll

    def polled() -> int:
        faults.append(site.fault)
        error = next(polls)  # then it ends, which ends the following
        if error is not None:
            raise error
        return poll() or 1

    monkeypatch.setattr(site, "poll", polled)
    monkeypatch.setattr("tidegate.serve.app.AGAIN_S", 0.0)
    with pytest.raises((StopIteration, RuntimeError)):
        await follow_ledger(site)
    assert faults == ["", "the ledger does not answer", ""]
    site.close()
