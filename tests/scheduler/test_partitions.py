"""Two schedulers over one OBSERVATIONS and one database, each with its partition's ledger."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import pytest
from msgspec.structs import replace
from prometheus_client import CollectorRegistry
from sqlalchemy import Engine

from scheduler.dependencies import Dependencies, Pace
from scheduler.health import Status
from scheduler.leader_state import LeaderState, open_leader_state
from scheduler.turn import run_first_turn, run_turn
from store.access.engine import open_engine
from store.ledger import SqlLedger
from store.snapshots import SqlSnapshots
from tests.bus.memory.all_ports import MemoryBus
from tests.bus.memory.events import MemoryEventPublisher
from tests.bus.memory.stream import MemoryStream
from tests.core.queues import of_cpu
from tests.core.telling import JOBS, beat, completed, job, started
from tests.parts.migrated import migrate
from tests.parts.virtual import run_virtually
from tests.scheduler.stage import in_place
from tidegate.contracts.chain import verify
from tidegate.contracts.codec import encode
from tidegate.contracts.entry import Entry
from tidegate.contracts.observations import ClusterQueueObserved, LocalQueueObserved, Observation
from tidegate.contracts.observed.jobs import Observed
from tidegate.contracts.subjects import observed_subject
from tidegate.model.policy import Policy
from tidegate.model.quota import LocalQueueSpec, Quota
from tidegate.service.holder import LeaseHolder

QUEUES, LOCAL_QUEUES = "clusterqueues.kueue.x-k8s.io", "localqueues.kueue.x-k8s.io"
LEASE_US = 15_000_000


@dataclass
class Site:
    """One bus and one database; each partition has an EVENTS of its own."""

    bus: MemoryBus
    engine: Engine
    published: int = 0

    def __post_init__(self) -> None:
        self.events = [MemoryStream(self.bus.now_us, 1_000, discard_new=False) for _ in range(2)]
        self.ledgers = [
            SqlLedger(self.engine, number, clock_us=self.bus.now_us) for number in range(2)
        ]

    async def leader(self, partition: int) -> LeaderState:
        """Begin a term of a partition."""
        ledger = self.ledgers[partition]
        deps = Dependencies(
            observation_reader=self.bus.observation_reader(),
            event_publisher=MemoryEventPublisher(self.events[partition], self.bus.fate),
            ledger=ledger,
            run_sync=in_place,
            status=Status(CollectorRegistry()),
            cluster="local",
            partition=partition,
            holder=LeaseHolder(f"scheduler-{partition}"),
            new_ledger_id=lambda: f"ledger-{partition}",
            policy=Policy(),
            pace=Pace(wait_s=0.1),
            snapshots=SqlSnapshots(self.engine, partition),
            publish_handover=self.tell,
        )
        term = ledger.begin_term(deps.holder.name, LEASE_US)
        assert term is not None
        leader = await open_leader_state(deps, term)
        await run_first_turn(leader)
        return leader

    async def tell(self, subject: str, payload: bytes, message_id: str) -> int:
        """Put what a partition tells another into OBSERVATIONS."""
        await self.bus.observation_publisher().publish(subject, payload, message_id)
        return 0

    async def say(self, resource: str, *observations: Observation) -> None:
        """Publish what ingest observes of one resource."""
        outlet = self.bus.observation_publisher()
        for observation in observations:
            self.published += 1
            name = observation.name if isinstance(observation, Observed) else ""
            subject = observed_subject("local", resource, "team", name)
            await outlet.publish(subject, encode(observation), f"test:{self.published}")

    def entries(self, partition: int) -> list[Entry]:
        return list(verify(self.ledgers[partition].read()))

    def resyncs(self) -> list[str]:
        return [kept.payload.decode() for kept in self.bus.resyncs.after(0)]


def queue(name: str, partition: int) -> ClusterQueueObserved:
    spec = of_cpu({"default": Quota(nominal=4_000)})
    return ClusterQueueObserved(
        name=name, uid=f"uid-{name}", version=1, session="a", spec=spec, partition=partition
    )


def lead(name: str, cluster_queue: str, version: int = 1) -> LocalQueueObserved:
    return LocalQueueObserved(
        namespace="team",
        name=name,
        uid=f"uid-{name}-{cluster_queue}",
        version=version,
        session="a",
        spec=LocalQueueSpec(cluster_queue=cluster_queue),
    )


async def listed(site: Site, number: int = 1) -> None:
    """Let ingest list two queues of partition 0 and of partition 1, and a job of each."""
    queues = queue("first", 0), queue("second", 1)
    locals_ = lead("zero", "first"), lead("one", "second")
    jobs = job("a", queue="zero"), job("b", queue="one")
    await site.say("probes", beat(number, QUEUES, LOCAL_QUEUES, JOBS))
    for resource, observations in ((QUEUES, queues), (LOCAL_QUEUES, locals_), (JOBS, jobs)):
        await site.say(resource, started(resource, number))
        await site.say(resource, *(replace(each, round=number) for each in observations))
        present = [each.uid for each in observations]
        await site.say(resource, completed(10, *present, resource=resource, number=number))


async def both(site: Site) -> list[LeaderState]:
    """Begin a term of each partition, and let both read what was listed."""
    leaders = [await site.leader(number) for number in range(2)]
    await listed(site)
    for leader in leaders:
        await run_turn(leader)
    return leaders


def play(story: Callable[[Site], Coroutine[Any, Any, None]]) -> None:
    async def run_story() -> None:
        await story(Site(MemoryBus(), engine))

    engine = open_engine("sqlite://")
    try:
        migrate(engine)
        run_virtually(run_story())
    finally:
        engine.dispose()


def submitted(entries: list[Entry]) -> list[str]:
    return [
        entry.subject.rpartition(".")[2] for entry in entries if entry.type == "WorkloadSubmitted"
    ]


def test_each_ledger_has_its_partitions_jobs_alone() -> None:
    async def story(site: Site) -> None:
        await both(site)
        entries = [site.entries(number) for number in range(2)]
        assert [submitted(each) for each in entries] == [["job-uid-a"], ["job-uid-b"]]
        assert {(e.partition, e.cluster) for each in entries for e in each} == {
            (0, "local"),
            (1, "local"),
        }
        assert {e.subject.split(".event.")[0] for e in entries[0]} == {"tidegate.local"}
        assert {e.subject.split(".event.")[0] for e in entries[1]} == {"tidegate.local.partition.1"}
        for number in range(2):
            published = [kept.payload.decode() for kept in site.events[number].after(0)]
            assert published == [entry.payload for entry in entries[number]]

    play(story)


@pytest.mark.parametrize("away", [False, True])
def test_what_a_led_partition_has_not_read_is_not_purged(*, away: bool) -> None:
    async def story(site: Site) -> None:
        first, second = [await site.leader(number) for number in range(2)]
        await listed(site)
        if away:
            site.ledgers[1].renew_term(second.epoch, 0)
        await run_turn(first)
        await run_turn(first)  # it reads nothing: now it purges
        assert site.bus.observations.count == (0 if away else site.published)
        await site.say("probes", beat(2, QUEUES, LOCAL_QUEUES, JOBS))
        for leader in (first, second, first, second):
            await run_turn(leader)
        assert site.bus.observations.count == 0
        gaps = [entry for entry in site.entries(1) if entry.type == "GapObserved"]
        assert bool(gaps) == away
        assert any("missing" in reason for reason in site.resyncs()) == away

    play(story)


def test_a_term_that_may_have_passed_jobs_by_begins_with_a_resync() -> None:
    async def story(site: Site) -> None:
        await both(site)
        before = len(site.resyncs())
        for number in range(2):
            await site.leader(number)
        assert len(site.resyncs()) == before + 2

    play(story)


def test_jobs_are_asked_for_whose_queue_leads_here_by_now() -> None:
    async def story(site: Site) -> None:
        leaders = await both(site)
        before = len(site.resyncs())
        await site.say(LOCAL_QUEUES, lead("zero", "second", version=20))
        for leader in leaders:
            await run_turn(leader)
        assert len(site.resyncs()) == before + 1
        assert [entry.type for entry in site.entries(0)][-1] == "WorkloadRemoved"
        await listed_again(site)
        for leader in leaders:
            await run_turn(leader)
        assert submitted(site.entries(1)) == ["job-uid-b", "job-uid-a"]

    play(story)


async def listed_again(site: Site) -> None:
    jobs = job("a", queue="zero"), job("b", queue="one")
    await site.say(JOBS, started(JOBS, 2), *(replace(each, round=2) for each in jobs))
    await site.say(JOBS, completed(30, *(each.uid for each in jobs), number=2))
    await asyncio.sleep(0)
