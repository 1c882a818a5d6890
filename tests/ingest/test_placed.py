"""Jobs that run as copies: at home a body is stored before its digest is told; a copy is no job."""

from __future__ import annotations

import asyncio
from random import Random

import msgspec
import pytest

from ingest.jobs.bodies import REST_S
from ingest.jobs.placed import PlacedJobs
from tests.ingest.scene import jobs, session
from tests.parts.stage import JOBS, Object, Stage, alongside, job
from tests.parts.virtual import run_virtually
from tidegate.bus.ports import BodyWriter
from tidegate.contracts.observations import Heartbeat, JobObserved, ObjectRefused
from tidegate.contracts.subjects import BODY_BYTES_MAX
from tidegate.errors import BusUnreachableError, UndecodableError
from tidegate.jobs.placed.body import body_of, digest_of
from tidegate.jobs.registry import JOB_KINDS
from tidegate.kinds import names
from tidegate.kinds.meta import ObjectMeta

JOB = JOB_KINDS["batch/job"]
ORIGIN = {names.ORIGIN: "uid-1@east", names.ORIGIN_QUEUE: "main"}


def placed(name: str = "train", **spec: object) -> Object:
    """Return a Job that runs as a copy in another cluster."""
    return job(name, managedBy=names.PLACED, **spec)


class Keeper:
    """Notes what was reported before each body was stored; stores none for so many calls."""

    def __init__(self, stage: Stage, fails: int = 0) -> None:
        self._stage, self._fails = stage, fails
        self.kept, self.calls = list[tuple[str, list[str]]](), 0

    async def put(self, digest: str, body: bytes) -> None:
        self.calls += 1
        if self.calls <= self._fails:
            raise BusUnreachableError("There is no such stream.")
        assert digest == digest_of(body)
        self.kept.append((digest, [observation.body for observation in await jobs(self._stage)]))

    async def delete(self, digest: str) -> None:
        """Take no notice."""


def test_a_body_is_stored_once_and_before_its_digest_is_reported() -> None:
    async def run() -> None:
        stage = Stage()
        keeper = Keeper(stage)
        made = stage.make(JOBS, placed())
        digest = digest_of(body_of(JOB, made))
        async with alongside(session(stage, keeper=keeper).run()):
            await stage.hear(JobObserved, lambda observation: observation.body == digest)
            stage.change(f"{JOBS}/train/status", {"status": {"active": 1}})
            await stage.hear(JobObserved, lambda observation: observation.state.active == 1)
            stage.change(f"{JOBS}/train", {"metadata": {"labels": {"team": "a"}}})
            await stage.hear(JobObserved, lambda observation: observation.body not in ("", digest))
        assert len(keeper.kept) == 2
        assert not any(kept in before for kept, before in keeper.kept)
        assert all(
            observation.queue and observation.body and observation.podsets
            for observation in await jobs(stage)
        )

    run_virtually(run())


def test_another_job_has_no_body() -> None:
    async def run() -> None:
        stage = Stage()
        keeper = Keeper(stage)
        stage.make(JOBS, job())
        notes = {names.DECISION: "L1/7", "a": names.PLACED}  # its bytes say so, and not the job
        stage.make(
            JOBS, job("noted") | {"metadata": job("noted")["metadata"] | {"annotations": notes}}
        )
        async with alongside(session(stage, keeper=keeper).run()):
            await stage.hear(Heartbeat)
        assert {observation.body for observation in await jobs(stage)} == {""}
        assert keeper.kept == []

    run_virtually(run())


def test_a_body_is_stored_again_by_each_list_and_after_a_resync() -> None:
    async def run() -> None:
        stage = Stage()
        keeper = Keeper(stage)
        stage.make(JOBS, placed())
        async with alongside(session(stage, keeper=keeper).run()):
            await stage.hear(JobObserved)
            await stage.bus.observation_reader().request_resync("lost")
            await asyncio.sleep(10)
            assert len(keeper.kept) == 2
            await asyncio.sleep(700)
            assert len(keeper.kept) == 3

    run_virtually(run())


