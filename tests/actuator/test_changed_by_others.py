"""What others write into the status of a queue or cohort is put right by the actuator that acts."""

from __future__ import annotations

import asyncio
from http import HTTPStatus

import msgspec
import pytest

from tests.actuator.story import QUEUES, Story
from tests.parts.stage import KUEUE, Object, alongside, eventually, kueue
from tests.parts.virtual import run_virtually
from tidegate.kube.ports import MERGE_PATCH, Response

QUEUE, LOCAL = f"{KUEUE}/clusterqueues/cq", f"{KUEUE}/namespaces/default/localqueues/main"
STALE = {"pendingWorkloads": 0, "reservingWorkloads": 1, "admittedWorkloads": 0}


def write(story: Story, path: str, status: Object) -> None:
    """Write as an actuator does that stood still meanwhile: nothing of it conflicts."""
    body = msgspec.json.encode({"status": status})
    answer = story.embedded.call("PATCH", f"{path}/status", body=body, content_type=MERGE_PATCH)
    assert answer.status == HTTPStatus.OK, answer.body


@pytest.mark.parametrize("path", [QUEUE, LOCAL])
def test_a_status_that_a_former_actuator_wrote_late_is_put_right(path: str) -> None:
    async def run() -> None:
        story = Story()
        async with alongside(story.actuator(projects=True).run()):
            await story.write(*QUEUES)
            await eventually(lambda: story.status(path).get("reservingWorkloads") == 0)
            await asyncio.sleep(60)  # what our own last write left is not remembered any more
            write(story, path, STALE)
            await eventually(lambda: story.status(path)["reservingWorkloads"] == 0, within_s=5)

    run_virtually(run())


def test_our_own_writes_and_what_differs_in_nothing_are_not_written_again() -> None:
    async def run() -> None:
        story = Story()
        async with alongside(story.actuator(projects=True).run()):
            await story.write(*QUEUES)
            await eventually(lambda: story.status(LOCAL).get("reservingWorkloads") == 0)
            await asyncio.sleep(60)
            patches, reads = story.patches(), len(story.api.requests)
            await asyncio.sleep(300)
            assert [request for request in story.api.requests[reads:] if request[0] != "GET"] == []
            story.change(QUEUE, {"metadata": {"annotations": {"example.com/note": "other"}}})
            await asyncio.sleep(5)
            assert ("GET", QUEUE) in story.api.requests[reads:]
            assert story.patches() == patches

    run_virtually(run())


def test_where_cohorts_are_not_served_all_else_is_shown() -> None:
    async def run() -> None:
        story = Story()

        async def without(_method: str, path: str) -> Response | None:
            lacks = path.startswith(f"{KUEUE}/cohorts")
            return Response(HTTPStatus.NOT_FOUND, b'{"message":"no such page"}') if lacks else None

        story.api.before = without
        async with alongside(story.actuator(projects=True).run()):
            await story.write(*QUEUES)
            await eventually(lambda: story.status(QUEUE).get("reservingWorkloads") == 0)
            assert story.api.requests.count(("GET", f"{KUEUE}/workloads")) == 2
            story.api.before = None
            story.make(f"{KUEUE}/cohorts", kueue("Cohort", "all"))
            await eventually(
                lambda: story.api.requests.count(("GET", f"{KUEUE}/workloads")) == 3, within_s=90
            )

    run_virtually(run())
