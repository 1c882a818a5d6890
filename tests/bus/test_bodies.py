"""A client reads a body by its digest, and the oldest bodies give way to new ones."""

from __future__ import annotations

import asyncio
from hashlib import sha256
from pathlib import Path
from unittest.mock import patch

import pytest

from tests.bus.memory.bodies import BODIES_BYTES
from tests.bus.worlds import NAMES, SMALL, World, nats_world, simulated_world
from tidegate.bus.embedded import embedded_server
from tidegate.bus.jetstream.connection import open_bus
from tidegate.bus.streams import StreamOptions, bodies_config
from tidegate.contracts.subjects import BODY_BYTES_MAX
from tidegate.errors import BusUnreachableError

BODY = b'{"kind":"Job"}'
DIGEST = sha256(BODY).hexdigest()
OTHER = "b" * 64


async def test_a_body_is_read_under_its_digest_from_the_cluster_that_keeps_it(world: World) -> None:
    bodies = world.bus.bodies()
    assert await bodies.read("local", DIGEST) is None
    await bodies.put(DIGEST, BODY)
    assert await bodies.read("local", DIGEST) == BODY
    assert await bodies.read("east", DIGEST) is None


async def test_what_is_dropped_is_there_no_more_until_it_is_kept_again(world: World) -> None:
    bodies = world.bus.bodies()
    await bodies.delete(DIGEST)
    await bodies.put(DIGEST, BODY)
    await bodies.put(OTHER, BODY)
    await bodies.delete(DIGEST)
    assert await bodies.read("local", DIGEST) is None
    assert await bodies.read("local", OTHER) == BODY
    await bodies.put(DIGEST, BODY)
    assert await bodies.read("local", DIGEST) == BODY


async def test_what_is_dropped_leaves_no_message_behind(tmp_path: Path) -> None:
    """In a stream, too, that was made before anything was dropped."""
    before = {**bodies_config(NAMES, SMALL), "allow_msg_ttl": False, "max_age": 0}
    with patch("tidegate.bus.jetstream.connection.bodies_config", return_value=before):
        async with nats_world(tmp_path) as world:
            with pytest.raises(BusUnreachableError):
                await world.bus.bodies().delete(DIGEST)
    async with nats_world(tmp_path) as world:
        for digest in (DIGEST, OTHER):
            await world.bus.bodies().put(digest, BODY)
        await world.bus.bodies().delete(DIGEST)
        async with asyncio.timeout(30):
            while await world.kept(NAMES.bodies) != 1:
                await asyncio.sleep(0.1)


@pytest.mark.parametrize("digest", ["*", ">", "a b", "a\r\nPING", "f" * 5_000, ""])
async def test_what_is_no_digest_names_no_body(world: World, digest: str) -> None:
    """A client with a member's rights may publish anything as a digest."""
    bodies = world.bus.bodies()
    await bodies.put(DIGEST, BODY)
    assert await bodies.read("local", digest) is None
    await bodies.delete(digest)
    assert await bodies.read("local", DIGEST) == BODY


async def test_the_oldest_go_first_and_what_is_kept_again_is_the_newest(world: World) -> None:
    bodies, large = world.bus.bodies(), b"x" * (BODIES_BYTES // 8)
    await bodies.put(DIGEST, BODY)
    await bodies.put("b" * 64, large)
    for number in range(6):
        await bodies.put(f"{number:064}", large)
        await bodies.put(DIGEST, BODY)
    for number in range(6, 12):
        await bodies.put(f"{number:064}", large)
    assert await bodies.read("local", "b" * 64) is None
    assert await bodies.read("local", f"{11:064}") == large
    assert await bodies.read("local", DIGEST) == BODY
    await bodies.put("c" * 64, large)
    await bodies.put("d" * 64, large)
    assert await bodies.read("local", DIGEST) is None


async def test_kept_again_a_body_is_one_message() -> None:
    async with simulated_world() as world:
        for _ in range(3):
            await world.bus.bodies().put(DIGEST, BODY)
        assert await world.kept(NAMES.bodies) == 1


async def test_the_largest_body_fits(tmp_path: Path) -> None:
    async with (
        embedded_server(tmp_path) as url,
        open_bus(url, cluster="local", name="tests", patience_s=5) as bus,
    ):
        await bus.ensure_streams(StreamOptions(), members=("east",))
        largest = b"x" * BODY_BYTES_MAX
        await bus.bodies().put(DIGEST, largest)
        assert await bus.bodies().read("local", DIGEST) == largest