def test_where_bodies_cannot_be_stored_no_watch_is_held_up() -> None:
    async def run() -> None:
        stage = Stage()
        keeper = Keeper(stage, fails=10**6)
        for number in range(50):
            stage.make(JOBS, placed(f"j{number}"))
        async with alongside(session(stage, keeper=keeper).run()):
            async with asyncio.timeout(REST_S / 2):
                await stage.hear(Heartbeat)
            assert (
                len({observation.name for observation in await jobs(stage) if observation.body})
                == 50
            )
        assert keeper.calls <= 3 * 50

    run_virtually(run())


@pytest.mark.parametrize("fails", [1, 2])
def test_a_body_is_tried_again(fails: int) -> None:
    async def run() -> None:
        stage = Stage()
        keeper = Keeper(stage, fails)
        stage.make(JOBS, placed())
        async with alongside(session(stage, keeper=keeper).run()):
            await stage.hear(JobObserved)
        assert [before for _, before in keeper.kept] == [[]]

    run_virtually(run())


def test_a_job_that_is_too_large_is_refused() -> None:
    async def run() -> None:
        stage = Stage()
        annotations = {"a": "x" * BODY_BYTES_MAX}
        large = placed("large")
        stage.make(JOBS, large | {"metadata": large["metadata"] | {"annotations": annotations}})
        async with alongside(session(stage).run()):
            refusal = await stage.hear(ObjectRefused)
        assert f"at most {BODY_BYTES_MAX} bytes" in refusal.error
        assert refusal.job is not None
        assert refusal.job.stray == "Unreadable"

    run_virtually(run())


def test_a_kind_that_runs_in_no_other_cluster_is_refused() -> None:
    async def run() -> None:
        placed_jobs, kind = (
            PlacedJobs(Keeper(Stage()), Random(0)),
            JOB_KINDS["kubeflow.org/pytorchjob"],
        )
        obj = {"spec": {"runPolicy": {"managedBy": names.PLACED}}}
        placed_jobs.record_bytes(kind, ObjectMeta(uid="u"), msgspec.json.encode(obj))
        with pytest.raises(UndecodableError, match="pytorchjob cannot run in another cluster"):
            placed_jobs.require_body("u")

    run_virtually(run())


def test_a_copy_is_observed_with_its_origin_and_as_no_job_of_a_queue() -> None:
    async def run() -> None:
        stage = Stage()
        keeper: BodyWriter = Keeper(stage)
        copy = job()
        copy["metadata"] |= {"annotations": {**ORIGIN, names.DECISION: "L1/7"}, "labels": {}}
        stage.make(JOBS, copy)
        status = {"active": 0, "uncountedTerminatedPods": {"succeeded": ["u"]}, "succeeded": 1}
        done = {"type": "Complete", "status": "True", "message": "Done."}
        async with alongside(session(stage, keeper=keeper).run()):
            first = await stage.hear(JobObserved)
            stage.change(f"{JOBS}/train/status", {"status": {**status, "conditions": [done]}})
            last = await stage.hear(JobObserved, lambda observation: observation.finished != "")
        assert first.copy.origin == "uid-1@east"
        assert (first.queue, first.body, first.stray) == ("main", "", None)
        assert [podset.count for podset in first.podsets] == [1]
        assert (first.state.suspended, first.state.decision) == (True, "L1/7")
        assert (last.finished, last.message) == ("Succeeded", "Done.")
        shown = msgspec.json.decode(last.copy.status)
        assert shown == {"active": 0, "succeeded": 1, "conditions": [done]}

    run_virtually(run())


@pytest.mark.parametrize("queue", ["q" * 200_000, "a/b", "main\0", "\U0001f30a"])
def test_what_names_no_queue_of_a_copy_is_not_reported(queue: str) -> None:
    async def run() -> None:
        stage = Stage()
        noted = job("copy")
        noted["metadata"] |= {"annotations": ORIGIN | {names.ORIGIN_QUEUE: queue}}
        stage.make(JOBS, noted)
        async with alongside(session(stage, keeper=Keeper(stage)).run()):
            await stage.hear(Heartbeat)
        [observation] = await jobs(stage)
        assert (observation.queue, observation.copy is not None) == ("", True)

    run_virtually(run())
