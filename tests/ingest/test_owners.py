"""Chains of owners: only the topmost managed object is reported as a job that is queued."""

from __future__ import annotations

import asyncio

import pytest

from tests.ingest.scene import jobs, session
from tests.parts.foreign import JOBSETS, foreign_crd, jobset
from tests.parts.stage import CRDS, JOBS, Object, Stage, alongside, job
from tests.parts.virtual import run_virtually
from tidegate.contracts.observations import Heartbeat, JobObserved

SETS = JOBSETS.format("default")
QUEUE = "kueue.x-k8s.io/queue-name"


def owned(obj: Object, api_version: str, kind: str, uid: str) -> Object:
    owner = {"apiVersion": api_version, "kind": kind, "name": "o", "uid": uid, "controller": True}
    return {**obj, "metadata": {**obj["metadata"], "ownerReferences": [owner]}}


async def queued(stage: Stage) -> dict[str, str]:
    """Return the newest queue that was reported of each job, by its name."""
    return {observation.name: observation.queue for observation in await jobs(stage)}


def test_a_job_that_a_managed_jobset_owns_is_left_alone() -> None:
    async def run() -> None:
        stage = Stage()
        stage.make(CRDS, foreign_crd("jobset"))
        above = stage.make(SETS, jobset("above"))
        uid = above["metadata"]["uid"]
        async with alongside(session(stage).run()):
            await stage.hear(JobObserved, lambda observation: observation.name == "above")
            stage.make(JOBS, owned(job("below"), "jobset.x-k8s.io/v1alpha2", "JobSet", uid))
            stage.make(JOBS, job("beside"))
            await stage.hear(JobObserved, lambda observation: observation.name == "beside")
        assert await queued(stage) == {"above": "main", "below": "", "beside": "main"}

    run_virtually(run())


@pytest.mark.parametrize("queue", ["main", ""])
def test_a_job_whose_owner_is_seen_later_waits_for_what_that_says(queue: str) -> None:
    async def run() -> None:
        stage = Stage()
        stage.make(CRDS, foreign_crd("jobset"))
        above = jobset("above", queue)
        uid = stage.make(SETS, above)["metadata"]["uid"]
        stage.make(JOBS, owned(job("below"), "jobset.x-k8s.io/v1alpha2", "JobSet", uid))
        async with alongside(session(stage).run()):
            await stage.hear(Heartbeat)
        assert await queued(stage) == {"above": queue, "below": "" if queue else "main"}

    run_virtually(run())


def test_a_jobs_chain_is_followed_to_its_top() -> None:
    async def run() -> None:
        stage = Stage()
        stage.make(CRDS, foreign_crd("jobset"))
        top = stage.make(SETS, jobset("top"))["metadata"]["uid"]
        between = owned(job("between"), "jobset.x-k8s.io/v1alpha2", "JobSet", top)
        del between["metadata"]["labels"]
        uid = stage.make(JOBS, between)["metadata"]["uid"]
        stage.make(JOBS, owned(job("bottom"), "batch/v1", "Job", uid))
        async with alongside(session(stage).run()):
            await stage.hear(Heartbeat)
            assert (await queued(stage))["bottom"] == ""
            stage.change(f"{SETS}/top", {"metadata": {"labels": {QUEUE: None}}})
            await stage.hear(
                JobObserved,
                lambda observation: observation.name == "bottom" and observation.queue != "",
            )
        assert await queued(stage) == {"top": "", "between": "", "bottom": "main"}

    run_virtually(run())


def test_the_job_of_a_cronjob_is_queued_by_its_own_label() -> None:
    async def run() -> None:
        stage = Stage()
        stage.make(JOBS, owned(job("nightly-1"), "batch/v1", "CronJob", "u-cron"))
        async with alongside(session(stage).run()):
            await stage.hear(Heartbeat)
        assert await queued(stage) == {"nightly-1": "main"}

    run_virtually(run())


def test_a_kind_whose_crd_comes_later_is_watched_as_soon_as_it_is_there() -> None:
    async def run() -> None:
        stage = Stage()
        async with alongside(session(stage).run()):
            beat = await stage.hear(Heartbeat)
            assert "jobsets.jobset.x-k8s.io" not in beat.resources
            stage.make(CRDS, foreign_crd("jobset"))
            stage.make(SETS, jobset("first"))
            seen = await stage.hear(JobObserved, lambda observation: observation.name == "first")
            assert [podset.name for podset in seen.podsets] == ["leader", "worker"]
            await stage.hear(
                Heartbeat, lambda observation: "jobsets.jobset.x-k8s.io" in observation.resources
            )
            await asyncio.sleep(1)

    run_virtually(run())
