"""Of several processes that ask for a lease one has it, until it ends or stays silent too long."""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from tests.bus.worlds import NAMES, World
from tests.parts.nats.connection import Connection
from tests.parts.nats.server import Server
from tests.parts.virtual import run_virtually
from tidegate.bus.jetstream.connection import NatsBus
from tidegate.bus.streams import StreamOptions

pytestmark = pytest.mark.timeout(180)


async def test_one_holder_at_a_time(world: World) -> None:
    ours, theirs = world.bus.lease("shard-0", "we"), world.bus.lease("shard-0", "they")
    assert [
        await ours.try_acquire_or_renew(),
        await theirs.try_acquire_or_renew(),
        await ours.try_acquire_or_renew(),
    ] == [True, False, True]


async def test_another_name_is_another_lease(world: World) -> None:
    assert await world.bus.lease("shard-0", "we").try_acquire_or_renew()
    assert await world.bus.lease("shard-1", "they").try_acquire_or_renew()


async def test_what_is_released_is_free_at_once(world: World) -> None:
    ours, theirs = world.bus.lease("shard-0", "we"), world.bus.lease("shard-0", "they")
    assert await ours.try_acquire_or_renew()
    await theirs.release()
    assert not await theirs.try_acquire_or_renew()
    await ours.release()
    assert await theirs.try_acquire_or_renew()
    assert not await ours.try_acquire_or_renew()


async def test_the_same_holder_takes_its_lease_up_again_after_a_restart(world: World) -> None:
    assert await world.bus.lease("shard-0", "we").try_acquire_or_renew()
    assert await world.bus.lease("shard-0", "we").try_acquire_or_renew()


async def test_a_silent_holder_loses_its_lease(world: World) -> None:
    ours, theirs = world.bus.lease("s", "we", ttl_s=1), world.bus.lease("s", "they", ttl_s=1)
    assert await ours.try_acquire_or_renew()
    while not await theirs.try_acquire_or_renew():
        await asyncio.sleep(0.05)
    assert not await ours.try_acquire_or_renew()


@pytest.mark.parametrize("held", [False, True])
def test_a_holder_that_ends_during_a_renewal_lets_go_of_its_lease(*, held: bool) -> None:
    """Its write is stored, and the answer to it is not waited for any more."""

    async def story() -> None:
        server = Server(lambda: round(asyncio.get_running_loop().time() * 1_000_000))
        bus = NatsBus(Connection(server, Random(0), lag_s_max=1.0).client, "local")
        await bus.ensure_streams(StreamOptions())
        ours, theirs = bus.lease("shard-0", "we"), bus.lease("shard-0", "they")
        if held:
            assert await ours.try_acquire_or_renew()
        leases = server.streams[NAMES.leases]
        before, renewing = leases.last_seq, asyncio.ensure_future(ours.try_acquire_or_renew())
        while leases.last_seq == before:
            await asyncio.sleep(0.01)
        renewing.cancel()
        await ours.release()
        assert await theirs.try_acquire_or_renew()

    run_virtually(story())


@pytest.mark.parametrize("renewed", [False, True])
def test_a_lease_ends_though_the_clock_of_nats_was_set_back(*, renewed: bool) -> None:
    """Another process gets it after two lives without a renewal, and none while it is renewed."""
    set_back_s = 0.0

    async def story() -> None:
        nonlocal set_back_s
        loop = asyncio.get_running_loop()
        server = Server(lambda: round((loop.time() + 7_200 - set_back_s) * 1_000_000))
        bus = NatsBus(Connection(server, Random(0), lag_s_max=0.1).client, "local")
        await bus.ensure_streams(StreamOptions())
        ours, theirs = bus.lease("s", "we", ttl_s=6), bus.lease("s", "they", ttl_s=6)
        assert await ours.try_acquire_or_renew()
        set_back_s, taken, began_s = 7_200.0, False, loop.time()
        while not taken and loop.time() - began_s < 60:
            await asyncio.sleep(0.75)
            if renewed:
                assert await ours.try_acquire_or_renew()
            taken = await theirs.try_acquire_or_renew()
        assert taken is not renewed
        assert taken is (12 < loop.time() - began_s < 15)

    run_virtually(story())
