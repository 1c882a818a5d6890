"""A stream that stores nothing is made anew; ``deploy`` and people need do nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path

import pytest

from tests.bus.worlds import (
    NAMES,
    OBSERVED,
    NatsWorld,
    entries,
    nats_world,
    read_all,
    simulated_world,
    tell,
)
from tidegate.bus.jetstream import observations, stall
from tidegate.bus.jetstream.keys import CLUSTER, LEDGER
from tidegate.contracts.entry import Position
from tidegate.errors import BusUnreachableError

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(params=["simulated", "nats"])
async def world(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[NatsWorld, None]:
    """Lend each bus that has a server: memory has no disk that fails, and needs no probes."""
    opened = simulated_world() if request.param == "simulated" else nats_world(tmp_path)
    async with opened as made:
        yield made


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take a stream for stalled after shorter times than in production."""
    monkeypatch.setattr(observations, "QUIET_S", 0.5)
    monkeypatch.setattr(stall, "STALLED_S", 1.0)


async def test_observations_go_on_though_their_stream_stores_nothing(world: NatsWorld) -> None:
    reader, port = world.bus.observation_reader(), world.bus.observation_publisher()
    await tell(port, "a")
    read = (await read_all(reader, Position(), 1))[-1].at
    await world.stall(NAMES.observations)
    telling = asyncio.create_task(_until_stored(world))
    again = read
    while again.incarnation == read.incarnation:
        again = (await read_all(reader, read, 1))[-1].at
    await telling
    assert await world.kept(NAMES.observations) > 0


async def test_events_are_filled_again_though_their_stream_stores_nothing(world: NatsWorld) -> None:
    publisher = world.bus.event_publisher()
    [first, second] = entries(1, 2)
    _, counts = await publisher.last_published(Position())
    await publisher.publish("ledger", counts, [first])
    await world.stall(NAMES.events)
    anew = counts
    while anew.incarnation == counts.incarnation:
        with pytest.raises(BusUnreachableError):
            await publisher.publish("ledger", counts, [second])
        _, anew = await publisher.last_published(counts)
    await publisher.publish("ledger", anew, [first, second])
    assert await world.kept(NAMES.events) == 2  # both of them


async def test_leases_are_taken_again_though_their_stream_stores_nothing(world: NatsWorld) -> None:
    lease = world.bus.lease("ingest-0", "one")
    assert await lease.try_acquire_or_renew()
    await world.stall(NAMES.leases)
    await _while_read(world, lease.try_acquire_or_renew)


async def test_lists_are_asked_for_again_though_their_stream_stores_nothing(
    world: NatsWorld,
) -> None:
    reader = world.bus.observation_reader()
    await reader.request_resync("one")
    await world.stall(NAMES.resyncs)

    async def is_asked() -> bool:
        try:
            await reader.request_resync("two")
        except BusUnreachableError:
            return False
        return True

    while not await is_asked():
        pass
    assert await world.kept(NAMES.resyncs) == 1


async def test_a_register_that_stores_nothing_is_named(world: NatsWorld) -> None:
    """It is not made anew, since it names the cluster of the bus: claims fail meanwhile."""
    register = world.nats.register(makes=True)
    assert await register.claim(CLUSTER, "uid-1") == "uid-1"
    await world.stall(NAMES.register)
    with pytest.raises(BusUnreachableError, match="restart nats-server"):
        await register.claim(LEDGER, "a")


async def test_a_probe_of_a_quiet_stream_is_stored_and_read(world: NatsWorld) -> None:
    reader = world.bus.observation_reader()
    [probe] = await read_all(reader, Position(), 1)
    assert probe.subject == "tidegate.local.observed.probes._._"
    assert probe.payload == b'{"type":"Probe/1"}'


async def _until_stored(world: NatsWorld) -> None:
    """Tell something again and again until it is stored, as ingest does."""
    while True:
        try:
            await world.bus.observation_publisher().publish(OBSERVED, b"b", "s:b")
        except BusUnreachableError:
            continue
        return


async def _while_read(world: NatsWorld, holds: Callable[[], Awaitable[bool]]) -> None:
    """Read observations, of which none come, until something holds."""
    reader, after = world.bus.observation_reader(), Position()
    while not await holds():
        pulled = await reader.pull(after, count_max=10, wait_s=0.1)
        after = pulled[-1].at if pulled else after
