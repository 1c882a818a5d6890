"""A workload that rests because the API server is slow delays no write that users wait for."""

from __future__ import annotations

import asyncio

from actuator.workqueue import REST_S_MAX
from tests.actuator.story import AT_US, QUEUES, Story
from tests.parts.interposed import Interposed
from tests.parts.stage import alongside, eventually
from tests.parts.virtual import run_virtually
from tidegate.contracts.decisions import WorkloadPending
from tidegate.kube.ports import Response

SLOW_S = 4.0


def test_a_reservation_is_shown_at_once_though_its_workload_was_written_slowly() -> None:
    async def run() -> None:
        story = Story()
        slow, loop = Interposed(story.embedded), asyncio.get_running_loop()

        async def delay(method: str, path: str) -> Response | None:
            if method == "POST" and path.endswith("/workloads"):
                await asyncio.sleep(SLOW_S)
            return None

        slow.before = delay
        held = WorkloadPending(at_us=AT_US, workload=story.key, reason="WaitingForQuota")
        await story.write(*QUEUES, story.submitted(), held)
        async with alongside(story.actuator(api=slow, projects=True).run()):
            await eventually(lambda: story.condition("QuotaReserved")[0] == "False")
            since_s = loop.time()
            await story.write(story.reserved(), story.admitted())
            await eventually(lambda: story.condition("Admitted")[0] == "True")
            assert loop.time() - since_s < REST_S_MAX / 2

    run_virtually(run())
