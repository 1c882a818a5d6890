"""An unexpected error in the middle of one object, event or order: the others go on.

A fault is put where the code calls what is one object's: a kind's own functions, the core, a
projection's writer. Each is counted, and told where users who look at the object find it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from random import Random
from typing import Any

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from actuator.ordering.orders import OutstandingOrders
from actuator.writing.write import Writer
from ingest.jobs.job_index import JobIndex
from ingest.metrics import Metrics
from ingest.pods.grace_periods import GracePeriods
from ingest.publish import Publisher
from ingest.resources import watched
from ingest.session import Session
from ingest.sync import SyncDependencies
from ingest.watch import Pace
from scheduler.term import schedule
from tests.actuator.scene import Scene, ref, start
from tests.actuator.story import QUEUES, Story
from tests.ingest.scene import gone, jobs, session
from tests.parts.stage import JOBS, KUEUE, Stage, alongside, eventually, job
from tests.parts.virtual import run_virtually
from tests.scheduler import stage as schedulers
from tests.scheduler.test_poison import defined, refused
from tidegate.contracts.entry import Message, Position
from tidegate.contracts.observations import (
    ActuationReported,
    Heartbeat,
    JobObserved,
    ObjectGone,
    ObjectRefused,
    SyncCompleted,
)
from tidegate.core.accept import accept
from tidegate.jobs.batch import batch_job
from tidegate.jobs.registry import JOB_KINDS

BATCH_JOB = batch_job.KIND.name
BUG = "an error that no code expects"


class UnthoughtOfError(Exception):
    """No error of ours, nor of a decoder."""


def raising_for(name: str, real: Callable[..., Any], named: Callable[..., str]) -> Any:  # noqa: ANN401
    """Return a function that raises where ``named`` says that name of its arguments."""

    def either(*arguments: Any, **more: Any) -> Any:  # noqa: ANN401
        if named(*arguments) == name:
            raise UnthoughtOfError(BUG)
        return real(*arguments, **more)

    return either


def break_kind(monkeypatch: pytest.MonkeyPatch, **functions: object) -> None:
    kind = msgspec.structs.replace(JOB_KINDS[BATCH_JOB], **functions)
    monkeypatch.setitem(JOB_KINDS, BATCH_JOB, kind)


def observing(stage: Stage, registry: CollectorRegistry) -> Session:
    random, metrics, port = Random(7), Metrics(registry), stage.bus.observation_publisher()
    publisher = Publisher(port, cluster="local", session="s", random=random, metrics=metrics)
    deps = SyncDependencies(stage.api, publisher, Pace(), random, metrics)
    return Session(watched(list(JOB_KINDS.values())), deps, port)


def counted(registry: CollectorRegistry, outcome: str) -> float:
    labels = {"resource": "jobs.batch", "outcome": outcome}
    return registry.get_sample_value("tidegate_ingest_observations_total", labels) or 0


def _name_of_meta(*arguments: Any) -> str:  # noqa: ANN401 - those of any method
    return str(arguments[0].metadata.name)


def _name_of_third(*arguments: Any) -> str:  # noqa: ANN401 - those of any method
    return str(arguments[2].name)


def _name_of_object(*arguments: Any) -> str:  # noqa: ANN401 - those of any method
    return str(arguments[-1]["metadata"]["name"])


def _name_of_job(*arguments: Any) -> str:  # noqa: ANN401 - those of any method
    return str(arguments[-1].job.name)


def _last(*arguments: Any) -> str:  # noqa: ANN401 - those of any method
    return str(arguments[-1])


def odd_jobs_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    break_kind(monkeypatch, observe=raising_for("odd", JOB_KINDS[BATCH_JOB].observe, _name_of_meta))


@pytest.mark.parametrize("later", [False, True], ids=["listed", "watched"])
@pytest.mark.parametrize("described", [True, False])
def test_ingest_refuses_one_object_and_tells_the_others(
    monkeypatch: pytest.MonkeyPatch, *, later: bool, described: bool
) -> None:
    """Also where not even a description of what cannot be read can be made."""
    odd_jobs_fail(monkeypatch)
    if not described:
        broken = raising_for("odd", JobIndex.malformed_job, _name_of_third)
        monkeypatch.setattr(JobIndex, "malformed_job", broken)

    async def run() -> None:
        stage, registry = Stage(), CollectorRegistry()
        if not later:
            stage.make(JOBS, job("odd"))
        async with alongside(observing(stage, registry).run()):
            await stage.hear(Heartbeat)
            if later:
                stage.make(JOBS, job("odd"))
            observations = await stage.hear(ObjectRefused)
            stage.make(JOBS, job("other"))
            await stage.hear(JobObserved, lambda observation: observation.name == "other")
        assert (observations.name, observations.error) == ("odd", f"UnthoughtOfError: {BUG}")
        assert (observations.job is not None) == described
        assert counted(registry, "refused") == 1

    run_virtually(run())


def test_ingest_tells_that_an_object_is_gone_though_what_else_that_means_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def run() -> None:
        stage, registry = Stage(), CollectorRegistry()
        uid = stage.make(JOBS, job("odd"))["metadata"]["uid"]
        stage.make(JOBS, job("other"))
        broken = raising_for(uid, JobIndex.forget, _last)
        monkeypatch.setattr(JobIndex, "forget", broken)
        async with alongside(observing(stage, registry).run()):
            await stage.hear(Heartbeat)
            stage.remove(f"{JOBS}/odd")
            await stage.hear(ObjectGone)
            stage.remove(f"{JOBS}/other")
            await stage.hear(ObjectGone, lambda observation: observation.name == "other")
        assert await gone(stage) == ["odd", "other"]
        assert counted(registry, "failed") == 1

    run_virtually(run())


def test_ingest_lists_a_resource_again_whose_round_failed_and_watches_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def run() -> None:
        stage, fails = Stage(), [True, True]
        real = JobIndex.listed_jobs

        def twice(*arguments: Any) -> Any:  # noqa: ANN401
            if fails:
                fails.pop()
                raise UnthoughtOfError(BUG)
            return real(*arguments)

        monkeypatch.setattr(JobIndex, "listed_jobs", twice)
        stage.make(JOBS, job("train"))
        async with alongside(session(stage).run()):
            await stage.hear(Heartbeat)
        rows = [(observation.name, observation.round) for observation in await jobs(stage)]
        assert rows == [("train", 1), ("train", 2)], "what the list told that failed is told again"
        assert not fails

    run_virtually(run())


def test_ingest_lists_a_resource_again_whose_grace_periods_failed_and_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def run() -> None:
        stage, fails, real = Stage(), [True], GracePeriods.expired

        def once(periods: GracePeriods) -> Iterator[Any]:
            if fails:
                fails.pop()
                raise UnthoughtOfError(BUG)
            return real(periods)

        monkeypatch.setattr(GracePeriods, "expired", once)
        async with alongside(session(stage).run()) as running:
            again = await stage.hear(SyncCompleted, lambda seen: seen.round == 2)
            assert again.resource in {kind.resource for kind in JOB_KINDS.values()}
            assert not running.done()

    run_virtually(run())


def test_the_scheduler_refuses_one_observation_and_takes_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The observation is the first that a turn fails on; the ledger says which and why."""

    def broken(state: Any, at: Position, messages: Sequence[Message], refused: Any) -> Any:  # noqa: ANN401
        for message in messages:
            if b'"odd"' in message.payload and message.at not in refused:
                raise UnthoughtOfError(BUG)
        return accept(state, at, messages, refused)

    monkeypatch.setattr("scheduler.turn.accept", broken)

    async def story(stage: schedulers.Stage) -> None:
        deps, stopping = stage.deps(), asyncio.Event()
        leading = asyncio.ensure_future(schedule(deps, stopping, Random(1)))
        await schedulers.until(lambda: deps.status.role == "leading")
        odd, after = schedulers.queue("odd", 8), schedulers.queue("after", 9)
        await stage.say(*schedulers.first_round(), odd, after, schedulers.beat(2))
        await schedulers.until(lambda: "after" in defined(stage))
        stopping.set()
        await leading
        assert refused(stage) == [f"UnthoughtOfError: {BUG}"]
        assert defined(stage) == {"team-a", "after"}
        assert stage.all_is_published()

    schedulers.play(story)


