"""A status that the API server refuses: an Event says so of a workload whose node failed."""

from __future__ import annotations

import msgspec
import pytest

from tests.actuator.story import AT_US, QUEUES, Story
from tests.parts.interposed import Interposed
from tests.parts.stage import KUEUE, alongside, eventually, kueue
from tests.parts.virtual import run_virtually
from tidegate.contracts.decisions import WorkloadEvicted
from tidegate.contracts.facts import LocalQueueDefined
from tidegate.kube.ports import Response
from tidegate.model.quota import LocalQueueSpec

FAILED, REFUSALS = "SecondPassFailed", 3
BUSY = Response(
    status=500,
    body=msgspec.json.encode({"kind": "Status", "message": "etcd is busy", "code": 500}),
)


async def evicted(reason: str, times: int) -> list[tuple[str, str]]:
    """Evict a workload whose status is refused so many times; return the Events that are told."""
    story = Story()
    api, refusals = Interposed(story.api), list[str]()

    async def refuse(method: str, path: str) -> Response | None:
        if method != "PATCH" or path != f"{story.path}/status" or len(refusals) == times:
            return None
        refusals.append(path)
        return BUSY

    async with alongside(story.actuator(api=api, projects=True).run()):
        await story.write(*QUEUES, story.submitted(), story.reserved(), story.admitted())
        await eventually(lambda: story.condition("Admitted")[0] == "True")
        api.before = refuse
        decision = WorkloadEvicted(
            at_us=AT_US, workload=story.key, reason=reason, message="No other place."
        )
        await story.write(decision)
        await eventually(lambda: story.condition("Evicted")[:2] == ("True", reason))
        await eventually(lambda: ("Workload", f"EvictedDueTo{reason}") in story.events())
    assert len(refusals) == times
    return story.events()


@pytest.mark.parametrize(
    ("reason", "refusals", "times"),
    [("NodeFailures", 3, 1), ("NodeFailures", 0, 0), ("Preempted", 3, 0)],
)
def test_a_refused_eviction_from_a_failed_node_is_reported_once(
    reason: str, refusals: int, times: int
) -> None:
    async def run() -> None:
        pairs = await evicted(reason, refusals)
        assert pairs.count(("Workload", FAILED)) == times

    run_virtually(run())


async def evicted_beside_a_queue_of_its_name() -> list[tuple[str, str]]:
    """Evict a workload, show that after a namesake's status was refused; return what is told."""
    story = Story()
    namespace, _, name = story.key.partition("/")
    queues, refusals = f"{KUEUE}/namespaces/{namespace}/localqueues", list[str]()
    story.make(queues, kueue("LocalQueue", name, clusterQueue="cq"))
    api = Interposed(story.api)

    async def refuse(method: str, path: str) -> Response | None:
        if method == "PATCH" and path == f"{story.path}/status":
            await eventually(lambda: len(refusals) == REFUSALS)  # the eviction is not shown yet
        if method != "PATCH" or path != f"{queues}/{name}/status" or len(refusals) == REFUSALS:
            return None
        refusals.append(path)
        return BUSY

    async with alongside(story.actuator(api=api, projects=True).run()):
        await story.write(*QUEUES, story.submitted(), story.reserved(), story.admitted())
        await eventually(lambda: story.condition("Admitted")[0] == "True")
        api.before = refuse
        spec = LocalQueueSpec(cluster_queue="cq")
        await story.write(
            WorkloadEvicted(at_us=AT_US, workload=story.key, reason="NodeFailures", message=""),
            LocalQueueDefined(at_us=AT_US, namespace=namespace, name=name, spec=spec),
        )
        await eventually(lambda: ("Workload", "EvictedDueToNodeFailures") in story.events())
    return story.events()


def test_a_refused_status_of_a_queue_of_that_name_tells_nothing_of_the_workload() -> None:
    async def run() -> None:
        assert ("Workload", FAILED) not in await evicted_beside_a_queue_of_its_name()

    run_virtually(run())
