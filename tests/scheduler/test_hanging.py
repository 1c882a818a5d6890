"""A leader whose turn does not end gives way in bounded time; what it had begun does no harm."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Sequence
from functools import partial

import pytest

from tests.scheduler.stage import Stage, first_round, play, queue, until
from tests.scheduler.test_term import Running
from tidegate.bus.ports import ObservationReader
from tidegate.contracts.entry import Message, Position, Term
from tidegate.errors import FencedError, TidegateError


@pytest.mark.parametrize("heeds", [True, False])
def test_a_leader_that_hangs_in_its_turn_gives_way_in_bounded_time(*, heeds: bool) -> None:
    async def story(stage: Stage) -> None:
        reader = Hanging(stage.bus.observation_reader(), heeds=heeds)
        elder = Running(dataclasses.replace(stage.deps("elder"), observation_reader=reader))
        await until(lambda: elder.leads)
        younger = Running(stage.deps("younger"))
        reader.hangs = True
        began_s = asyncio.get_running_loop().time()
        await until(lambda: younger.leads)
        lease_s = elder.deps.pace.lease_s
        assert asyncio.get_running_loop().time() - began_s < 4 * lease_s
        assert not elder.leads
        await stage.say(*first_round())
        await until(lambda: "ClusterQueueDefined" in stage.types())
        for scheduler in (elder, younger):
            await scheduler.stop()

    play(story)


def test_a_leader_that_hangs_alone_is_not_ready_and_leads_again_when_it_can() -> None:
    async def story(stage: Stage) -> None:
        reader = Hanging(stage.bus.observation_reader())
        running = Running(dataclasses.replace(stage.deps(), observation_reader=reader))
        await until(lambda: running.leads)
        reader.hangs = True
        await until(lambda: "no turn ended" in running.deps.status.not_ready_reason())
        reader.hangs = False
        await until(lambda: running.leads and not running.deps.status.not_ready_reason())
        await running.stop()

    play(story)


def test_a_commit_that_hangs_is_not_applied_behind_its_successor_s_back() -> None:
    async def story(stage: Stage) -> None:
        wedged = Wedged()
        elder = Running(dataclasses.replace(stage.deps("elder"), run_sync=wedged))
        await until(lambda: elder.leads)
        await stage.say(*first_round())
        await until(lambda: "ClusterQueueDefined" in stage.types())
        younger = Running(stage.deps("younger"))
        wedged.hangs = True
        await stage.say(queue("team-b", 9))
        await until(lambda: younger.leads)
        await until(lambda: stage.types().count("ClusterQueueDefined") == 2)
        before = stage.entries()
        late = [work() for work in wedged.let_go()]
        assert any(isinstance(result, FencedError) for result in late)
        assert not any(isinstance(result, Term) for result in late)
        assert stage.entries() == before
        elder.task.cancel()
        await younger.stop()

    play(story)


class Hanging:
    """An inbox that does not answer any more, for as long as a test wants.

    One that does not heed that it is cancelled answers then, as ``asyncio.wait_for`` of Python 3.11
    does where an answer comes at the same moment.
    """

    def __init__(self, reader: ObservationReader, *, heeds: bool = True) -> None:
        self.request_resync, self.purge_through = reader.request_resync, reader.purge_through
        self.start_position = reader.start_position
        self._reader, self._heeds, self.hangs = reader, heeds, False

    async def pull(self, after: Position, *, count_max: int, wait_s: float) -> Sequence[Message]:
        while self.hangs:
            try:
                await asyncio.sleep(3_600)
            except asyncio.CancelledError:
                if self._heeds:
                    raise
                return ()
        return await self._reader.pull(after, count_max=count_max, wait_s=wait_s)


class Wedged:
    """Runs what blocks, until it hangs: what is begun then is done whenever a test lets it go."""

    def __init__(self) -> None:
        self.hangs = False
        self._begun = list[Callable[[], object]]()

    async def __call__(self, work):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN204 - generic, as the port
        if self.hangs:
            self._begun.append(work)
            await asyncio.Event().wait()
        return work()

    def let_go(self) -> list[Callable[[], object]]:
        """Return what hung, to be done now; each returns what it raised."""
        self.hangs = False
        return [partial(_raised, work) for work in self._begun]


def _raised(work: Callable[[], object]) -> object:
    try:
        return work()
    except TidegateError as error:
        return error
