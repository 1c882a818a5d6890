"""How long after each fault a Job starts: three NATS servers, and two processes of each service.

``TIDEGATE_TEST_TAKEOVERS=10 pytest -s`` gives the medians and the worst of ten of docs/faults.md.
"""

from __future__ import annotations

import asyncio
import signal
import statistics
import sys
from collections.abc import Awaitable, Callable
from typing import NamedTuple

import msgspec
import pytest

from tests.e2e.cast import job_of, submit, until
from tests.outages.servers import Servers
from tests.outages.stage import NAMESPACE, TIMES, Stage, stage
from tidegate.bus.streams import stream_names

__all__ = ["stage"]

pytestmark = [pytest.mark.slow, pytest.mark.real, pytest.mark.timeout(1_800)]
_NAMES = stream_names("local")
STREAMS = (_NAMES.observations, _NAMES.events, _NAMES.resyncs, _NAMES.leases, _NAMES.register)

BOUND_S = {signal.SIGKILL: 10.0, signal.SIGTERM: 3.0}
"""Within so long a Job that comes with the signal starts; a busy machine gets twice that."""


class Fault(NamedTuple):
    """What breaks, with the number of the turn; and what is put right before the next."""

    name: str
    bound_s: float  # of the median, seconds; a busy machine gets twice that
    strike: Callable[[Stage, int], Awaitable[None]]
    repair: Callable[[Stage, int], Awaitable[None]]


async def kill_server(stage: Stage, turn: int) -> None:
    await asyncio.to_thread(stage.servers.kill, turn % 3)


async def start_server(stage: Stage, turn: int) -> None:
    await until_whole(stage.servers, turn % 3)


async def lose_disk(stage: Stage, turn: int) -> None:
    await asyncio.to_thread(stage.servers.kill, turn % 3)
    await asyncio.to_thread(stage.servers.lose_disk, turn % 3)


async def move_leaders(stage: Stage, turn: int) -> None:
    assert turn >= 0
    for stream in STREAMS:
        answer = await stage.servers.administer(f"$JS.API.STREAM.LEADER.STEPDOWN.{stream}")
        assert msgspec.json.decode(answer)["success"], answer


async def nothing(stage: Stage, turn: int) -> None:
    assert turn >= 0
    for number in range(3):
        await until_whole(stage.servers, number, start=False)


async def lose_node(stage: Stage, turn: int) -> None:
    """End a server and the working process of each service at once, as their machine ends."""
    for pair in stage.pairs.values():
        stage.ended.append(pair.end(signal.SIGKILL))
    await asyncio.to_thread(stage.servers.kill, turn % 3)


async def another_node(stage: Stage, turn: int) -> None:
    await until_whole(stage.servers, turn % 3)
    for process in stage.ended:
        await process.wait()
    stage.ended.clear()
    for pair in stage.pairs.values():
        await pair.start()


FAULTS = (
    Fault("a server killed", 10.0, kill_server, start_server),
    Fault("a server and its disk lost", 10.0, lose_disk, start_server),
    Fault("the leader of every stream moved", 3.0, move_leaders, nothing),
    Fault("a node lost: a server, and what works of each service", 15.0, lose_node, another_node),
)


async def until_whole(servers: Servers, number: int, *, start: bool = True) -> None:
    """Start a server again, and wait until its streams follow: another may die then."""
    if start:
        await asyncio.to_thread(servers.start, number)

    async def is_whole() -> bool:
        return await asyncio.to_thread(servers.is_whole, number)

    await until(is_whole, f"server {number} follows", 120)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name.replace(" ", "-"))
async def test_a_job_starts_soon_after(stage: Stage, fault: Fault) -> None:
    took_s = list[float]()
    for turn in range(TIMES):
        await fault.strike(stage, turn)
        took_s.append(await stage.starts(f"job-{turn}"))
        await fault.repair(stage, turn)
    report(fault.name, took_s)
    assert statistics.median(took_s) < 2 * fault.bound_s


async def test_with_two_servers_gone_nothing_starts_and_with_one_back_it_does(stage: Stage) -> None:
    took_s = list[float]()
    for turn in range(TIMES):
        first, second = turn % 3, (turn + 1) % 3
        for number in (first, second):
            await asyncio.to_thread(stage.servers.kill, number)
        name = f"job-{turn}"
        await submit(stage.api, NAMESPACE, name, cpu="1", seconds=1)
        before = (await job_of(stage.api, NAMESPACE, name))["spec"]["suspend"]
        await asyncio.to_thread(stage.servers.start, first)
        took_s.append(await stage.started(name))
        await until_whole(stage.servers, second)
        await until_whole(stage.servers, first, start=False)
        assert before is True
    report("two servers gone, after one is back", took_s)
    assert statistics.median(took_s) < 2 * 10.0


def report(name: str, took_s: list[float]) -> None:
    """Write a row of the table where ``pytest -s`` shows it."""
    each = " ".join(f"{seconds:.1f}" for seconds in took_s)
    row = f"{name}: median {statistics.median(took_s):.1f} worst {max(took_s):.1f} ({each})"
    sys.stdout.write(f"\n{row}\n")


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM], ids=lambda how: how.name)
@pytest.mark.parametrize("service", ["scheduler", "ingest", "actuator"])
async def test_the_other_process_takes_over(
    stage: Stage, service: str, how: signal.Signals
) -> None:
    took_s, pair = list[float](), stage.pairs[service]
    for turn in range(TIMES):
        ending = pair.end(how)
        took_s.append(await stage.starts(f"{service}-{turn}"))
        await ending.wait()
        await pair.start()
    report(f"{service}, {how.name}", took_s)
    assert statistics.median(took_s) < 2 * BOUND_S[how]
