"""``tidegate events`` over the bus: the stream and the ledger as one."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest
from nats.aio.client import Client

from tests.cli.conftest import Tidegate
from tests.parts.sample import TOLD, published
from tidegate.bus.jetstream.wire.requests import JetStream
from tidegate.bus.streams import names_of

WANTED = ("--type", "QuotaReserved,WorkloadAdmitted", "--queue", "team-a", "--namespace", "a")


async def lines_of(count: int, *arguments: str) -> list[int]:
    """Return the seqs of the first lines that the command prints, then end it."""
    command = (sys.executable, "-m", "tidegate.cli.main", "events", "-o", "json", *arguments)
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    async with asyncio.timeout(60):
        told = [json.loads(await process.stdout.readline())["seq"] for _ in range(count)]
    process.terminate()
    await process.communicate()
    return told


@pytest.mark.real
async def test_following_the_bus_from_the_first_event_on(sample: Path, tmp_path: Path) -> None:
    wanted = [
        entry.seq
        for entry in TOLD
        if entry.type in {"QuotaReserved", "WorkloadAdmitted"} and ".team-a.a." in entry.subject
    ]
    async with published(tmp_path / "nats") as url:
        there = ("--bus", url, "--since", "1")
        assert await lines_of(len(wanted), *there, *WANTED) == wanted
        client = Client()
        await client.connect(url)
        await JetStream(client).purge(names_of("local").events, 60)
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
