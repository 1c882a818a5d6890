"""Watches that are closed again and again, or cannot be opened: what else goes on, and how soon."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager

import pytest

from tests.ingest.scene import jobs, session
from tests.parts.interposed import Interposed
from tests.parts.stage import JOBS, Stage, alongside, job
from tests.parts.virtual import run_virtually
from tidegate.contracts.observations import Heartbeat, JobObserved
from tidegate.errors import ApiStatusError, ApiUnreachableError

FLAVORS = "/apis/kueue.x-k8s.io/v1beta2/resourceflavors"
ALL_JOBS = "/apis/batch/v1/jobs"


class Closing(Interposed):
    """A server that closes each watch of a resource at once, or refuses it."""

    def __init__(self, stage: Stage, path: str, status: int = 0, *, breaks: bool = False) -> None:
        super().__init__(stage.api)
        self._path, self._status, self.watches = path, status, 0
        self._breaks = breaks
        self.closes = False

    @asynccontextmanager
    async def watch(
        self, path: str, query: Mapping[str, str]
    ) -> AsyncGenerator[AsyncIterator[bytes]]:
        if path != self._path or not self.closes:
            async with super().watch(path, query) as lines:
                yield lines
            return
        self.watches += 1
        if self._status:
            raise ApiStatusError(self._status, "no")
        yield _broken() if self._breaks else _nothing()


async def _nothing() -> AsyncIterator[bytes]:
    for line in tuple[bytes, ...]():
        yield line


async def _broken() -> AsyncIterator[bytes]:
    async for line in _nothing():
        yield line
    await asyncio.sleep(2)  # what it cannot read takes a while to come
    raise ApiUnreachableError("It always breaks there.")


@pytest.mark.parametrize("breaks", [False, True])
def test_jobs_are_listed_again_though_each_watch_of_them_is_closed_at_once(*, breaks: bool) -> None:
    async def run() -> None:
        stage = Stage()
        api = Closing(stage, ALL_JOBS, breaks=breaks)
        api.closes = True
        async with alongside(session(stage, api=api).run()):
            await asyncio.sleep(60)
            stage.make(JOBS, job())
            began_s = asyncio.get_running_loop().time()
            await stage.hear(JobObserved)
            took_s = asyncio.get_running_loop().time() - began_s
            await asyncio.sleep(540)
        assert took_s < 60
        assert api.watches < 600, "and it is not asked in circles"
        assert len(await jobs(stage)) == 1

    run_virtually(run())


@pytest.mark.parametrize("status", [0, 403, 500])
@pytest.mark.parametrize(("path", "goes_on"), [(FLAVORS, True), (ALL_JOBS, False)])
def test_time_stands_still_for_watches_of_jobs_alone(
    path: str,
    goes_on: bool,  # noqa: FBT001 - a parameter of the test
    status: int,
) -> None:
    async def run() -> None:
        stage = Stage()
        api = Closing(stage, path, status)
        observing = session(stage, api=api)
        async with alongside(observing.run()):
            await stage.hear(Heartbeat)
            api.closes = True
            await asyncio.sleep(60)  # the watch that is open ends
            before = len([obs for obs in await stage.heard() if isinstance(obs, Heartbeat)])
            await asyncio.sleep(100)
            after = len([obs for obs in await stage.heard() if isinstance(obs, Heartbeat)])
            assert observing.waits_for()
        assert (after - before > 80) == goes_on

    run_virtually(run())


def test_before_everything_was_listed_once_no_time_passes() -> None:
    async def run() -> None:
        stage = Stage()

        async def refuse(_method: str, path: str) -> None:
            if path == FLAVORS:
                raise ApiStatusError(403, "no")

        stage.api.before = refuse
        async with alongside(session(stage).run()):
            await asyncio.sleep(60)
        assert not [obs for obs in await stage.heard() if isinstance(obs, Heartbeat)]

    run_virtually(run())
