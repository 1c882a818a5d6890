"""One actuator after another, and two at once: a lease, and what is learnt from EVENTS alone."""

from __future__ import annotations

import asyncio

from tests.actuator.scene import LEDGER, Scene, start
from tests.parts.interposed import Interposed
from tests.parts.stage import JOBS, alongside, eventually, job
from tests.parts.virtual import run_virtually
from tidegate.contracts.facts import JobStateReported, WorkloadRemoved
from tidegate.contracts.observations import JobState
from tidegate.service.lease import maintain_lease


class Scripted:
    """A lease that answers y or n as a test says, and then with its last answer for ever."""

    def __init__(self, answers: str) -> None:
        self._answers = list(answers)

    async def try_acquire_or_renew(self) -> bool:
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        return answer == "y"

    async def release(self) -> None:
        pass


def test_a_successor_does_what_was_left_undone_and_nothing_else() -> None:
    async def run() -> None:
        scene = Scene()
        made = [scene.make(JOBS, job(name)) for name in ("done", "gone", "left")]
        seq = await scene.write(*map(start, made))
        shown = JobState(suspended=False, decision=f"{LEDGER}/{seq - 2}")
        await scene.write(
            JobStateReported(at_us=2, workload="default/job-done", state=shown),
            WorkloadRemoved(at_us=2, workload="default/job-gone"),
        )
        async with alongside(scene.actuator().run()):
            await eventually(lambda: scene.decision("left") != "")
            await asyncio.sleep(60)
        assert (scene.decision("done"), scene.decision("gone")) == ("", "")
        assert scene.patches() == 1

    run_virtually(run())


def test_of_two_actuators_one_works_and_the_other_takes_over() -> None:
    async def run() -> None:
        scene = Scene()
        made = scene.make(JOBS, job())
        second = Interposed(scene.embedded)
        async with alongside(scene.actuator("heir", second).run()):
            await asyncio.sleep(1)
            async with alongside(scene.actuator("late").run()):
                await scene.write(start(made))
                await eventually(lambda: not scene.job()["spec"]["suspend"])
                assert scene.patches() == 0
        other = scene.make(JOBS, job("other"))
        async with alongside(scene.actuator("late").run()):
            await scene.write(start(other))
            await eventually(lambda: not scene.job("other")["spec"]["suspend"])
        assert scene.patches() == 1

    run_virtually(run())


def test_a_renewal_that_fails_once_costs_nothing() -> None:
    async def run() -> None:
        outcomes = list[bool]()
        async with alongside(maintain_lease(Scripted("yyny"), 12, outcomes.append)):
            await asyncio.sleep(60)
            assert outcomes == [True]

    run_virtually(run())


def test_a_lease_that_cannot_be_renewed_is_given_up_before_it_runs_out() -> None:
    async def run() -> None:
        outcomes = list[bool]()
        async with alongside(maintain_lease(Scripted("yn"), 12, outcomes.append)):
            await eventually(lambda: outcomes == [True, False], within_s=12)

    run_virtually(run())


def test_draining_lets_an_order_that_was_begun_come_to_its_end() -> None:
    async def run() -> None:
        scene = Scene()
        made = scene.make(JOBS, job())
        answers = asyncio.Event()

        async def slow(method: str, _path: str) -> None:
            if method == "PATCH":
                await answers.wait()

        scene.api.before = slow
        session = scene.actuator()
        async with alongside(session.run()):
            await scene.write(start(made))
            await eventually(lambda: ("PATCH", f"{JOBS}/train") in scene.api.requests)
            draining = asyncio.create_task(session.consumer.drain())
            await asyncio.sleep(5)
            assert not draining.done()
            answers.set()
            await draining
        assert not scene.job()["spec"]["suspend"]

    run_virtually(run())
