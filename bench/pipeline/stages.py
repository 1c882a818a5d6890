"""When the bus stored what was observed of each Job, and the order to start it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager

import nats
from nats.aio.client import Client

from bench.pipeline.player import Course
from tidegate.bus.jetstream.wire.reader import Delivered, StreamReader
from tidegate.bus.jetstream.wire.requests import JetStream
from tidegate.bus.streams import stream_names
from tidegate.contracts.codec import decode
from tidegate.contracts.decisions import StartOrdered
from tidegate.contracts.entry import Position
from tidegate.contracts.facts import WorkloadSubmitted

CLUSTER = "local"
_READ_MAX = 1_000


async def newest_positions(nats_url: str, partitions: int = 1) -> list[Position]:
    """Return the place of each partition's newest event."""
    async with _connect(nats_url) as js:
        return [await _end_position(js, number) for number in range(partitions)]


async def record_stages(
    nats_url: str, after: Sequence[Position], courses: Mapping[str, Course]
) -> None:
    """Write into the courses when the bus stored what came behind a place; read when it is over.

    ``after``: a place for each partition.
    """
    jobs = dict[str, str]()  # of each workload
    async with _connect(nats_url) as js:
        for number, begun in enumerate(after):
            at, end = begun, await _end_position(js, number)
            reader = StreamReader(js, stream_names(CLUSTER, number).events)
            while at.seq < end.seq:
                rows = await reader.read(at, _READ_MAX, wait_s=1.0)
                for message in rows:
                    _record_message(message, jobs, courses)
                at = rows[-1].at if rows else at
            await reader.close()


def _record_message(
    message: Delivered, jobs: dict[str, str], courses: Mapping[str, Course]
) -> None:
    event = decode(message.payload)
    match event:
        case WorkloadSubmitted():
            jobs[event.workload] = event.job.name
            if event.job.name in courses:
                courses[event.job.name].observed_s = event.at_us / 1e6
        case StartOrdered() if jobs.get(event.workload) in courses:
            courses[jobs[event.workload]].ordered_s = message.at_us / 1e6
        case _:
            pass


async def _end_position(js: JetStream, partition: int) -> Position:
    stream_info = await js.existing_stream(stream_names(CLUSTER, partition).events)
    return Position(stream_info.incarnation, stream_info.state.last_seq)


@asynccontextmanager
async def _connect(url: str) -> AsyncGenerator[JetStream]:
    client: Client = await nats.connect(url)
    try:
        yield JetStream(client)
    finally:
        await client.close()
