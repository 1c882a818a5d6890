"""The first client writes which cluster a bus belongs to, once; later clients compare with it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tidegate.bus.embedded import embedded_server
from tidegate.bus.jetstream.connection import open_bus
from tidegate.bus.jetstream.inspection import inspect_streams
from tidegate.bus.jetstream.keys import CLUSTER, LEDGER
from tidegate.bus.streams import StreamOptions
from tidegate.errors import ApiUnreachableError, BusUnreachableError, OtherClusterError
from tidegate.service.bus_ownership import refuse_other_cluster

pytestmark = pytest.mark.real


async def test_the_first_claim_stands_and_another_cluster_is_refused(tmp_path: Path) -> None:
    async with (
        embedded_server(tmp_path) as url,
        open_bus(url, cluster="local", name="tests", patience_s=5) as bus,
    ):
        claiming = asyncio.create_task(bus.register().claim(CLUSTER, "uid-1"))
        await bus.ensure_streams(StreamOptions())  # it is waited for
        assert await claiming == "uid-1"
        assert await bus.register().claim(CLUSTER, "uid-2") == "uid-1"
        assert await bus.register().read(LEDGER) == ""
        await bus.register().put(LEDGER, "a")
        await bus.register().put(LEDGER, "b")
        assert await bus.register().read(LEDGER) == "b"
        answers = iter(["", "uid-2"])

        async def asked() -> str:
            if uid := next(answers):
                return uid
            raise ApiUnreachableError("it starts")

        with pytest.raises(OtherClusterError, match="Expected uid-1, found uid-2"):
            await refuse_other_cluster(asked, lambda uid: bus.register().claim(CLUSTER, uid))


async def test_a_register_that_is_never_made_is_not_waited_for_for_ever(tmp_path: Path) -> None:
    async with (
        embedded_server(tmp_path) as url,
        open_bus(url, cluster="local", name="tests", patience_s=0.5) as bus,
    ):
        with pytest.raises(BusUnreachableError, match="No scheduler has made"):
            await bus.register().claim(CLUSTER, "uid-1")


async def test_a_scheduler_makes_the_streams_that_a_lost_store_had(tmp_path: Path) -> None:
    async with (
        embedded_server(tmp_path) as url,
        open_bus(url, cluster="local", name="tests", patience_s=5) as bus,
    ):
        claim = bus.register(makes=True).claim
        assert await claim(LEDGER, "a") == "a"
        inspected = await inspect_streams(url, cluster="local")
        assert inspected.missing == ()
