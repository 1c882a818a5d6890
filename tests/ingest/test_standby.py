"""Of two processes of ingest one tells; the other takes over when its lease ends or is given up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ingest.session import Session, SessionRunner
from tests.ingest.scene import jobs, session
from tests.parts.stage import JOBS, Stage, alongside, eventually, job
from tests.parts.virtual import run_virtually
from tidegate.contracts.observations import Heartbeat

LEASE_S = 8


def standby(stage: Stage, name: str) -> SessionRunner:
    def begin(number: int) -> Session:
        return session(stage, f"{name}-{number}")

    return SessionRunner(stage.bus.lease("ingest-0", name, LEASE_S), LEASE_S, begin)


async def until_tells(stage: Stage, name: str) -> float:
    """Wait for a heartbeat of a session; return how many seconds that took."""
    clock: Callable[[], float] = asyncio.get_running_loop().time
    began_s = clock()
    await stage.hear(Heartbeat, lambda observation: observation.session == name)
    return clock() - began_s


async def sessions(stage: Stage) -> set[str]:
    return {
        observation.session
        for observation in await stage.heard()
        if isinstance(observation, Heartbeat)
    }


def test_one_tells_and_the_other_is_ready_and_silent() -> None:
    async def run() -> None:
        stage = Stage()
        async with alongside(standby(stage, "a").run()):
            await until_tells(stage, "a-1")
            second = standby(stage, "b")
            async with alongside(second.run()):
                await asyncio.sleep(60)
                assert (await sessions(stage), second.waits_for()) == ({"a-1"}, "")

    run_virtually(run())


def test_a_standby_without_the_lease_is_not_ready() -> None:
    async def run() -> None:
        stage = Stage()
        actual_standby = standby(stage, "a")
        assert actual_standby.waits_for()
        async with alongside(actual_standby.run()):
            await until_tells(stage, "a-1")
            assert not actual_standby.waits_for()

    run_virtually(run())


def test_a_standby_takes_over_at_once_after_an_end_and_tells_what_came_since() -> None:
    async def run() -> None:
        stage = Stage()
        async with alongside(standby(stage, "a").run()):
            await until_tells(stage, "a-1")
            waiting = asyncio.ensure_future(standby(stage, "b").run())
            await asyncio.sleep(LEASE_S)
        stage.make(JOBS, job("late"))
        assert await until_tells(stage, "b-1") <= 3
        assert [observation.name for observation in await jobs(stage)] == ["late"]
        waiting.cancel()

    run_virtually(run())


def test_a_standby_takes_over_within_the_lease_of_a_vanished_process() -> None:
    async def run() -> None:
        stage = Stage()
        assert await stage.bus.lease("ingest-0", "dead", LEASE_S).try_acquire_or_renew()
        async with alongside(standby(stage, "b").run()):
            assert await until_tells(stage, "b-1") <= LEASE_S + 2

    run_virtually(run())


def test_a_process_without_its_lease_tells_nothing_and_begins_another_session() -> None:
    async def run() -> None:
        stage = Stage()
        lease = Taken(stage)
        both = SessionRunner(lease, LEASE_S, lambda number: session(stage, f"a-{number}"))
        async with alongside(both.run()):
            await until_tells(stage, "a-1")
            lease.free = False
            await eventually(lambda: lease.asked_in_vain > LEASE_S)
            before = len(await stage.heard())
            await asyncio.sleep(60)
            assert len(await stage.heard()) == before
            lease.free = True
            assert await until_tells(stage, "a-2") <= LEASE_S

    run_virtually(run())


class Taken:
    """A lease that another takes and gives back as the test says."""

    def __init__(self, stage: Stage) -> None:
        self.free, self.asked_in_vain = True, 0
        self._stage = stage

    async def try_acquire_or_renew(self) -> bool:
        self.asked_in_vain += not self.free
        return self.free

    async def release(self) -> None:
        pass
