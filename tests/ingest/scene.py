"""A session of ingest on a stage, and what it told."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from prometheus_client import CollectorRegistry

from ingest.jobs.placed import PlacedJobs
from ingest.jobs.scope import Scope
from ingest.metrics import Metrics
from ingest.pods.grace_periods import GraceRule
from ingest.publish import Publisher
from ingest.resources import NO_DEVICES, watched
from ingest.session import Session
from ingest.sync import SyncDependencies
from ingest.watch import Pace
from tests.parts.interposed import Interposed
from tests.parts.stage import Stage
from tidegate.bus.ports import BodyWriter, ObservationPublisher
from tidegate.contracts.observations import JobObserved, ObjectGone, SyncCompleted
from tidegate.jobs.registry import JOB_KINDS


def session(  # noqa: PLR0913 - what a session stands on
    stage: Stage,
    name: str = "s1",
    *,
    scope: Scope | None = None,
    api: Interposed | None = None,
    device_classes: Mapping[str, str] = NO_DEVICES,
    port: ObservationPublisher | None = None,
    keeper: BodyWriter | None = None,
    fast_release: bool = False,
) -> Session:
    grace = GraceRule(stage.now_us, fast_release)
    random, metrics = Random(7), Metrics(CollectorRegistry())
    port = port or stage.bus.observation_publisher()
    placed = PlacedJobs(keeper or stage.bus.bodies(), random)
    publisher = Publisher(
        port, cluster="local", session=name, random=random, metrics=metrics, placed=placed
    )
    deps = SyncDependencies(api or stage.api, publisher, Pace(), random, metrics)
    kinds = list(JOB_KINDS.values())
    rows = watched(kinds, scope or Scope(), device_classes, placed, grace)
    return Session(rows, deps, port)


async def rounds(stage: Stage, resource: str) -> list[SyncCompleted]:
    observations = await stage.heard()
    return [
        observation
        for observation in observations
        if isinstance(observation, SyncCompleted) and observation.resource == resource
    ]


async def jobs(stage: Stage) -> list[JobObserved]:
    return [
        observation for observation in await stage.heard() if isinstance(observation, JobObserved)
    ]


async def gone(stage: Stage) -> list[str]:
    return [
        observation.name
        for observation in await stage.heard()
        if isinstance(observation, ObjectGone)
    ]
