"""Measure the bus and a turn's own cost on a real server: ``python -m bench.bus [--messages N]``.

The server is embedded and writes through to the disk; the ledger is SQLite in a file. What a turn
costs here is everything but deciding: the observations are heartbeats and objects of no news.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from argparse import ArgumentParser
from pathlib import Path
from time import perf_counter

from prometheus_client import CollectorRegistry

from scheduler.dependencies import Dependencies, Pace, in_thread
from scheduler.health import Status
from scheduler.leader_state import LeaderState, open_leader_state
from scheduler.turn import run_first_turn, run_turn
from store.access.engine import open_engine
from store.ledger import SqlLedger
from store.schema.migrate import upgrade
from tidegate.bus.embedded import embedded_server
from tidegate.bus.jetstream.connection import NatsBus, open_bus
from tidegate.bus.jetstream.observations import NatsObservationPublisher
from tidegate.bus.streams import StreamOptions
from tidegate.contracts.codec import encode
from tidegate.contracts.entry import Entry, Position
from tidegate.contracts.observations import Heartbeat
from tidegate.contracts.subjects import observed_subject
from tidegate.model.policy import Policy
from tidegate.service.holder import LeaseHolder

SUBJECT = observed_subject("local", "jobs.batch", "team-a", "job-1")
EVENT = "tidegate.local.event.WorkloadAdmitted.team-a.ns.job-1"
PAYLOAD = b"x" * 600
TOGETHER = 500
ALONE = 300


async def measure(messages: int, folder: Path) -> None:
    """Measure everything once and print it."""
    async with (
        embedded_server(folder) as url,
        open_bus(url, cluster="local", name="bench") as bus,
    ):
        await bus.ensure_streams(StreamOptions())
        await measure_observations(bus, messages)
        await measure_events(bus, messages)
        await measure_turns(bus, messages, folder)


async def measure_observations(bus: NatsBus, messages: int) -> None:
    """Measure telling, together and one after another, reading and forgetting."""
    port, reader = bus.observation_publisher(), bus.observation_reader()
    began = perf_counter()
    for first in range(0, messages, TOGETHER):
        names = [f"a:{number}" for number in range(first, first + TOGETHER)]
        await asyncio.gather(*(port.publish(SUBJECT, PAYLOAD, name) for name in names))
    print_rate("observations published, 500 at a time", messages, began)
    began = perf_counter()
    for number in range(ALONE):
        await port.publish(SUBJECT, PAYLOAD, f"b:{number}")
    print_rate("observations published, one at a time", ALONE, began)
    began, at, read = perf_counter(), Position(), 0
    while read < messages:
        batch = await reader.pull(at, count_max=1_000, wait_s=1)
        at, read = batch[-1].at, read + len(batch)
    print_rate("observations read in order", read, began)
    began = perf_counter()
    await reader.purge_through(at)
    print_duration("forget all of them", began)
    await measure_latency(bus, port, at)


async def measure_latency(bus: NatsBus, port: NatsObservationPublisher, at: Position) -> None:
    """Measure the latency of single observations on an idle bus."""
    reader, lasted = bus.observation_reader(), list[float]()
    while messages := await reader.pull(at, count_max=1_000, wait_s=0.2):
        at = messages[-1].at
    for number in range(ALONE):
        reading = asyncio.create_task(reader.pull(at, count_max=1_000, wait_s=5))
        await asyncio.sleep(0)
        began = perf_counter()
        await port.publish(SUBJECT, PAYLOAD, f"c:{number}")
        at = (await reading)[-1].at
        lasted.append(perf_counter() - began)
    lasted.sort()
    print_line(f"{'published and read, alone':40}{1e3 * lasted[len(lasted) // 2]:10.1f} ms median")
    await reader.purge_through(at)


async def measure_events(bus: NatsBus, messages: int) -> None:
    """Measure publishing in fenced batches, and following."""
    publisher = bus.event_publisher()
    _, counts = await publisher.last_published(Position())
    text = '{"at_us":1,"filler":"' + "x" * 400 + '"}'
    entries = [
        Entry(0, seq, 1, 1, seq, "local", "WorkloadAdmitted", EVENT, text, bytes(32))
        for seq in range(1, messages + 1)
    ]
    began = perf_counter()
    for first in range(0, messages, 1_000):
        await publisher.publish("bench", counts, entries[first : first + 1_000])
    print_rate("events published, 1,000 a batch", messages, began)
    began = perf_counter()
    async for published in bus.event_feed().follow(0):
        if published.seq == messages:
            break
    print_rate("events followed", messages, began)


async def measure_turns(bus: NatsBus, messages: int, folder: Path) -> None:
    """Measure turns over observations that are no news, and turns that have nothing to read."""
    engine = open_engine(str(folder / "ledger.db"))
    try:
        upgrade(engine)
        deps = Dependencies(
            observation_reader=bus.observation_reader(),
            event_publisher=bus.event_publisher(),
            ledger=SqlLedger(engine),
            run_sync=in_thread,
            status=Status(CollectorRegistry()),
            cluster="bench",
            holder=LeaseHolder("bench"),
            new_ledger_id=lambda: "turns",
            policy=Policy(),
            pace=Pace(wait_s=0.0),
        )
        await time_turns(bus, deps, messages)
    finally:
        engine.dispose()


async def time_turns(bus: NatsBus, deps: Dependencies, messages: int) -> None:
    """Tell heartbeats and time the turns that take them in, 1,000 at a time."""
    leader = await begin_term(bus, deps, messages)
    port = bus.observation_publisher()
    for first in range(0, messages, TOGETHER):
        beats = [Heartbeat(session="s", beat=first + n) for n in range(TOGETHER)]
        await asyncio.gather(
            *(port.publish(SUBJECT, encode(beat), f"d:{beat.beat}") for beat in beats)
        )
    began, turns, start = perf_counter(), 0, leader.accepted.seq
    while leader.accepted.seq < start + messages:
        await run_turn(leader)
        turns += 1
    print_rate("observations taken in by turns", messages, began)
    print_line(
        f"{'a turn with its commit and its purge':40}{1e3 * seconds_each(began, turns):10.1f} ms"
    )
    began = perf_counter()
    for _ in range(ALONE):
        await run_turn(leader)
    print_line(f"{'a turn with nothing to read':40}{1e3 * seconds_each(began, ALONE):10.1f} ms")


async def begin_term(bus: NatsBus, deps: Dependencies, published: int) -> LeaderState:
    """Begin a term where EVENTS already holds what was measured before."""
    term = deps.ledger.begin_term("bench", 60_000_000)
    assert term is not None
    _, counts = await bus.event_publisher().last_published(Position())
    moved = term.__class__(
        epoch=term.epoch,
        observations=term.observations,
        events=Position(counts.incarnation, published),
    )
    leader = await open_leader_state(deps, moved)
    await run_first_turn(leader)
    return leader


def seconds_each(began: float, count: int) -> float:
    """Return seconds for each since ``began``."""
    return (perf_counter() - began) / count


def print_rate(label: str, count: int, began: float) -> None:
    """Print how many there were in a second."""
    print_line(f"{label:40}{count / (perf_counter() - began):10,.0f} /s")


def print_duration(label: str, began: float) -> None:
    """Print how long it took."""
    print_line(f"{label:40}{1e3 * (perf_counter() - began):10.1f} ms")


def print_line(text: str) -> None:
    """Print one line at once."""
    print(text, flush=True)


def main() -> int:
    """Read the command line and measure."""
    parser = ArgumentParser(prog="python -m bench.bus", description=__doc__)
    parser.add_argument("--messages", type=int, default=20_000, help="of each kind (20,000)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tidegate-bench-") as folder:
        asyncio.run(measure(options.messages, Path(folder)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
