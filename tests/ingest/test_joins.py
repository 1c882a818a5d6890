"""Wishes about a job that stand on its Workload, on the embedded API server."""

from __future__ import annotations

import asyncio

from tests.ingest.scene import jobs, session
from tests.parts.stage import JOBS, KUEUE, Object, Stage, alongside, job, kueue
from tests.parts.virtual import run_virtually
from tidegate.contracts.observations import Heartbeat, JobObserved
from tidegate.model.topology import HOSTNAME, TopologyDomain, unpack

WORKLOADS = f"{KUEUE}/namespaces/default/workloads"
PODSETS = [{"name": "main", "count": 1, "template": job()["spec"]["template"]}]
AT = "2026-03-01T08:00:00Z"
RESERVED = {"type": "QuotaReserved", "status": "True", "reason": "QuotaReserved", "message": "m"}
PLACED = {
    "levels": [HOSTNAME],
    "slices": [
        {"domainCount": 1, "valuesPerLevel": [{"universal": "x0"}], "podCounts": {"universal": 1}}
    ],
}
OVER = {
    "startTime": AT,
    "completionTime": AT,
    "conditions": [
        {"type": kind, "status": "True", "lastTransitionTime": AT}
        for kind in ("SuccessCriteriaMet", "Complete")
    ],
}
ADMISSION = {"clusterQueue": "cq", "podSetAssignments": [{"name": "main"}]}


def workload_of(made: Object, name: str = "job-train") -> Object:
    """Return the Workload that stands for a Job, as Kueue or the projection makes it."""
    obj = kueue("Workload", name, queueName="main", podSets=PODSETS, active=True)
    owner = {"apiVersion": "batch/v1", "kind": "Job", "controller": True}
    meta = made["metadata"]
    obj["metadata"]["ownerReferences"] = [{**owner, "name": meta["name"], "uid": meta["uid"]}]
    return obj


def test_a_workload_that_is_deactivated_deactivates_its_job() -> None:
    async def run() -> None:
        stage = Stage()
        stage.make(WORKLOADS, workload_of(stage.make(JOBS, job())))
        path = f"{WORKLOADS}/job-train"
        async with alongside(session(stage).run()):
            await stage.hear(Heartbeat)
            stage.change(path, {"spec": {"active": False}})
            await stage.hear(JobObserved, lambda observation: not observation.active)
            stage.remove(path)  # without the Workload no override is left
            await asyncio.sleep(5)
        assert [observation.active for observation in await jobs(stage)] == [True, False, True]
        assert {observation.kind for observation in await jobs(stage)} == {"batch/job"}

    run_virtually(run())


def test_quota_that_another_controller_reserved_is_reported_before_the_first_round_ends() -> None:
    async def run() -> None:
        stage = Stage()
        stage.make(WORKLOADS, workload_of(stage.make(JOBS, job())))
        condition = {**RESERVED, "lastTransitionTime": AT}
        given = {"name": "main", "topologyAssignment": PLACED}
        status = {
            "conditions": [condition],
            "admission": {"clusterQueue": "cq", "podSetAssignments": [given]},
        }
        stage.change(f"{WORKLOADS}/job-train/status", {"status": status})
        async with alongside(session(stage).run()):
            await stage.hear(Heartbeat)
        observation = (await jobs(stage))[-1]
        assert observation.held_quota
        [place] = observation.held_places.values()
        assert unpack(place) == (TopologyDomain(values=("x0",), count=1),)

    run_virtually(run())


def test_a_projection_is_no_news() -> None:
    async def run() -> None:
        stage = Stage()
        made = stage.make(JOBS, job())
        async with alongside(session(stage).run()):
            await stage.hear(JobObserved)
            ours = workload_of(made)
            ours["metadata"]["annotations"] = {"tidegate.dev/decision": "L1/7"}
            stage.make(WORKLOADS, ours)
            condition = {**RESERVED, "lastTransitionTime": AT}
            status = {"conditions": [condition], "admission": ADMISSION}
            stage.change(f"{WORKLOADS}/job-train/status", {"status": status})
            await asyncio.sleep(5)
        assert len(await jobs(stage)) == 1

    run_virtually(run())


def test_a_workload_that_a_user_made_directly_is_a_job() -> None:
    async def run() -> None:
        stage = Stage()
        stage.make(WORKLOADS, kueue("Workload", "mine", queueName="main", podSets=PODSETS))
        async with alongside(session(stage).run()):
            seen = await stage.hear(JobObserved)
        assert (seen.kind, seen.workload, seen.queue) == ("workload", "default/mine", "main")

    run_virtually(run())


def test_a_list_forgets_the_overrides_of_workloads_that_went_unseen() -> None:
    async def run() -> None:
        stage = Stage()
        obj = workload_of(stage.make(JOBS, job()))
        obj["spec"]["active"] = False
        stage.make(WORKLOADS, obj)
        async with alongside(session(stage).run()):
            await stage.hear(JobObserved, lambda observation: not observation.active)
            stage.api.down = True
            await asyncio.sleep(120)
            stage.remove(f"{WORKLOADS}/job-train")
            stage.embedded.compact()
            stage.api.down = False
            await stage.hear(Heartbeat, lambda observation: observation.beat > 120)
        assert [observation.active for observation in await jobs(stage)][-2:] == [False, True]

    run_virtually(run())


def test_a_job_is_reported_to_be_over_and_its_workload_not_whichever_is_seen_first() -> None:
    async def run() -> None:
        stage = Stage()
        made = stage.make(JOBS, job())
        stage.change(f"{JOBS}/train/status", {"status": OVER})
        async with alongside(session(stage).run()):
            await stage.hear(Heartbeat)
            stage.make(WORKLOADS, workload_of(made))
            await stage.hear(JobObserved, lambda observation: observation.left_open)
            finished = {"type": "Finished", "status": "True", "reason": "Succeeded", "message": "m"}
            condition = {**finished, "lastTransitionTime": AT}
            stage.change(f"{WORKLOADS}/job-train/status", {"status": {"conditions": [condition]}})
            await asyncio.sleep(5)
        observations = await jobs(stage)
        assert {observation.finished for observation in observations} == {"Succeeded"}
        assert [observation.left_open for observation in observations] == [False, True], (
            "that it is shown is no news"
        )

    run_virtually(run())
