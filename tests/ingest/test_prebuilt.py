"""Workloads that people make and jobs that name them, on the embedded API server."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from ingest.jobs.job_index import JobIndex
from ingest.jobs.scope import Scope
from tests.ingest.scene import gone, jobs, session
from tests.parts.stage import JOBS, KUEUE, Object, Stage, alongside, job, kueue
from tests.parts.virtual import run_virtually
from tidegate.contracts.observations import Heartbeat, JobObserved, SyncCompleted
from tidegate.jobs.batch import batch_job
from tidegate.kinds.kueue_api.workloads.workload import Workload
from tidegate.kinds.observed import Namespace

WORKLOADS = f"{KUEUE}/namespaces/default/workloads"
PREBUILT = "kueue.x-k8s.io/prebuilt-workload-name"


def made(name: str = "made", count: int = 1, owner: Object | None = None) -> Object:
    template = job()["spec"]["template"]
    podsets = [{"name": "main", "count": count, "template": template}]
    obj = kueue("Workload", name, queueName="main", podSets=podsets, active=True)
    if owner is not None:
        meta = owner["metadata"]
        head = {"apiVersion": "batch/v1", "kind": "Job", "controller": True}
        obj["metadata"]["ownerReferences"] = [{**head, "name": meta["name"], "uid": meta["uid"]}]
    return obj


def naming(name: str = "train", workload: str = "made") -> Object:
    obj = job(name)
    obj["metadata"]["labels"][PREBUILT] = workload
    return obj


async def last(stage: Stage, name: str) -> JobObserved:
    return [observation for observation in await jobs(stage) if observation.name == name][-1]


def test_a_job_waits_for_its_workload_and_then_is_it() -> None:
    async def run() -> None:
        stage = Stage()
        stage.make(JOBS, naming())
        async with alongside(session(stage).run()):
            await stage.hear(Heartbeat)
            alone = await last(stage, "train")
            assert (alone.gates, alone.workload != "default/made") == (("Workload/made",), True)
            stage.make(WORKLOADS, made())
            observations = await stage.hear(
                JobObserved, lambda observation: observation.workload == "default/made"
            )
            assert (observations.name, observations.gates) == ("train", ())
            stage.remove(f"{WORKLOADS}/made")
            await asyncio.sleep(5)
            again = await last(stage, "train")
            assert (again.gates, again.workload) == (alone.gates, alone.workload)
        assert {observation.kind for observation in await jobs(stage)} == {"batch/job"}

    run_virtually(run())


def test_a_workload_is_queued_by_itself_until_a_job_names_it_and_afterwards() -> None:
    async def run() -> None:
        stage = Stage()
        stage.make(WORKLOADS, made())
        async with alongside(session(stage).run()):
            await stage.hear(JobObserved, lambda observation: observation.kind == "workload")
            stage.make(JOBS, naming())
            await stage.hear(
                JobObserved, lambda observation: observation.workload == "default/made"
            )
            stage.change(f"{WORKLOADS}/made", {"spec": {"priority": 4}})
            await stage.hear(JobObserved, lambda observation: observation.priority == 4)
            stage.remove(f"{JOBS}/train")
            await stage.hear(
                JobObserved,
                lambda observation: observation.kind == "workload" and observation.priority == 4,
            )
        kinds = [observation.kind for observation in await jobs(stage)]
        assert kinds == ["workload", "batch/job", "batch/job", "workload"]
        assert await gone(stage) == ["train"]

    run_virtually(run())


def test_a_workload_that_a_job_names_is_present() -> None:
    """Another session may have published it as a job: no list says that it is gone."""

    async def run() -> None:
        stage = Stage()
        uid = stage.make(WORKLOADS, made())["metadata"]["uid"]
        other = stage.make(JOBS, naming())["metadata"]["uid"]
        async with alongside(session(stage).run()):
            await stage.hear(SyncCompleted, lambda observation: observation.present == (other,))
            await stage.hear(SyncCompleted, lambda observation: observation.present == (uid,))

    run_virtually(run())


def test_of_two_jobs_that_name_a_workload_one_waits_until_the_other_is_gone() -> None:
    async def run() -> None:
        stage = Stage()
        stage.make(WORKLOADS, made())
        stage.make(JOBS, naming("a"))
        async with alongside(session(stage).run()):
            await stage.hear(
                JobObserved, lambda observation: observation.workload == "default/made"
            )
            stage.make(JOBS, naming("b"))
            await stage.hear(JobObserved, lambda observation: observation.name == "b")
            assert (await last(stage, "b")).gates == ("Workload/made",)
            stage.remove(f"{JOBS}/a")
            await stage.hear(
                JobObserved,
                lambda observation: (
                    (observation.name, observation.workload) == ("b", "default/made")
                ),
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


def test_a_job_that_does_not_match_its_workload_is_reported_as_over() -> None:
    async def run() -> None:
        stage = Stage()
        stage.make(WORKLOADS, made(count=3))
        stage.make(JOBS, naming())
        async with alongside(session(stage).run()):
            observations = await stage.hear(
                JobObserved, lambda observation: observation.finished == "OutOfSync"
            )
            assert observations.workload == "default/made"

    run_virtually(run())


def read(kind: Any, obj: Object, number: int) -> Any:  # noqa: ANN401 - of the kind's own type
    """Return an object as a watch tells it."""
    meta = {**obj["metadata"], "namespace": "default", "uid": f"u{number}"}
    meta |= {"resourceVersion": str(number), "creationTimestamp": "2026-03-01T08:00:00Z"}
    return msgspec.json.decode(msgspec.json.encode({**obj, "metadata": meta}), type=kind)


def test_a_job_that_goes_while_others_are_reported_claims_no_workload_any_more() -> None:
    joins = JobIndex([batch_job.KIND], Scope())
    for row in (
        joins.listed_workloads(()),
        joins.namespace(read(Namespace, {"metadata": {"name": "default"}}, 1)),
        joins.job(batch_job.KIND, read(batch_job.KIND.object_type, naming("a"), 2)),
        joins.job(batch_job.KIND, read(batch_job.KIND.object_type, naming("b"), 3)),
    ):
        list(row)
    telling = joins.workload(read(Workload, made(), 4))
    first = next(iter(telling))[1]
    list(joins.forget("u3"))  # a list came in between, which does not have it
    list(telling)
    list(joins.forget("u2"))
    [(_, last)] = joins.job(batch_job.KIND, read(batch_job.KIND.object_type, naming("c"), 5))
    assert isinstance(first, JobObserved)
    assert isinstance(last, JobObserved)
    assert (first.name, first.workload) == ("a", "default/made")
    assert (last.name, last.workload, last.gates) == ("c", "default/made", ())
