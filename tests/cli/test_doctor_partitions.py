"""The doctor names a partition that queues name and no scheduler leads."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from store.access.engine import open_engine
from store.ledger import SqlLedger
from store.reading.database import open_database
from store.schema.migrate import upgrade
from tidegate.cli.doctor.partitions import examine_partitions
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
        assert SqlLedger(engine, number, clock_us=lambda: at_us).lead("one", LEASE_US)  # noqa: B023
    engine.dispose()
    return url


def test_a_partition_without_a_leading_scheduler_is_named_with_its_queues(ledger: str) -> None:
    state = state_with({"a": 1, "b": 2, "c": 2, "d": 3})
    with closing(open_database(ledger)) as database:
        found = list(examine_partitions(state, database, LEASE_US + 1))
    assert [(one.code, one.ok) for one in found] == [
        ("PartitionLed", True),
        ("PartitionNotLed", False),
        ("PartitionNotLed", False),
    ]
    assert "partition 2, which these ClusterQueues name: b, c" in found[1].text
    assert "--partition 3" in found[2].to_do


def test_of_many_queues_some_are_named(ledger: str) -> None:
    state = state_with({f"q{number}": 3 for number in range(9)})
    with closing(open_database(ledger)) as database:
        (found,) = examine_partitions(state, database, 1)
    assert found.text.endswith("q0, q1, q2, q3, q4 and 4 more")


def test_a_cluster_of_one_partition_has_no_finding(ledger: str) -> None:
    with closing(open_database(ledger)) as database:
        assert list(examine_partitions(State(), database, 1)) == []
