"""Bodies of placed jobs go from the bus with their jobs; one namespace has a part of the room."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from random import Random
from unittest.mock import patch

import msgspec
import pytest

from ingest.jobs.bodies import DROPS_MAX, OVERHEAD_BYTES, REST_S, Bodies
from ingest.jobs.placed import PlacedJobs
from tests.ingest.scene import jobs, session
from tests.ingest.test_placed import placed
from tests.parts.foreign import jobset
from tests.parts.stage import JOBS, Stage, alongside
from tests.parts.virtual import run_virtually
from tidegate.contracts.observations import Heartbeat, JobObserved, ObjectRefused
from tidegate.errors import BusUnreachableError, OutOfSpaceError, UndecodableError
from tidegate.jobs.placed.body import digest_of
from tidegate.jobs.registry import JOB_KINDS
from tidegate.kinds import names
from tidegate.kinds.meta import ObjectMeta

DONE = {"type": "Complete", "status": "True", "message": "Done."}
RELIST_S = 700


class Keeper:
    """Has what a stream has; does not answer while it is away."""

    def __init__(self) -> None:
        self.stored, self.dropped = dict[str, bytes](), list[str]()
        self.away = False

    async def put(self, digest: str, body: bytes) -> None:
        self._reach()
        self.stored[digest] = body

    async def delete(self, digest: str) -> None:
        self._reach()
        self.dropped.append(digest)
        self.stored.pop(digest, None)

    def _reach(self) -> None:
        if self.away:
            raise BusUnreachableError("The bus does not answer.")


def take(bodies: Bodies, uid: str, body: bytes, *, runs: bool = False, space: str = "team") -> str:
    return bodies.queue_body(uid, space, body, listed=False, runs=runs)


async def until_stored(keeper: Keeper, count: int) -> None:
    async with asyncio.timeout(60):
        while len(keeper.stored) != count:
            await asyncio.sleep(0.1)


@pytest.mark.parametrize("end", ["it ends", "it is deleted"])
def test_a_body_goes_with_its_job_and_no_list_brings_it_back(end: str) -> None:
    async def run() -> None:
        stage, keeper = Stage(), Keeper()
        stage.make(JOBS, placed())
        stage.make(JOBS, placed("other"))
        async with alongside(session(stage, keeper=keeper).run()):
            await until_stored(keeper, 2)
            if end == "it ends":
                stage.change(f"{JOBS}/train/status", {"status": {"conditions": [DONE]}})
            else:
                stage.remove(f"{JOBS}/train")
            await until_stored(keeper, 1)
            await asyncio.sleep(RELIST_S)
        assert len(keeper.stored) == 1
        observations = [job for job in await jobs(stage) if job.name == "train"]
        assert len({observation.body for observation in observations}) == 1, (
            "its end is no other body"
        )

    run_virtually(run())


def test_a_body_that_changed_takes_the_place_of_the_one_before() -> None:
    async def run() -> None:
        stage, keeper = Stage(), Keeper()
        stage.make(JOBS, placed())
        async with alongside(session(stage, keeper=keeper).run()):
            first = await stage.hear(JobObserved, lambda observation: observation.body != "")
            stage.change(f"{JOBS}/train", {"metadata": {"labels": {"team": "a"}}})
            await stage.hear(
                JobObserved, lambda observation: observation.body not in ("", first.body)
            )
            await until_stored(keeper, 1)
        assert keeper.dropped == [first.body]

    run_virtually(run())


def test_a_job_made_anew_keeps_the_body_that_it_shares_with_the_one_before() -> None:
    async def run() -> None:
        keeper = Keeper()
        bodies = Bodies(keeper, Random(0))
        digest = take(bodies, "old", b"same")
        await bodies.store(digest)
        bodies.drop_body_of("old")
        assert take(bodies, "new", b"same") == digest
        await bodies.store(digest)
        await bodies.delete_unused()
        bodies.drop_body_of("old")
        await bodies.delete_unused()
        assert (list(keeper.stored), keeper.dropped) == ([digest], [])

    run_virtually(run())


@pytest.fixture
def _small() -> Iterator[None]:
    with patch("ingest.jobs.bodies.NAMESPACE_BODIES_BYTES_MAX", 2 * (OVERHEAD_BYTES + 100)):
        yield


@pytest.mark.usefixtures("_small")
def test_one_namespace_has_a_part_of_the_room() -> None:
    bodies = Bodies(Keeper(), Random(0))
    take(bodies, "a", b"a" * 100)
    take(bodies, "b", b"b" * 100)
    take(bodies, "a", b"c" * 100)  # instead of what it had
    with pytest.raises(OutOfSpaceError, match="namespace team may take 712 bytes"):
        take(bodies, "d", b"d")
    take(bodies, "d", b"d", space="other")
    take(bodies, "e", b"e" * 100, runs=True)
    bodies.drop_body_of("a")
    bodies.drop_body_of("e")
    take(bodies, "f", b"f" * 100)


def test_a_job_beyond_the_room_is_refused_until_another_ended() -> None:
    async def run() -> None:
        stage, keeper = Stage(), Keeper()
        stage.make(JOBS, placed("first"))
        async with alongside(session(stage, keeper=keeper).run()):
            first = await stage.hear(JobObserved, lambda observation: observation.body != "")
            [size] = [len(body) for body in keeper.stored.values()]
            with patch("ingest.jobs.bodies.NAMESPACE_BODIES_BYTES_MAX", size + 300):
                stage.make(JOBS, placed("next"))
                refusal = await stage.hear(ObjectRefused)
                assert "the job waits for the end of others" in refusal.error
                stage.remove(f"{JOBS}/first")
                taken = await stage.hear(
                    JobObserved, lambda observation: observation.body not in ("", first.body)
                )
        assert taken.name == "next"
        assert taken.version == refusal.version, "nothing but a list tells it"
        assert list(keeper.stored) == [taken.body]

    run_virtually(run())


def test_while_the_bus_is_away_little_is_dropped_and_nothing_waits() -> None:
    async def run() -> None:
        keeper = Keeper()
        bodies = Bodies(keeper, Random(0))
        digests = [digest_of(b"%d" % number) for number in range(DROPS_MAX + 2)]
        for number, digest in enumerate(digests):
            assert take(bodies, digest, b"%d" % number) == digest
            bodies.drop_body_of(digest)
        await bodies.delete_unused()
        assert keeper.dropped == digests[:DROPS_MAX]
        keeper.away = True
        await bodies.delete_unused()
        keeper.away = False
        await bodies.delete_unused()
        assert keeper.dropped == digests[:DROPS_MAX]
        await asyncio.sleep(REST_S)
        take(bodies, "last", b"last")
        bodies.drop_body_of("last")
        await bodies.delete_unused()
        assert keeper.dropped == [*digests[:DROPS_MAX], digest_of(b"last")]

    run_virtually(run())


def test_a_drop_that_is_refused_keeps_no_body_from_being_stored() -> None:
    async def run() -> None:
        keeper = Keeper()
        bodies = Bodies(keeper, Random(0))
        take(bodies, "gone", b"gone")
        bodies.drop_body_of("gone")
        keeper.away = True
        await bodies.delete_unused()
        keeper.away = False
        digest = take(bodies, "next", b"next")
        await bodies.store(digest)
        assert list(keeper.stored) == [digest]

    run_virtually(run())


def test_no_heartbeat_waits_for_a_body_to_be_dropped() -> None:
    async def run() -> None:
        stage, keeper = Stage(), Keeper()
        stage.make(JOBS, placed())
        asked = asyncio.Event()

        async def hang(_digest: str) -> None:
            asked.set()
            await asyncio.Event().wait()

        async with alongside(session(stage, keeper=keeper).run()):
            await until_stored(keeper, 1)
            with patch.object(keeper, "delete", hang):
                stage.remove(f"{JOBS}/train")
                await asked.wait()
                last = [
                    observation.beat
                    for observation in await stage.heard()
                    if isinstance(observation, Heartbeat)
                ][-1]
                await stage.hear(Heartbeat, lambda observation: observation.beat > last + 3)

    run_virtually(run())


RUNNING = {
    "batch/job": {"startTime": "2026-01-01T00:00:00Z", "active": 1},
    "jobset.x-k8s.io/jobset": {"replicatedJobsStatus": [{"name": "worker", "active": 1}]},
}


@pytest.mark.parametrize("name", RUNNING)
def test_a_job_that_runs_keeps_its_place_whatever_its_kind(name: str) -> None:
    async def run() -> None:
        jobs_placed, kind = PlacedJobs(Keeper(), Random(0)), JOB_KINDS[name]
        made = placed() if name == "batch/job" else jobset("train")
        made["spec"] |= {"managedBy": names.PLACED, "suspend": False}
        meta = ObjectMeta(uid="u", namespace="team", name="train")
        with patch("ingest.jobs.bodies.NAMESPACE_BODIES_BYTES_MAX", 1):
            jobs_placed.record_bytes(kind, meta, msgspec.json.encode(made))
            with pytest.raises(UndecodableError, match="waits for the end of others"):
                jobs_placed.require_body("u")
            made["status"] = RUNNING[name]
            jobs_placed.record_bytes(kind, meta, msgspec.json.encode(made))
            jobs_placed.require_body("u")

    run_virtually(run())
