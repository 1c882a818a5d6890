"""What KueueViz reads of Kueue's objects is there: the fields that its views are drawn from.

Its server lists and watches objects through the API server, and asks for nothing else. The table in
docs/kueueviz.md has each of its views.
"""

from __future__ import annotations

from typing import Any

from tests.actuator.story import AT_US, QUEUES, SECOND_US, Story
from tests.parts.stage import KUEUE, alongside, eventually
from tests.parts.virtual import run_virtually
from tidegate.contracts.decisions import (
    QuotaReleased,
    WorkloadEvicted,
    WorkloadPreempted,
    WorkloadRequeued,
)

QUEUE, LOCAL = f"{KUEUE}/clusterqueues/cq", f"{KUEUE}/namespaces/default/localqueues/main"


def test_queues_have_what_its_lists_and_details_show() -> None:
    async def run() -> None:
        story = Story()
        async with alongside(story.actuator(projects=True).run()):
            await story.write(*QUEUES, story.submitted(), story.reserved(), story.admitted())
            await eventually(lambda: story.status(QUEUE).get("admittedWorkloads") == 1)
            await eventually(lambda: story.status(LOCAL).get("admittedWorkloads") == 1)
        queue, local = story.read(QUEUE), story.read(LOCAL)
        assert queue["spec"]["cohortName"] == "all"
        assert queue["spec"]["resourceGroups"][0]["flavors"][0]["name"] == "spot"
        for name in ("admittedWorkloads", "pendingWorkloads", "reservingWorkloads"):
            assert isinstance(queue["status"][name], int)
            assert isinstance(local["status"][name], int)
        for name in ("flavorsUsage", "flavorsReservation"):
            (resource,) = queue["status"][name][0]["resources"]
            assert (resource["name"], resource["total"]) == ("cpu", "1500m")
            assert resource["borrowed"] == "500m"
            assert local["status"][name][0]["resources"][0]["total"] == "1500m"
        assert queue["status"]["conditions"][0]["type"] == "Active"
        assert local["spec"]["clusterQueue"] == "cq"

    run_virtually(run())


def test_a_workload_has_what_its_dashboard_shows() -> None:
    async def run() -> None:
        key, at_us = (story := Story()).key, AT_US + 2 * SECOND_US
        await story.write(*QUEUES, story.submitted(), story.reserved(), story.admitted())
        async with alongside(story.actuator(projects=True).run()):
            await eventually(lambda: story.condition("Admitted")[0] == "True")
            admitted = story.read(story.path)
            await story.write(
                WorkloadPreempted(
                    at_us=at_us, workload=key, by="default/x", reason="InClusterQueue", message="p"
                ),
                WorkloadEvicted(at_us=at_us, workload=key, reason="Preempted", message="e"),
                QuotaReleased(at_us=at_us, workload=key, reason="Evicted"),
                WorkloadRequeued(at_us=at_us, workload=key, reason="Preempted", attempts=1),
            )
            await eventually(lambda: story.condition("Preempted")[0] == "True")
        assert admitted["metadata"]["labels"]["kueue.x-k8s.io/job-uid"] == story.uid
        assert admitted["metadata"]["uid"]
        assert admitted["spec"]["queueName"] == "main"
        assert admitted["status"]["admission"]["clusterQueue"] == "cq"
        assert conditions(admitted).keys() >= {"QuotaReserved", "Admitted"}
        preempted = conditions(story.read(story.path))["Preempted"]
        assert (preempted["status"], preempted["reason"]) == ("True", "InClusterQueue")
        assert ("Workload", "Preempted") in story.events()  # its details list them by that name

    run_virtually(run())


def conditions(shown: dict[str, Any]) -> dict[str, dict[str, str]]:
    return {condition["type"]: condition for condition in shown["status"]["conditions"]}
