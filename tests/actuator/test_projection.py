"""The ledger as Workloads, queue statuses and Kubernetes Events on the embedded API server."""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from tests.actuator.scene import LEDGER
from tests.actuator.story import AT_US, QUEUES, SECOND_US, Story
from tests.parts.stage import JOBS, KUEUE, alongside, eventually
from tests.parts.virtual import run_virtually
from tidegate.contracts.decisions import (
    QuotaReleased,
    WorkloadDeactivated,
    WorkloadEvicted,
    WorkloadPending,
    WorkloadPreempted,
    WorkloadRequeued,
)
from tidegate.contracts.facts import (
    PodsReadyReported,
    WorkloadChanged,
    WorkloadFinished,
    WorkloadRemoved,
)


def test_a_queued_job_is_shown_as_a_workload_of_its_own() -> None:
    async def run() -> None:
        story = Story()
        await story.write(*QUEUES, story.submitted())
        async with alongside(story.actuator(projects=True).run()):
            await eventually(lambda: story.shows() is not None)
        obj = story.read(story.path)
        (owner,) = obj["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["uid"], owner["controller"]) == ("Job", story.uid, True)
        assert obj["metadata"]["labels"] == {"kueue.x-k8s.io/job-uid": story.uid}
        assert obj["metadata"]["annotations"] == {"tidegate.dev/decision": f"{LEDGER}/5"}
        spec = obj["spec"]
        assert (spec["queueName"], spec["priority"], spec["active"]) == ("main", 100, True)
        assert spec["priorityClassRef"]["name"] == "high"
        (podset,) = spec["podSets"]
        assert (podset["name"], podset["count"]) == ("main", 1)
        assert podset["template"]["spec"]["containers"][0]["name"] == "c"

    run_virtually(run())


def test_conditions_follow_a_workload_until_it_is_admitted() -> None:
    async def run() -> None:
        story = Story()
        async with alongside(story.actuator(projects=True).run()):
            await story.write(*QUEUES, story.submitted())
            held = WorkloadPending(
                at_us=AT_US, workload=story.key, reason="WaitingForQuota", message="m"
            )
            await story.write(held)
            waits = ("False", "WaitingForQuota", "m")
            await eventually(lambda: story.condition("QuotaReserved") == waits)
            await story.write(story.reserved(), story.admitted())
            await eventually(lambda: story.condition("Admitted")[0] == "True")
        assert story.condition("PodsReady")[:2] == ("False", "WaitForStart")
        (assigned,) = story.status(story.path)["admission"]["podSetAssignments"]
        assert assigned["resourceUsage"] == {"cpu": "1500m"}

    run_virtually(run())


def test_conditions_follow_a_workload_from_its_admission_to_its_end() -> None:
    async def run() -> None:
        story = Story()
        key = story.key
        await story.write(*QUEUES, story.submitted(), story.reserved(), story.admitted())
        async with alongside(story.actuator(projects=True).run()):
            await story.write(PodsReadyReported(at_us=AT_US, workload=key, ready=True))
            await eventually(lambda: story.condition("PodsReady")[:2] == ("True", "Started"))
            await story.write(PodsReadyReported(at_us=AT_US, workload=key, ready=False))
            await eventually(lambda: story.condition("PodsReady")[1] == "WaitForRecovery")
            await story.write(
                WorkloadFinished(at_us=AT_US, workload=key, reason="Succeeded", message="done")
            )
            done = ("True", "Succeeded", "done")
            await eventually(lambda: story.condition("Finished") == done)
        assert story.status(story.path)["admission"]["clusterQueue"] == "cq"

    run_virtually(run())


def test_an_eviction_is_shown_until_the_next_reservation() -> None:
    async def run() -> None:
        story = Story()
        key, at_us = story.key, AT_US + 2 * SECOND_US
        await story.write(*QUEUES, story.submitted(), story.reserved(), story.admitted())
        async with alongside(story.actuator(projects=True).run()):
            await story.write(
                WorkloadPreempted(
                    at_us=at_us, workload=key, by="default/x", reason="InClusterQueue", message="p"
                ),
                WorkloadEvicted(at_us=at_us, workload=key, reason="Preempted", message="e"),
                QuotaReleased(at_us=at_us, workload=key, reason="Evicted"),
                WorkloadRequeued(at_us=at_us, workload=key, reason="Preempted", attempts=1),
            )
            await eventually(lambda: story.condition("Requeued")[:2] == ("True", "Preempted"))
            assert story.condition("Evicted") == ("True", "Preempted", "e")
            assert story.condition("Preempted") == ("True", "InClusterQueue", "p")
            assert story.condition("QuotaReserved") == ("False", "PendingEvaluation", "e")
            assert story.condition("Admitted")[:2] == ("False", "NoReservation")
            status = story.read(story.path)["status"]
            assert status["schedulingStats"]["evictions"][0]["count"] == 1
            await story.write(story.reserved())
            again = ("False", "QuotaReserved", "Previously: e")
            await eventually(lambda: story.condition("Evicted") == again)

    run_virtually(run())


def test_queues_show_what_waits_and_what_is_used() -> None:
    async def run() -> None:
        story = Story()
        async with alongside(story.actuator(projects=True).run()):
            await story.write(*QUEUES, story.submitted())
            path = f"{KUEUE}/clusterqueues/cq"
            local = f"{KUEUE}/namespaces/default/localqueues/main"
            await eventually(
                lambda: story.read(path).get("status", {}).get("pendingWorkloads") == 1
            )
            await story.write(story.reserved(), story.admitted())
            await eventually(lambda: story.status(path)["admittedWorkloads"] == 1)
            await eventually(lambda: story.status(local)["admittedWorkloads"] == 1)
        status, local_status = story.status(path), story.status(local)
        used = {"name": "cpu", "total": "1500m"}
        assert status["flavorsUsage"] == [
            {"name": "spot", "resources": [{**used, "borrowed": "500m"}]}
        ]
        assert local_status["flavorsReservation"] == [{"name": "spot", "resources": [used]}]
        assert status["conditions"][0]["reason"] == "Ready"
        assert local_status["conditions"][0]["reason"] == "Ready"
        assert (status["pendingWorkloads"], local_status["pendingWorkloads"]) == (0, 0)

    run_virtually(run())


def test_users_get_one_event_though_the_ledger_is_read_twice() -> None:
    async def run() -> None:
        story = Story()
        async with alongside(story.actuator(projects=True).run()):
            await story.write(*QUEUES, story.submitted())
            await eventually(lambda: story.shows() is not None)
            await story.write(story.reserved(), story.admitted())
            await eventually(lambda: len(story.events()) == 3)
        async with alongside(story.actuator("heir", projects=True).run()):
            await asyncio.sleep(60)
        assert story.events() == [
            ("Job", "Started"),
            ("Workload", "Admitted"),
            ("Workload", "QuotaReserved"),
        ]

    run_virtually(run())


def test_a_successor_writes_only_what_differs() -> None:
    async def run() -> None:
        story = Story()
        await story.write(*QUEUES, story.submitted(), story.reserved(), story.admitted())
        async with alongside(story.actuator(projects=True).run()):
            await eventually(lambda: story.condition("Admitted")[0] == "True")
            await asyncio.sleep(60)
        story.api.requests.clear()
        async with alongside(story.actuator("heir", projects=True).run()):
            await asyncio.sleep(60)
            assert story.patches() == 0
            story.change(f"{story.path}/status", {"status": {"admission": None, "conditions": []}})
        async with alongside(story.actuator("third", projects=True).run()):
            await eventually(lambda: story.condition("Admitted")[0] == "True")

    run_virtually(run())


def test_the_workload_of_a_job_that_left_goes() -> None:
    async def run() -> None:
        story = Story()
        await story.write(*QUEUES, story.submitted())
        async with alongside(story.actuator(projects=True).run()):
            await eventually(lambda: story.shows() is not None)
            await story.write(WorkloadRemoved(at_us=AT_US, workload=story.key, uid=story.uid))
            await eventually(lambda: story.shows() is None)

    run_virtually(run())


def test_a_deactivation_is_ours_to_write_and_the_users_to_undo() -> None:
    async def run() -> None:
        story = Story()
        reason = "MaximumExecutionTimeExceeded"
        async with alongside(story.actuator(projects=True).run()):
            await story.write(
                *QUEUES,
                story.submitted(),
                WorkloadDeactivated(at_us=AT_US, workload=story.key, reason=reason),
            )
            await eventually(
                lambda: not (story.shows() or {"spec": {"active": 1}})["spec"]["active"]
            )
            story.change(story.path, {"spec": {"active": True}})
            activated = WorkloadChanged(at_us=AT_US, workload=story.key, queue="main")
            await story.write(replace(activated, active=False), activated)
            await eventually(lambda: story.condition("Requeued")[:2] == ("True", "Reactivated"))
            assert story.read(story.path)["spec"]["active"] is True

    run_virtually(run())


def test_what_others_wrote_into_a_workload_stays() -> None:
    async def run() -> None:
        story = Story()
        await story.write(*QUEUES, story.submitted())
        async with alongside(story.actuator(projects=True).run()):
            await eventually(lambda: story.shows() is not None)
            check = {
                "name": "budget",
                "state": "Ready",
                "lastTransitionTime": "2026-03-01T08:00:00Z",
                "message": "fine",
            }
            story.change(f"{story.path}/status", {"status": {"admissionChecks": [check]}})
            await story.write(story.reserved(), story.admitted())
            await eventually(lambda: story.condition("Admitted")[0] == "True")
        assert story.read(story.path)["status"]["admissionChecks"] == [check]

    run_virtually(run())


def test_a_workload_that_a_user_deleted_is_put_back_as_it_was() -> None:
    async def run() -> None:
        story = Story()
        async with alongside(story.actuator(projects=True).run()):
            await story.write(*QUEUES, story.submitted(), story.reserved(), story.admitted())
            await eventually(lambda: story.condition("Admitted")[0] == "True")
            before = story.read(story.path)
            await asyncio.sleep(60)  # nothing else changes
            story.remove(story.path)
            await eventually(lambda: story.condition("Admitted")[0] == "True", within_s=5)
        after = story.read(story.path)
        assert after["metadata"]["uid"] != before["metadata"]["uid"]
        assert (after["spec"], after["status"]) == (before["spec"], before["status"])

    run_virtually(run())


def test_a_workload_that_was_deleted_while_the_watch_was_broken_is_put_back() -> None:
    async def run() -> None:
        story = Story()
        async with alongside(story.actuator(projects=True).run()):
            await story.write(*QUEUES, story.submitted())
            await eventually(lambda: story.shows() is not None)
            story.api.down = True
            story.remove(story.path)
            for number in range(1_100):  # more than the server remembers: nothing can be resumed
                story.change(JOBS + "/train", {"metadata": {"labels": {"n": str(number)}}})
            await asyncio.sleep(600)
            story.api.down = False
            await eventually(lambda: story.shows() is not None, within_s=90)

    run_virtually(run())


def test_the_workload_of_a_finished_job_may_be_deleted() -> None:
    async def run() -> None:
        story = Story()
        done = WorkloadFinished(at_us=AT_US, workload=story.key, reason="Succeeded", message="")
        async with alongside(story.actuator(projects=True).run()):
            await story.write(*QUEUES, story.submitted())
            await eventually(lambda: story.shows() is not None)
            await story.write(done)
            await eventually(lambda: story.condition("Finished")[0] == "True")
            story.remove(story.path)
            await asyncio.sleep(600)
        assert story.shows() is None

    run_virtually(run())
