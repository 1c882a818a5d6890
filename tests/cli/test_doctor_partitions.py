"""The doctor names a partition that queues name and no scheduler leads."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path

import pytest

from store.access.engine import open_engine
from store.ledger import SqlLedger
from store.reading.database import open_database
from store.schema.migrate import upgrade
from tests.bus.memory.all_ports import MemoryBus
from tests.core.telling import JOBS, beat
from tests.parts.virtual import run_virtually
from tests.scheduler.test_handovers import Cluster
from tests.scheduler.test_partitions import LOCAL_QUEUES, QUEUES, Site
from tidegate.cli.doctor.partitions import examine_moves, examine_partitions
from tidegate.cli.ledger.reader import Reader
from tidegate.cli.ledger.reading import open_reader
from tidegate.cli.moves.state import moves_of, since_us
from tidegate.contracts.fact_kinds.definitions import QueueElsewhere
from tidegate.core.folding.fold import apply
from tidegate.core.state.state import State

LEASE_US = 15_000_000


def state_with(placed: dict[str, int]) -> State:
    state = State()
    for name, number in placed.items():
        apply(state, QueueElsewhere(at_us=1, name=name, uid=f"uid-{name}", partition=number))
    return state


@pytest.fixture
def ledger(tmp_path: Path) -> str:
    """Lend a ledger whose partitions 1 and 2 were led; the lease of 2 has run out."""
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    engine = open_engine(url)
    upgrade(engine)
    for number, at_us in ((1, LEASE_US), (2, 0)):
        assert SqlLedger(engine, number, clock_us=lambda: at_us).begin_term("one", LEASE_US)  # noqa: B023
    engine.dispose()
    return url


def test_a_partition_without_a_leading_scheduler_is_named_with_its_queues(ledger: str) -> None:
    state = state_with({"a": 1, "b": 2, "c": 2, "d": 3})
    with closing(open_database(ledger)) as database:
        findings = list(examine_partitions(state, database, LEASE_US + 1))
    assert [(finding.code, finding.ok) for finding in findings] == [
        ("PartitionLed", True),
        ("PartitionNotLed", False),
        ("PartitionNotLed", False),
    ]
    assert "partition 2, which these ClusterQueues name: b, c" in findings[1].text
    assert "--partition 3" in findings[2].to_do


def test_of_many_queues_some_are_named(ledger: str) -> None:
    state = state_with({f"q{number}": 3 for number in range(9)})
    with closing(open_database(ledger)) as database:
        (finding,) = examine_partitions(state, database, 1)
    assert finding.text.endswith("q0, q1, q2, q3, q4 and 4 more")


def test_a_cluster_of_one_partition_has_no_finding(ledger: str) -> None:
    with closing(open_database(ledger)) as database:
        assert list(examine_partitions(State(), database, 1)) == []


@pytest.fixture(scope="module")
def halfway(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Lend a ledger whose partition 0 has released a tree that no partition has taken."""
    url = f"sqlite:///{tmp_path_factory.mktemp('halfway') / 'ledger.db'}"
    engine = open_engine(url)
    upgrade(engine)

    async def run_story() -> None:
        cluster = Cluster(Site(MemoryBus(), engine))
        await cluster.begin()
        await cluster.move()
        cluster.leaders = cluster.leaders[:1]
        for beats in range(3):
            await cluster.site.say("probes", beat(100 + beats, QUEUES, LOCAL_QUEUES, JOBS))
            await asyncio.sleep(2)
            await cluster.turns()

    run_virtually(run_story())
    engine.dispose()
    return url


@pytest.mark.parametrize(
    ("after_us", "code", "text"),
    [
        (10_000_000, "MoveUnderWay", "has not said yet that it has taken the tree"),
        (61_000_000, "MoveHangs", "taken the tree, for 61 s"),
    ],
)
def test_a_tree_that_is_long_on_its_way_hangs(
    halfway: str, monkeypatch: pytest.MonkeyPatch, after_us: int, code: str, text: str
) -> None:
    with open_reader(halfway, partition=0, reports=False) as reader:
        released = [entry for entry in reader.ledger.read() if entry.type == "TreeReleased"]
        now_us = released[-1].at_us + after_us

        def clock_us(_: Reader) -> int:
            return now_us

        monkeypatch.setattr(Reader, "clock_us", clock_us)
        (finding,) = examine_moves(reader, reader.state())
    assert (finding.code, finding.ok) == (code, code == "MoveUnderWay")
    assert finding.text.startswith("ClusterQueue first to 1: ")
    assert text in finding.text
    assert ("--partition 1" in finding.to_do) == (code == "MoveHangs"), "1 has no leader any more"


def test_what_asks_and_does_not_leave_is_reported_with_since_when(halfway: str) -> None:
    with open_reader(halfway, partition=0, reports=False) as reader:
        asked = [entry for entry in reader.ledger.read() if entry.type == "MoveRequested"]
        then = reader._replace(end=asked[-1].seq)
        (move,) = moves_of(then.state())
        assert (move.stage, since_us(then, move)) == ("Requested", asked[-1].at_us)
