"""Pod groups that lack pods: one of their pods is refused, if others do not come in time."""

from __future__ import annotations

import asyncio

from ingest.pods.groups import INCOMPLETE_US
from tests.ingest.scene import session
from tests.ingest.test_pod_groups import KUEUE, PODS, member
from tests.parts.stage import Stage, alongside
from tests.parts.virtual import run_virtually
from tidegate.contracts.observations import Heartbeat, JobObserved, ObjectRefused


def test_a_pod_of_a_group_that_lacks_pods_for_long_is_refused_once() -> None:
    async def run() -> None:
        stage = Stage()
        stage.make(PODS, member("one", total="3"))
        async with alongside(session(stage).run()):
            await stage.hear(Heartbeat)
            stage.make(PODS, member("two", total="3"))
            refusal = await stage.hear(ObjectRefused)
            assert (refusal.name, stage.now_us() > INCOMPLETE_US) == ("two", True)
            assert refusal.error == (
                "Its group crew has 2 of 3 pods: create the others, or correct "
                f"{KUEUE}/pod-group-total-count."
            )
            await asyncio.sleep(60)
            stage.make(PODS, member("three", total="3"))
            await stage.hear(JobObserved, lambda job: bool(job.podsets))
            assert sum(isinstance(seen, ObjectRefused) for seen in await stage.heard()) == 1

    run_virtually(run())


def test_a_group_that_is_complete_in_time_has_no_refused_pod() -> None:
    async def run() -> None:
        stage = Stage()
        stage.make(PODS, member("one"))
        async with alongside(session(stage).run()):
            await stage.hear(Heartbeat)
            await asyncio.sleep(INCOMPLETE_US / 2e6)
            stage.make(PODS, member("two"))
            await asyncio.sleep(60)
        assert not [seen for seen in await stage.heard() if isinstance(seen, ObjectRefused)]

    run_virtually(run())
