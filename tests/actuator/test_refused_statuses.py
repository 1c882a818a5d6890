"""A status that the API server refuses: an Event says so of a workload whose node failed."""

from __future__ import annotations

import msgspec
import pytest

from tests.actuator.story import AT_US, QUEUES, Story
from tests.parts.interposed import Interposed
from tests.parts.stage import alongside, eventually
from tests.parts.virtual import run_virtually
from tidegate.contracts.decisions import WorkloadEvicted
from tidegate.kube.ports import Response

FAILED = "SecondPassFailed"


async def evicted(reason: str, times: int) -> list[tuple[str, str]]:
    """Evict a workload whose status is refused so many times; return the Events that are told."""
    story = Story()
    api, refusals = Interposed(story.api), list[str]()

    async def refuse(method: str, path: str) -> Response | None:
        if method != "PATCH" or path != f"{story.path}/status" or len(refusals) == times:
            return None
        refusals.append(path)
        told = {"kind": "Status", "message": "etcd is busy", "code": 500}
        return Response(status=500, body=msgspec.json.encode(told))

    async with alongside(story.actuator(api=api, projects=True).run()):
        await story.write(*QUEUES, story.submitted(), story.reserved(), story.admitted())
        await eventually(lambda: story.condition("Admitted")[0] == "True")
        api.before = refuse
        told = WorkloadEvicted(
            at_us=AT_US, workload=story.key, reason=reason, message="No other place."
        )
        await story.write(told)
        await eventually(lambda: story.condition("Evicted")[:2] == ("True", reason))
        await eventually(lambda: ("Workload", f"EvictedDueTo{reason}") in story.events())
    assert len(refusals) == times
    return story.events()


@pytest.mark.parametrize(
    ("reason", "refusals", "times"),
    [("NodeFailures", 3, 1), ("NodeFailures", 0, 0), ("Preempted", 3, 0)],
)
def test_a_refused_eviction_from_a_failed_node_is_told_once(
    reason: str, refusals: int, times: int
) -> None:
    async def run() -> None:
        found = await evicted(reason, refusals)
        assert found.count(("Workload", FAILED)) == times

    run_virtually(run())
