"""``tidegate events`` over the bus: the stream and the ledger as one."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pytest
from nats.aio.client import Client

from tests.cli.conftest import Tidegate
from tests.parts.postgresql import Server
from tests.parts.sample import ENTRIES, filled, published
from tests.replay.world import World, locals_
from tidegate.bus.jetstream.wire.requests import JetStream
from tidegate.bus.streams import stream_names
from tidegate.contracts.observations import LocalQueueObserved, ObjectGone

WANTED = ("--type", "QuotaReserved,WorkloadAdmitted", "--queue", "team-a", "--namespace", "a")


async def lines_of(count: int, *arguments: str) -> list[int]:
    """Return the seqs of the first lines that the command prints, then end it."""
    command = (sys.executable, "-m", "tidegate.cli.main", "events", "-o", "json", *arguments)
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    async with asyncio.timeout(60):
        seqs = [json.loads(await process.stdout.readline())["seq"] for _ in range(count)]
    process.terminate()
    await process.communicate()
    return seqs


@pytest.mark.real
async def test_following_the_bus_from_the_first_event_on(sample: Path, tmp_path: Path) -> None:
    wanted = [
        entry.seq
        for entry in ENTRIES
        if entry.type in {"QuotaReserved", "WorkloadAdmitted"} and ".team-a.a." in entry.subject
    ]
    async with published(tmp_path / "nats") as url:
        there = ("--bus", url, "--since", "1")
        assert await lines_of(len(wanted), *there, *WANTED) == wanted
        client = Client()
        await client.connect(url)
        await JetStream(client).purge_below(stream_names("local").events, 60)
        await client.close()
        both = (*there, "--ledger", str(sample))
        assert await lines_of(len(wanted), *both, *WANTED) == wanted
        assert await lines_of(79, *both) == [*range(1, 80)]


def test_events_of_a_workload_and_since_a_time(tidegate: Tidegate) -> None:
    about = tidegate("events", "job/tune", "-o", "name").stdout.split()
    story = tidegate("why", "job/tune", "-o", "json").stdout
    assert about == [str(line["seq"]) for line in json.loads(story)["lines"]]
    since = tidegate("events", "--since", "2026-03-02T10:00:00Z", "-o", "name").stdout.split()
    assert since == [str(seq) for seq in range(int(since[0]), 80)]
    late = tidegate("events", "job/tune", "--since", since[-1], "-o", "name").stdout.split()
    assert late == about[-1:]
    assert tidegate("events", "--since", "1s", "-o", "name").stdout == ""
    newest = tidegate("events", "--since", since[0], "--tail", "2", "-o", "name").stdout.split()
    assert newest == since[-2:]
    narrowed = ("--since", "1", "--queue", "team-a", "--tail", "2", "-o", "name")
    assert len(tidegate("events", *narrowed).stdout.split()) == 2
    assert tidegate("events", "job/tune", "--tail", "1", "-o", "name").stdout.split() == about[-1:]


def changed() -> World:
    """Return a world in which queues are changed and stopped, and a LocalQueue goes."""
    world = World().open()
    world.turn(world.submit("a", 3, 0), world.submit("b", 3, 0))
    world.stops["b"], world.quotas["a"] = "Hold", 7
    world.turn(world.wait(5), world.queue("b"), world.queue("a"))
    local = locals_()[1]
    assert isinstance(local, LocalQueueObserved)
    removed = ObjectGone(
        resource="localqueues.kueue.x-k8s.io",
        namespace="team",
        name="b",
        uid=local.uid,
        version=900,
        session="a",
    )
    world.turn(world.wait(5), removed, world.submit("a", 3, 0))
    return world


@pytest.fixture(
    params=["sqlite", "archived", pytest.param("postgresql", marks=pytest.mark.real)],
)
def redefined(
    request: pytest.FixtureRequest, tmp_path: Path, tidegate: Tidegate
) -> Iterator[tuple[str, World]]:
    """The ledger of that world; archived: the events before the stop lie in a file."""
    world = changed()
    turns = [list(entries) for _, entries in groupby(world.entries, key=lambda entry: entry.turn)]
    if request.param == "postgresql":
        server: Server = request.getfixturevalue("postgresql")
        url = server.new_database()
        with filled(url, turns):
            yield url, world
        server.drop(url)
        return
    file = str(tmp_path / "ledger.db")
    with filled(file, turns):
        if request.param == "archived":
            before = ("--until", "1970-01-01T00:16:44Z", "--ledger", file)
            assert tidegate("ledger", "archive", str(tmp_path / "a.jsonl"), *before).exit_code == 0
        yield file, world


def seqs_of(tidegate: Tidegate, *arguments: str) -> list[int]:
    return [int(seq) for seq in tidegate("events", "-o", "name", *arguments).stdout.split()]


def test_what_changes_a_queue_is_about_that_queue(
    redefined: tuple[str, World], tidegate: Tidegate
) -> None:
    url, world = redefined
    marks = ('"name":"b"', '"cluster_queue":"b"')
    about = [
        entry.seq
        for entry in world.entries
        if any(mark in entry.payload for mark in marks) and "Namespace" not in entry.type
    ]
    types = [world.entries[seq - 1].type for seq in about]
    assert types.count("ClusterQueueDefined") == 2
    assert {"LocalQueueDefined", "LocalQueueRemoved"} < {*types}
    assert seqs_of(tidegate, "--queue", "b", "--ledger", url) == about
    assert seqs_of(tidegate, "--queue", "b", "--tail", "3", "--ledger", url) == about[-3:]
    assert seqs_of(tidegate, "--queue", "absent", "--ledger", url) == []
    late = about[len(about) // 2]
    since = seqs_of(tidegate, "--queue", "b", "--since", str(late), "--ledger", url)
    assert since == [seq for seq in about if seq >= late]
    defined = ("--type", "ClusterQueueDefined", "--queue", "b", "--ledger", url)
    [_, stopped] = tidegate("events", *defined).stdout.splitlines()
    assert stopped.endswith("b, in all, f cpu=4, g cpu=2, stopPolicy Hold")
