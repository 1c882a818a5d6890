"""Workloads that people make and jobs that name them, on the embedded API server."""

from __future__ import annotations

import asyncio

from tests.ingest.scene import gone, jobs, session
from tests.parts.stage import JOBS, KUEUE, Object, Stage, alongside, job, kueue
from tests.parts.virtual import run_virtually
from tidegate.contracts.observations import Heartbeat, JobObserved

WORKLOADS = f"{KUEUE}/namespaces/default/workloads"
PREBUILT = "kueue.x-k8s.io/prebuilt-workload-name"


def made(name: str = "made", count: int = 1, owner: Object | None = None) -> Object:
    template = job()["spec"]["template"]
    podsets = [{"name": "main", "count": count, "template": template}]
    found = kueue("Workload", name, queueName="main", podSets=podsets, active=True)
    if owner is not None:
        meta = owner["metadata"]
        head = {"apiVersion": "batch/v1", "kind": "Job", "controller": True}
        found["metadata"]["ownerReferences"] = [{**head, "name": meta["name"], "uid": meta["uid"]}]
    return found


def naming(name: str = "train", workload: str = "made") -> Object:
    found = job(name)
    found["metadata"]["labels"][PREBUILT] = workload
    return found


async def last(stage: Stage, name: str) -> JobObserved:
    return [one for one in await jobs(stage) if one.name == name][-1]


def test_a_job_waits_for_its_workload_and_then_is_it() -> None:
    async def run() -> None:
        stage = Stage()
        stage.make(JOBS, naming())
        async with alongside(session(stage).run()):
            await stage.hear(Heartbeat)
            alone = await last(stage, "train")
            assert (alone.gates, alone.workload != "default/made") == (("Workload/made",), True)
            stage.make(WORKLOADS, made())
            found = await stage.hear(JobObserved, lambda one: one.workload == "default/made")
            assert (found.name, found.gates) == ("train", ())
            stage.remove(f"{WORKLOADS}/made")
            await asyncio.sleep(5)
            again = await last(stage, "train")
            assert (again.gates, again.workload) == (alone.gates, alone.workload)
        assert {one.kind for one in await jobs(stage)} == {"batch/job"}

    run_virtually(run())


def test_a_workload_is_queued_by_itself_until_a_job_names_it_and_afterwards() -> None:
    async def run() -> None:
        stage = Stage()
        stage.make(WORKLOADS, made())
        async with alongside(session(stage).run()):
            await stage.hear(JobObserved, lambda one: one.kind == "workload")
            stage.make(JOBS, naming())
            await stage.hear(JobObserved, lambda one: one.workload == "default/made")
            stage.change(f"{WORKLOADS}/made", {"spec": {"priority": 4}})
            await stage.hear(JobObserved, lambda one: one.priority == 4)
            stage.remove(f"{JOBS}/train")
            await stage.hear(JobObserved, lambda one: one.kind == "workload" and one.priority == 4)
        kinds = [one.kind for one in await jobs(stage)]
        assert kinds == ["workload", "batch/job", "batch/job", "workload"]
        assert await gone(stage) == ["train"]

    run_virtually(run())


def test_of_two_jobs_that_name_a_workload_one_waits_until_the_other_is_gone() -> None:
    async def run() -> None:
        stage = Stage()
        stage.make(WORKLOADS, made())
        stage.make(JOBS, naming("a"))
        async with alongside(session(stage).run()):
            await stage.hear(JobObserved, lambda one: one.workload == "default/made")
            stage.make(JOBS, naming("b"))
            await stage.hear(JobObserved, lambda one: one.name == "b")
            assert (await last(stage, "b")).gates == ("Workload/made",)
            stage.remove(f"{JOBS}/a")
            await stage.hear(
                JobObserved, lambda one: (one.name, one.workload) == ("b", "default/made")
            )

    run_virtually(run())


def test_a_workload_with_an_owner_is_his() -> None:
    async def run() -> None:
        stage = Stage()
        stage.make(JOBS, naming("a"))
        stage.make(WORKLOADS, made(owner=stage.make(JOBS, naming("b"))))
        async with alongside(session(stage).run()):
            await stage.hear(Heartbeat)
        assert (await last(stage, "b")).workload == "default/made"
        assert (await last(stage, "a")).gates == ("Workload/made",)

    run_virtually(run())


def test_a_job_that_does_not_match_its_workload_is_told_as_over() -> None:
    async def run() -> None:
        stage = Stage()
        stage.make(WORKLOADS, made(count=3))
        stage.make(JOBS, naming())
        async with alongside(session(stage).run()):
            found = await stage.hear(JobObserved, lambda one: one.finished == "OutOfSync")
            assert found.workload == "default/made"

    run_virtually(run())
