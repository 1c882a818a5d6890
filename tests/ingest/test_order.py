"""What two events say of one object is told in the order of the events, however slow the bus is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from random import Random
from unittest.mock import patch

from msgspec.structs import replace
from prometheus_client import CollectorRegistry

from ingest.metrics import Metrics
from ingest.publish import Publisher
from tests.ingest.scene import jobs, session
from tests.ingest.test_prebuilt import WORKLOADS, last, made, naming
from tests.parts.stage import JOBS, Stage, alongside
from tests.parts.virtual import run_virtually
from tidegate.bus.ports import ObservationPublisher
from tidegate.contracts.observations import JobObserved, ObjectGone, SyncCompleted, SyncStarted
from tidegate.errors import BusUnreachableError


class Outlet:
    """An outlet on which each message takes a second; some cannot be stored at first."""

    def __init__(self, real: ObservationPublisher, failing: int = 0) -> None:
        self.real, self.failing = real, failing
        self._turn = asyncio.Lock()

    async def publish(self, subject: str, payload: bytes, message_id: str) -> None:
        async with self._turn:
            await asyncio.sleep(1)
            if self.failing:
                self.failing -= 1
                raise BusUnreachableError("away")
            await self.real.publish(subject, payload, message_id)

    def resync_requests(self) -> AsyncIterator[str]:
        return self.real.resync_requests()


def test_a_workload_that_is_made_again_at_once_is_its_jobs() -> None:
    """What its deletion meant for the job is not told behind what its making meant."""

    async def run() -> None:
        stage = Stage()
        stage.make(JOBS, naming())
        stage.make(WORKLOADS, made())
        async with alongside(session(stage, port=Outlet(stage.bus.observation_publisher())).run()):
            await stage.hear(
                JobObserved, lambda observation: observation.workload == "default/made"
            )
            stage.remove(f"{WORKLOADS}/made")
            stage.make(WORKLOADS, made())
            await asyncio.sleep(60)
            assert (await last(stage, "train")).gates == ()

    run_virtually(run())


def observed(queue: str) -> JobObserved:
    return JobObserved(
        namespace="default",
        name="train",
        uid="u1",
        version=7,
        session="",
        kind="batch/job",
        workload="default/job-train",
        queue=queue,
    )


def teller(port: ObservationPublisher) -> Publisher:
    metrics = Metrics(CollectorRegistry())
    return Publisher(port, cluster="local", session="s", random=Random(7), metrics=metrics)


def test_what_was_reduced_before_is_not_reported_behind_what_is_newer() -> None:
    async def run() -> None:
        stage = Stage()
        publisher = teller(stage.bus.observation_publisher())
        older, newer = publisher.next_moment(), publisher.next_moment()
        await publisher.publish_object("jobs.batch", observed("new"), drawn=newer)
        await publisher.publish_object("jobs.batch", observed("old"), drawn=older)
        publisher.forget_published()  # of what is newer it stays known
        await publisher.publish_object("jobs.batch", observed("old"), drawn=older)
        await publisher.publish_object("jobs.batch", observed("new"))
        assert [job.queue for job in await jobs(stage)] == ["new", "new"]

    run_virtually(run())


def test_a_list_repeats_what_another_object_s_change_published_before_it() -> None:
    """The scheduler takes an unknown object older than a list for removed: only lists prove it."""

    async def run() -> None:
        stage = Stage()
        publisher = teller(stage.bus.observation_publisher())
        await list_once(publisher, 1)
        publisher.forget_published()
        await publisher.publish_object("jobs.batch", observed("main"), indirect=True)
        await list_once(publisher, 2)
        await list_once(publisher, 3)
        assert [job.round for job in await jobs(stage)] == [1, 0, 2]

    run_virtually(run())


async def list_once(publisher: Publisher, number: int, *, whole: bool = True) -> None:
    """Tell of one job in a list, which breaks off behind it unless it is ``whole``."""
    resource, session = "jobs.batch", "s"
    started = SyncStarted(resource=resource, session=session, round=number)
    await publisher.publish_message(resource, started)
    await publisher.publish_object(resource, observed("main"), round=number)
    if whole:
        completed = SyncCompleted(
            resource=resource, session=session, round=number, list_version=9, present=("u1",)
        )
        await publisher.publish_message(resource, completed)


def test_a_list_repeats_what_one_that_broke_off_reported() -> None:
    """What the scheduler passed over in a list counts once that list is complete."""

    async def run() -> None:
        stage = Stage()
        publisher = teller(stage.bus.observation_publisher())
        await list_once(publisher, 1, whole=False)
        await list_once(publisher, 2, whole=False)
        await publisher.publish_object("jobs.batch", observed("other"), indirect=True)
        await publisher.publish_object("jobs.batch", observed("main"), indirect=True)
        await list_once(publisher, 3)
        await list_once(publisher, 4)
        assert [job.round for job in await jobs(stage)] == [1, 2, 0, 0, 3]

    run_virtually(run())


def test_a_list_repeats_what_another_object_s_change_published_while_it_is_read() -> None:
    """Its versions may be those of a backup, which lists alone prove."""

    async def run() -> None:
        stage = Stage()
        publisher = teller(stage.bus.observation_publisher())
        await list_once(publisher, 1)
        begun = SyncStarted(resource="jobs.batch", session="s", round=2)
        await publisher.publish_message("jobs.batch", begun)
        await publisher.publish_object("jobs.batch", observed("other"), indirect=True)
        await publisher.publish_object("jobs.batch", observed("other"), round=2)
        assert [job.round for job in await jobs(stage)] == [1, 0, 2]

    run_virtually(run())


def test_what_the_bus_did_not_take_is_not_sent_again_once_there_is_newer() -> None:
    async def run() -> None:
        stage = Stage()
        publisher = teller(Outlet(stage.bus.observation_publisher(), failing=1))
        tellings = (
            publisher.publish_object("jobs.batch", observed(queue)) for queue in ("old", "new")
        )
        await asyncio.gather(*tellings)
        assert [job.queue for job in await jobs(stage)] == ["new"]

    run_virtually(run())


def gone() -> ObjectGone:
    return ObjectGone(
        namespace="default", name="train", uid="u1", version=8, session="", resource="jobs.batch"
    )


def test_what_was_reduced_before_an_object_was_gone_is_not_reported_behind_that() -> None:
    async def run() -> None:
        stage = Stage()
        publisher = teller(stage.bus.observation_publisher())
        older, newer = publisher.next_moment(), publisher.next_moment()
        await publisher.publish_object("jobs.batch", gone(), drawn=newer)
        await publisher.publish_object("jobs.batch", observed("old"), drawn=older)
        await publisher.publish_object("jobs.batch", observed("again"))  # a sum of the same name
        assert [job.queue for job in await jobs(stage)] == ["again"]

    run_virtually(run())


def test_it_remembers_no_more_objects_that_are_gone_than_a_few() -> None:
    async def run() -> None:
        publisher = teller(Stage().bus.observation_publisher())
        with patch("ingest.publish.GONE_MAX", 2):
            for number in range(5):
                await publisher.publish_object("jobs.batch", replace(gone(), uid=f"u{number}"))
        assert [uid for _, uid in publisher.gone] == ["u3", "u4"]

    run_virtually(run())
