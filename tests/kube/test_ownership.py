"""Of two instances on one cluster the second refuses; what the first leaves is free."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

import msgspec
import pytest

from actuator.installation import Installation
from apiserver.api import EmbeddedApi
from tests.parts.interposed import Interposed
from tests.parts.virtual import run_virtually
from tidegate.kube.ownership import ACTUATOR, LASTS_S, OwnedError, Ownership

LEASE = f"{ACTUATOR.path}/{ACTUATOR.name}"


class Cluster:
    """An embedded API server on a clock that jumps."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        now_us = lambda: int(loop.time() * 1_000_000)  # noqa: E731
        self.api = Interposed(EmbeddedApi(now_us=now_us, random=Random(1)))
        self.working = list[str]()

    def start(self, holder: str, by: str = "") -> asyncio.Task[None]:
        """Let a process of an installation act until it is cancelled or must not."""
        by = by or f"{holder}'s process"

        async def work() -> None:
            self.working.append(by)
            try:
                await asyncio.Event().wait()
            finally:
                self.working.remove(by)

        ownership = Ownership(self.api, ACTUATOR, holder, by)
        return asyncio.ensure_future(Installation().run_while_owner(ownership, work))

    async def lease(self) -> dict[str, Any]:
        document: dict[str, Any] = msgspec.json.decode((await self.api.request("GET", LEASE)).body)
        return document


async def end(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def test_of_two_installations_the_second_refuses_by_the_first_one_s_name() -> None:
    async def run() -> None:
        cluster = Cluster()
        first = cluster.start("east")
        await asyncio.sleep(60)
        second = cluster.start("west")
        with pytest.raises(OwnedError, match="decides for this cluster: east, process east's"):
            await second
        assert cluster.working == ["east's process"]
        await end(first)

    run_virtually(run())


def test_what_a_process_gives_up_is_free_at_once_and_what_the_dead_held_after_a_while() -> None:
    async def run() -> None:
        cluster = Cluster()
        first = cluster.start("east")
        await asyncio.sleep(60)
        await end(first)
        second = cluster.start("west")
        await asyncio.sleep(1)
        assert cluster.working == ["west's process"]
        cluster.api.down = True  # it dies without a word
        await end(second)
        cluster.api.down = False
        third = cluster.start("east")
        await asyncio.sleep(LASTS_S / 2)
        assert cluster.working == []
        await asyncio.sleep(LASTS_S)
        assert cluster.working == ["east's process"]
        await end(third)

    run_virtually(run())


def test_processes_of_one_installation_act_side_by_side_and_the_last_gives_it_up() -> None:
    async def run() -> None:
        cluster = Cluster()
        task, two = cluster.start("east", "one"), cluster.start("east", "two")
        await asyncio.sleep(60)
        assert sorted(cluster.working) == ["one", "two"]
        await end(task)
        assert (await cluster.lease())["spec"]["holderIdentity"] == "east"
        await asyncio.sleep(60)
        await end(two)
        assert (await cluster.lease())["spec"]["holderIdentity"] == ""

    run_virtually(run())


def test_a_replica_that_was_away_too_long_stops_when_another_has_taken_over() -> None:
    async def run() -> None:
        cluster, other = Cluster(), Interposed(EmbeddedApi(now_us=lambda: 0, random=Random(1)))
        first = cluster.start("east")
        await asyncio.sleep(60)
        other.api, cluster.api.down = cluster.api.api, True  # it alone cannot reach the server
        heir = asyncio.ensure_future(
            Installation().run_while_owner(
                Ownership(other, ACTUATOR, "west", "w"),
                asyncio.Event().wait,  # type: ignore[arg-type]
            )
        )
        await asyncio.sleep(2 * LASTS_S)
        cluster.api.down = False
        assert (await cluster.lease())["spec"]["holderIdentity"] == "west"
        with pytest.raises(OwnedError, match="west"):
            await first
        assert cluster.working == []
        await end(heir)

    run_virtually(run())


def test_a_replica_that_cannot_have_the_lease_says_so_and_does_not_act() -> None:
    async def run() -> None:
        cluster = Cluster()
        cluster.api.down = True
        installation = Installation()
        ownership = Ownership(cluster.api, ACTUATOR, "east", "one")
        acting = asyncio.ensure_future(
            installation.run_while_owner(ownership, asyncio.Event().wait)  # type: ignore[arg-type]
        )
        await asyncio.sleep(30)
        assert "cannot be had" in installation.lacks
        cluster.api.down = False
        await asyncio.sleep(5)
        assert installation.lacks == ""
        await end(acting)

    run_virtually(run())
