"""The three services as processes of the world: the real wiring, over ports that may fail."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from random import Random

from prometheus_client import CollectorRegistry

from actuator.calls import Calls
from actuator.copies.copier import Copier
from actuator.copies.copy_statuses import CopyStatuses
from actuator.events import FanOut, Subscriber, member_filter, unfiltered
from actuator.metrics import Metrics as ActuatorMetrics
from actuator.ordering.apply import Applier
from actuator.ordering.consume import Consumer
from actuator.ordering.consume import Session as ActuatorSession
from actuator.ordering.reports import Reporter
from actuator.project import Projector
from actuator.provisioning.provisioner import Provisioner
from actuator.ungating.elastic import ElasticPods
from actuator.ungating.pod_ungater import PodUngater
from actuator.ungating.topology import TopologyPods
from actuator.workqueue import Rate
from ingest.jobs.placed import PlacedJobs
from ingest.jobs.scope import Scope
from ingest.metrics import Metrics as IngestMetrics
from ingest.pods.grace_periods import GraceRule
from ingest.publish import Publisher
from ingest.resources import watched
from ingest.session import Session as IngestSession
from ingest.sync import SyncDependencies as IngestMeans
from ingest.watch import Pace as IngestPace
from scheduler.dependencies import Dependencies, Pace
from scheduler.health import Status
from scheduler.term import schedule
from tests.simulation.bus import CLUSTER, NAMES, Bus
from tests.simulation.faults.api_port import RELIST_S, LivingApi, Others
from tests.simulation.faults.life import Life
from tests.simulation.faults.ports import (
    LivingFeed,
    LivingInbox,
    LivingLease,
    LivingLedger,
    LivingOutbox,
    LivingOutlet,
)
from tests.simulation.judging.contracts.heard import Heard
from tests.simulation.judging.ledger_watch import WatchedLedger
from tidegate.bus.jetstream.connection import NatsBus
from tidegate.bus.jetstream.keys import CLUSTER as KEY
from tidegate.bus.streams import stream_names
from tidegate.jobs.registry import job_kind
from tidegate.kube.ports import KubernetesApi
from tidegate.model.policy import Policy
from tidegate.service.bus_ownership import refuse_other_cluster
from tidegate.service.holder import LeaseHolder

Body = Callable[[Life, str], Awaitable[None]]


def scheduler(  # noqa: PLR0913, PLR0917 - what differs by world
    bus: Bus,
    ledger: Callable[[], WatchedLedger],
    new_ledger_id: Callable[[], str],
    policy: Policy,
    members: Sequence[str] = (),
    partition: int = 0,
) -> tuple[Body, dict[str, Status]]:
    """Return what a scheduler runs, and where each tells of itself."""
    statuses = dict[str, Status]()

    async def body(life: Life, session: str) -> None:
        nats = bus.connect(_random(life), life, partition=partition)
        await nats.ensure_streams(bus.streams, members)
        status = statuses[life.name] = Status(CollectorRegistry())
        deps = Dependencies(
            observation_reader=LivingInbox(
                nats.observation_reader(), life, lambda: bus.server.streams.get(NAMES.observations)
            ),
            event_publisher=LivingOutbox(nats.event_publisher(), life),
            ledger=LivingLedger(ledger(), life),
            run_sync=life.run_sync,
            status=status,
            cluster=CLUSTER,
            holder=LeaseHolder(session),
            new_ledger_id=new_ledger_id,
            policy=policy,
            pace=Pace(messages_max=100, snapshot_entries=60),
            snapshots=ledger().snapshots,
            partition=partition,
            register=nats.register(),
            publish_handover=nats.publish,
            members={member: _inbox(bus, nats, life, member) for member in members},
        )
        await schedule(deps, asyncio.Event(), _random(life))

    return body, statuses


def _inbox(bus: Bus, nats: NatsBus, life: Life, member: str) -> LivingInbox:
    """Return the scheduler's side of a member cluster's observations."""
    stream = stream_names(member).observations
    return LivingInbox(
        nats.observation_reader(member), life, lambda: bus.server.streams.get(stream), Heard()
    )


def ingest(  # noqa: PLR0913 - what differs by world
    bus: Bus,
    api: KubernetesApi,
    kinds: Callable[[], tuple[str, ...]],
    *,
    elastic: bool = False,
    others: Others | None = None,
    relist_s: float = RELIST_S,
    cluster: str = CLUSTER,
    cluster_uid: str = "",
    places: bool = False,
) -> Body:
    """Return what an ingest runs; it claims the bus for its cluster first, or is refused."""
    scope, cluster_uid = Scope(elastic=elastic), cluster_uid or f"uid of {cluster}"

    async def body(life: Life, session: str) -> None:
        nats = bus.connect(_random(life), life, cluster)
        await _claim(nats, cluster_uid)
        outlet, metrics = (
            LivingOutlet(nats.observation_publisher(), life, bus.post, bus.lose),
            IngestMetrics(CollectorRegistry()),
        )
        placed = PlacedJobs(nats.bodies(), _random(life)) if places else None
        publisher = Publisher(
            outlet,
            cluster=cluster,
            session=session,
            random=_random(life),
            metrics=metrics,
            cluster_uid=cluster_uid,
            placed=placed,
        )
        pace = IngestPace(page_max=4, watch_s=30.0, relist_s=relist_s)
        deps = IngestMeans(LivingApi(api, life, others), publisher, pace, _random(life), metrics)
        await IngestSession(
            watched([*map(job_kind, kinds())], scope, placed=placed, grace=GraceRule(bus.now_us)),
            deps,
            outlet,
        ).run()

    return body


def actuator(  # noqa: PLR0913 - what differs by world
    bus: Bus,
    api: KubernetesApi,
    *,
    provisions: bool = False,
    elastic: bool = False,
    topologies: bool = False,
    others: Others | None = None,
    cluster: str = CLUSTER,
    cluster_uid: str = "",
    places: bool = False,
    partition: int = 0,
) -> Body:
    """Return what an actuator runs; one of another cluster follows the hub, whose member it is.

    ``cluster_uid``: it asks the register whether that may work.
    """
    as_read, hub = (unfiltered, "") if cluster == CLUSTER else (member_filter(cluster), CLUSTER)

    async def body(life: Life, session: str) -> None:
        nats = bus.connect(_random(life), life, cluster, partition)
        await _claim(nats, cluster_uid)
        metrics = ActuatorMetrics(CollectorRegistry())
        reporter = Reporter(
            LivingOutlet(nats.observation_publisher(), life, bus.post, bus.lose),
            cluster=cluster,
            session=session,
            random=_random(life),
            metrics=metrics,
        )
        calls = Calls(LivingApi(api, life, others), metrics)
        rate = Rate(writes_per_s=20.0)
        shows = Projector(calls, _random(life), metrics, rate, partition=partition)
        patch, keeps = shows.with_order_status, shows.keeps_pods
        applier = Applier(
            calls, reporter, _random(life), metrics, status_patcher=patch, keeps_pods=keeps
        )
        feed = LivingFeed(nats.event_feed(hub=hub), life)
        learners: list[Subscriber] = [shows]
        if provisions:
            learners.append(Provisioner(calls, _random(life), bus.now_us))
        if elastic:
            learners.append(PodUngater(calls, _random(life), ElasticPods()))
        if topologies:
            rule = TopologyPods(lambda: shows.read_model)
            learners.append(PodUngater(calls, _random(life), rule))
        if places:
            learners.append(CopyStatuses(calls, _random(life), metrics))
        consumer = Consumer(feed, applier, FanOut(*learners), _random(life), as_read)
        if places and hub:
            bodies, drawn = nats.bodies(), _random(life)
            consumer.copier = Copier(calls, bodies, reporter, drawn, metrics, hub)
        lease = LivingLease(nats.lease(f"actuator-{partition}", holder=session, ttl_s=10), life)
        await ActuatorSession(consumer, lease, 10.0, 4).run()

    return body


async def _claim(nats: NatsBus, cluster_uid: str) -> None:
    """Refuse a bus that is another cluster's, as each process does when it starts."""

    async def asked() -> str:
        return cluster_uid

    if cluster_uid:
        await refuse_other_cluster(asked, partial(nats.register().claim, KEY))


def _random(life: Life) -> Random:
    return Random(life.random.random())
