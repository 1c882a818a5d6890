"""One actuator after another, and two at once: a lease, and what is learnt from EVENTS alone."""

from __future__ import annotations

import asyncio

from tests.actuator.scene import LEDGER, Scene, start
from tests.parts.interposed import Interposed
from tests.parts.stage import JOBS, alongside, eventually, job
from tests.parts.virtual import run_virtually
from tidegate.contracts.facts import JobStateReported, WorkloadRemoved
from tidegate.contracts.observations import JobState


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
