"""Whose a Workload is, on the embedded API server: its creator's, a job's, or without an owner."""

from __future__ import annotations

import asyncio

import pytest

from tests.ingest.scene import rounds, session
from tests.ingest.test_joins import PODSETS, WORKLOADS, workload_of
from tests.parts.stage import JOBS, Object, Stage, alongside, job, kueue
from tests.parts.virtual import run_virtually
from tidegate.contracts.observations import Heartbeat, JobObserved, ObjectGone, ObjectRefused
from tidegate.jobs import workload
from tidegate.kinds.kueue_api.workloads.workload import Workload

RESOURCE = "workloads.kueue.x-k8s.io"


def owned_by(kind: str, version: str, name: str = "left", **meta: object) -> Object:
    """Return a Workload that something controls."""
    obj = kueue("Workload", name, queueName="main", podSets=PODSETS)
    owner = {"apiVersion": version, "kind": kind, "name": "x", "uid": "x", "controller": True}
    obj["metadata"] |= {"ownerReferences": [owner], **meta}
    return obj


async def observed_workloads(stage: Stage) -> list[tuple[str, str]]:
    """Return each Workload that was reported as a job, with how it finished."""
    observations = [
        observation for observation in await stage.heard() if isinstance(observation, JobObserved)
    ]
    return [
        (observation.name, observation.finished)
        for observation in observations
        if observation.kind == "workload"
    ]


async def present(stage: Stage) -> tuple[str, ...]:
    return (await rounds(stage, RESOURCE))[-1].present


def test_a_workload_that_its_job_left_behind_is_never_a_job() -> None:
    async def run() -> None:
        stage = Stage()
        made = stage.make(JOBS, job())
        ours = workload_of(made)
        ours["metadata"]["labels"] = {"kueue.x-k8s.io/job-uid": made["metadata"]["uid"]}
        stage.make(WORKLOADS, ours)
        async with alongside(session(stage).run()):
            await stage.hear(Heartbeat)
            stage.change(f"{WORKLOADS}/job-train", {"metadata": {"ownerReferences": None}})
            stage.remove(f"{JOBS}/train")
            await stage.hear(ObjectGone)
            await asyncio.sleep(5)
        assert await observed_workloads(stage) == []
        assert await present(stage) == ()

    run_virtually(run())


def test_a_workload_that_was_made_directly_is_reduced_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reduced, observe = list[str](), workload.observe

    def counted(wl: Workload) -> JobObserved:
        reduced.append(wl.metadata.name)
        return observe(wl)

    async def run() -> None:
        stage = Stage()
        stage.make(WORKLOADS, kueue("Workload", "mine", queueName="main", podSets=PODSETS))
        async with alongside(session(stage).run()):
            await stage.hear(Heartbeat)
        assert await observed_workloads(stage) == [("mine", "")]

    monkeypatch.setattr(workload, "observe", counted)
    run_virtually(run())
    assert reduced == ["mine"]


def test_a_workload_of_a_kind_that_is_not_enabled_is_reported_as_such() -> None:
    async def run() -> None:
        stage = Stage()
        stage.make(WORKLOADS, owned_by("Notebook", "acme.io/v1", finalizers=[IN_USE]))
        stage.make(WORKLOADS, owned_by("Deployment", "apps/v1", "set"))
        async with alongside(session(stage).run()):
            await stage.hear(Heartbeat)
        refused = [
            observation
            for observation in await stage.heard()
            if isinstance(observation, ObjectRefused)
        ]
        assert [(observation.name, observation.reason) for observation in refused] == [
            ("left", "OwnerNotManaged"),
            ("set", "OwnerNotManaged"),
        ]
        assert "Notebook x (acme.io/v1)" in refused[0].error
        assert (await observed_workloads(stage), await present(stage)) == ([], ())

    run_virtually(run())


def test_a_workload_that_its_own_controller_made_ends_with_that() -> None:
    async def run() -> None:
        stage = Stage()
        mark = {"tidegate.dev/owned-by": "x"}
        made = stage.make(WORKLOADS, owned_by("Crunch", "example.com/v1", annotations=mark))
        async with alongside(session(stage).run()):
            await stage.hear(Heartbeat)
            assert await present(stage) == (made["metadata"]["uid"],)
            stage.change(f"{WORKLOADS}/left", {"metadata": {"ownerReferences": None}})
            await stage.hear(JobObserved, lambda observation: observation.finished != "")
        assert await observed_workloads(stage) == [("left", ""), ("left", "OwnerNotFound")]

    run_virtually(run())


def test_a_workload_whose_owner_was_taken_out_stays_its_jobs() -> None:
    async def run() -> None:
        stage = Stage()
        made = stage.make(JOBS, job())
        async with alongside(session(stage).run()):
            observations = await stage.hear(JobObserved)
            name = observations.workload.partition("/")[2]
            ours = workload_of(made, name)
            del ours["metadata"]["ownerReferences"]
            ours["metadata"]["labels"] = {"kueue.x-k8s.io/job-uid": made["metadata"]["uid"]}
            ours["spec"]["active"] = False
            stage.make(WORKLOADS, ours)
            await stage.hear(JobObserved, lambda observation: not observation.active)
        assert await observed_workloads(stage) == []

    run_virtually(run())


IN_USE = "kueue.x-k8s.io/resource-in-use"