def order_outcomes(registry: CollectorRegistry, outcome: str) -> float:
    labels = {"kind": "Start", "outcome": outcome}
    return registry.get_sample_value("tidegate_actuator_orders_total", labels) or 0


def test_the_actuator_reports_one_order_and_carries_out_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    break_kind(monkeypatch, start=raising_for("odd", JOB_KINDS[BATCH_JOB].start, _name_of_object))

    async def run() -> None:
        scene, registry = Scene(), CollectorRegistry()
        odd, other = scene.make(JOBS, job("odd")), scene.make(JOBS, job("other"))
        async with alongside(scene.actuator(registry=registry).run()):
            await scene.write(start(odd), start(other))
            observations = await scene.hear(ActuationReported)
            await eventually(lambda: not scene.job("other")["spec"]["suspend"])
        assert (observations.reason, observations.job) == ("invalid", ref(odd))
        assert observations.message == f"UnthoughtOfError: {BUG}"
        assert scene.job("odd")["spec"]["suspend"] is True
        assert (order_outcomes(registry, "invalid"), order_outcomes(registry, "done")) == (1, 1)

    run_virtually(run())


def test_the_actuator_passes_over_one_entry_and_learns_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        OutstandingOrders,
        "apply_event",
        raising_for("odd", OutstandingOrders.apply_event, _name_of_job),
    )

    async def run() -> None:
        scene, registry = Scene(), CollectorRegistry()
        odd, other = scene.make(JOBS, job("odd")), scene.make(JOBS, job("other"))
        async with alongside(scene.actuator(registry=registry).run()):
            await scene.write(start(odd), start(other))
            await eventually(lambda: not scene.job("other")["spec"]["suspend"])
        assert scene.job("odd")["spec"]["suspend"] is True
        assert registry.get_sample_value("tidegate_actuator_passed_over_total") == 1

    run_virtually(run())


def test_the_actuator_gives_up_one_object_and_shows_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def run() -> None:
        story, registry = Story(), CollectorRegistry()
        broken = partial(raising_for, named=_last)
        monkeypatch.setattr(Writer, "write_workload", broken(story.key, Writer.write_workload))
        async with alongside(story.actuator(projects=True, registry=registry).run()):
            await story.write(*QUEUES, story.submitted(), story.reserved(), story.admitted())
            await eventually(lambda: "flavorsUsage" in story.status(f"{KUEUE}/clusterqueues/cq"))
            await eventually(lambda: story.used() == "1500m")
        labels = {"kind": "Workload", "outcome": "given up"}
        assert story.shows() is None
        value = registry.get_sample_value("tidegate_actuator_projected_total", labels)
        assert value is not None
        assert value >= 1

    run_virtually(run())
