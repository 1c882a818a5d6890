"""A scheduler's surroundings: a bus in memory, a real ledger, and what a test does to both."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from msgspec.structs import replace
from prometheus_client import CollectorRegistry

from scheduler.dependencies import Dependencies, Pace
from scheduler.health import Status
from scheduler.leader_state import LeaderState, open_leader_state
from scheduler.turn import run_first_turn
from store.access.engine import open_engine
from store.ledger import SqlLedger
from store.snapshots import SqlSnapshots
from tests.bus.memory.all_ports import MemoryBus
from tests.parts.migrated import migrate
from tests.parts.virtual import run_virtually
from tidegate.contracts.codec import encode
from tidegate.contracts.entry import Entry, Position, Positions, Term
from tidegate.contracts.observations import (
    ClusterQueueObserved,
    Heartbeat,
    Observation,
    SyncCompleted,
    SyncStarted,
)
from tidegate.contracts.subjects import observed_subject
from tidegate.errors import TidegateError
from tidegate.model.policy import Policy
from tidegate.model.quota import ClusterQueueSpec
from tidegate.service.holder import LeaseHolder

Result = TypeVar("Result")
QUEUES = "clusterqueues.kueue.x-k8s.io"


async def in_place(work: Callable[[], Result]) -> Result:
    """Run blocking work here and now: the loop is virtual, and SQLite is in memory."""
    await asyncio.sleep(0)
    return work()


class FailingLedger:
    """A ledger whose next appends fail as a test says: before the commit or after it."""

    def __init__(self, ledger: SqlLedger) -> None:
        self.real = ledger
        self.fails_before = list[TidegateError]()
        self.fails_after = list[TidegateError]()
        self.behind_commit = list[Callable[[], None]]()  # done behind the next one with entries
        self.begin_term, self.renew_term = ledger.begin_term, ledger.renew_term
        self.read_after = list[int]()

    def read(self, after: int = 0, until: int | None = None) -> Iterator[Entry]:
        self.read_after.append(after)
        return self.real.read(after, until)

    def purge_limit(self, position: Position) -> Position:
        return self.real.purge_limit(position)

    def append(
        self, epoch: int, after: int, entries: Sequence[Entry], positions: Positions
    ) -> None:
        if self.fails_before:
            raise self.fails_before.pop(0)
        self.real.append(epoch, after, entries, positions)
        while entries and self.behind_commit:
            self.behind_commit.pop(0)()
        if self.fails_after:
            raise self.fails_after.pop(0)


class Stage:
    """One world; several schedulers may act on it."""

    def __init__(self, ledger: FailingLedger, snapshots: SqlSnapshots) -> None:
        self.bus, self.ledger = MemoryBus(observations_max=50), ledger
        self.snapshots = snapshots
        self.outlet = self.bus.observation_publisher()
        self._said = 0

    def deps(
        self, holder: str = "one", policy: Policy | None = None, snapshot_entries: int = 100_000
    ) -> Dependencies:
        return Dependencies(
            observation_reader=self.bus.observation_reader(),
            event_publisher=self.bus.event_publisher(),
            ledger=self.ledger,
            run_sync=in_place,
            status=Status(CollectorRegistry()),
            cluster="local",
            holder=LeaseHolder(holder),
            new_ledger_id=lambda: "led",
            policy=policy or Policy(),
            pace=Pace(snapshot_entries=snapshot_entries),
            snapshots=self.snapshots,
        )

    def lead(self, holder: str = "one") -> Term:
        term = self.ledger.begin_term(holder, 0)
        assert term is not None
        return term

    async def leader(self, holder: str = "one", policy: Policy | None = None) -> LeaderState:
        leader = await open_leader_state(self.deps(holder, policy), self.lead(holder))
        await run_first_turn(leader)
        return leader

    async def say(self, *values: Observation | bytes) -> None:
        for value in values:
            self._said += 1
            payload = value if isinstance(value, bytes) else encode(value)
            subject = observed_subject("local", QUEUES, "", "any")
            await self.outlet.publish(subject, payload, f"test:{self._said}")

    def entries(self) -> list[Entry]:
        return list(self.ledger.read())

    def types(self) -> list[str]:
        return [entry.type for entry in self.entries()]

    def published(self) -> list[bytes]:
        return [kept.payload for kept in self.bus.events.after(0)]

    def all_is_published(self) -> bool:
        return self.published() == [entry.payload.encode() for entry in self.entries()]


def queue(name: str, version: int) -> ClusterQueueObserved:
    return ClusterQueueObserved(
        name=name, uid=f"uid-{name}", version=version, session="s", spec=ClusterQueueSpec()
    )


def beat(number: int) -> Heartbeat:
    return Heartbeat(session="s", beat=number, resources=(QUEUES,))


def first_round() -> list[Observation]:
    """Return what makes the only watched resource complete, with one queue in it."""
    return [
        beat(1),
        SyncStarted(resource=QUEUES, session="s", round=1),
        replace(queue("team-a", 5), round=1),
        SyncCompleted(
            resource=QUEUES, session="s", round=1, list_version=7, present=("uid-team-a",)
        ),
    ]


@contextmanager
def ledger(url: str = "") -> Generator[tuple[FailingLedger, SqlSnapshots]]:
    """Lend a ledger: a new one in memory, or the migrated one at a URL."""
    engine = open_engine(url or "sqlite://")
    try:
        if not url:
            migrate(engine)
        yield FailingLedger(SqlLedger(engine, clock_us=_loop_us)), SqlSnapshots(engine)
    finally:
        engine.dispose()


def _loop_us() -> int:
    return round(asyncio.get_running_loop().time() * 1_000_000)


def play(story: Callable[[Stage], Coroutine[Any, Any, None]], url: str = "") -> None:
    """Run a story in virtual time on a stage of its own, with a ledger as ``ledger`` lends it."""

    async def run_story(kept: FailingLedger, snapshots: SqlSnapshots) -> None:
        await story(Stage(kept, snapshots))

    with ledger(url) as (kept, snapshots):
        run_virtually(run_story(kept, snapshots))


async def until(holds: Callable[[], bool], every_s: float = 0.1) -> None:
    """Wait in virtual time until something holds; the test's own time-out ends a vain wait."""
    while not holds():
        await asyncio.sleep(every_s)
