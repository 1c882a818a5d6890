"""A snapshot serves only the history that it was made from."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine, text

from store.ledger import SqlLedger
from store.snapshots import SqlSnapshots
from tests.store.histories import AT, LEASE_US, ticks
from tidegate.contracts.entry import Snapshot

ROWS = ticks(9)


def snapshot(seq: int, version: int = 1, state: bytes = b"\x00state") -> Snapshot:
    return Snapshot(seq=seq, version=version, state=state, head=ROWS[seq - 1].hash)


@pytest.fixture
def snapshots(engine: Engine) -> SqlSnapshots:
    """The snapshots of a ledger of nine rows: none yet."""
    ledger = SqlLedger(engine)
    ledger.begin_term("a", LEASE_US)
    ledger.append(1, 0, ROWS, AT)
    return SqlSnapshots(engine)


def test_the_newest_of_the_form_asked_for_is_returned(snapshots: SqlSnapshots) -> None:
    assert snapshots.newest(version=1) is None
    for candidate_snapshot in (
        snapshot(3),
        snapshot(5, state=b"x" * 10_000),
        snapshot(7, version=2),
    ):
        snapshots.write(candidate_snapshot)
    assert snapshots.newest(version=1) == snapshot(5, state=b"x" * 10_000)
    assert snapshots.newest(version=2) == snapshot(7, version=2)
    assert snapshots.newest(version=1, until=4) == snapshot(3)


def test_one_that_does_not_fit_is_passed_over(snapshots: SqlSnapshots, engine: Engine) -> None:
    for seq in (2, 4, 6):
        snapshots.write(snapshot(seq))
    with engine.begin() as conn:
        conn.execute(text("UPDATE ledger_snapshot SET state = hash WHERE seq = 6"))
    assert snapshots.newest(version=1) == snapshot(4)


def test_one_of_another_history_is_passed_over(snapshots: SqlSnapshots) -> None:
    snapshots.write(snapshot(2))
    snapshots.write(Snapshot(seq=4, version=1, state=b"", head=ROWS[5].hash))
    assert snapshots.newest(version=1) == snapshot(2)


def test_one_ahead_of_the_ledger_is_passed_over(snapshots: SqlSnapshots) -> None:
    snapshots.write(Snapshot(seq=99, version=1, state=b"", head=bytes(32)))
    assert snapshots.newest(version=1) is None


def test_the_newest_are_kept_and_one_of_each_span_before(
    snapshots: SqlSnapshots, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("store.snapshots.KEPT", 2)
    monkeypatch.setattr("store.snapshots.SPAN_EVENTS", 4)
    for seq in range(1, 9):
        snapshots.write(snapshot(seq))
    with engine.connect() as conn:
        kept = conn.scalars(text("SELECT seq FROM ledger_snapshot ORDER BY seq")).all()
    assert kept == [1, 4, 7, 8]


def test_the_second_writer_changes_nothing(snapshots: SqlSnapshots) -> None:
    snapshots.write(snapshot(3))
    snapshots.write(snapshot(3, state=b"other"))
    assert snapshots.newest(version=1) == snapshot(3)
