"""Several partitions' events leave the tables that they share; a kill anywhere loses nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from store.access.engine import open_engine
from store.archive import archiving
from store.ledger import SqlLedger
from store.partitions import detaching
from store.schema import migrate
from store.views.catalog import VIEWS
from tests.cli.conftest import Tidegate
from tests.cli.test_archiving_partitions import KilledError, dying, tables
from tests.parts.postgresql import Server
from tests.parts.reports import rows
from tests.serve.partitions.conftest import turns
from tidegate.cli import whole_partitions
from tidegate.cli.ledger.reading import open_reader
from tidegate.contracts.entry import Entry, Positions

__all__ = ["turns"]
pytestmark = pytest.mark.real
SIZE = 10
Turns = list[list[Entry]]
LATER = "2025-06-15T15:06:55Z"
"""After the tree was released, before it was taken: partition 0 is at 45, partition 1 at 29."""
KEPT = {"ledger_event_20", "ledger_event_30", "ledger_event_40", "ledger_event_50"}
"""Tables that one of the two has not passed by then, and room for what comes."""


@pytest.fixture
def url(postgresql: Server, turns: Turns) -> Iterator[str]:
    """Two partitions in tables of ten seqs, between which a tree moved."""
    made = postgresql.new_database()
    engine = open_engine(made)
    migrate.upgrade(engine)
    ledgers = [SqlLedger(engine, number, partition_events=SIZE) for number in range(2)]
    for ledger in ledgers:
        assert ledger.begin_term("a", 0) is not None
    for turn in turns:
        ledgers[turn[0].partition].append(1, turn[0].seq - 1, turn, Positions())
    engine.dispose()
    yield made
    postgresql.drop(made)


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    """The ledger's engine."""
    engine = open_engine(url)
    yield engine
    engine.dispose()


def histories(url: str) -> list[list[Entry]]:
    """Return each partition's events, read forwards as backwards."""
    with open_reader(url, reports=False) as reader:
        forwards = [list(each.ledger.read()) for each in reader.partition_readers()]
        assert forwards == [
            list(each.ledger.back(each.end))[::-1] for each in reader.partition_readers()
        ]
    return forwards


def by_partition(turns: Turns) -> list[list[Entry]]:
    return [[e for turn in turns for e in turn if e.partition == number] for number in range(2)]


def left(engine: Engine) -> list[int]:
    """Return the first event of each partition that is in the database."""
    actual_rows = [detaching.stored_rows(engine, number, 1_000) for number in range(2)]
    return [rows.first for rows in actual_rows if rows is not None]


def archived(tidegate: Tidegate, url: str, folder: Path, *words: str) -> str:
    result = tidegate("ledger", "archive", str(folder), *words, "--ledger", url)
    assert result.exit_code == 0, result.output
    for command in (("ledger", "verify"), ("reports", "verify")):
        answer = tidegate(*command, "--ledger", url)
        assert answer.exit_code == 0, answer.output
    return result.stderr


def test_all_leave_up_to_a_time_and_every_answer_stays(
    tidegate: Tidegate, url: str, engine: Engine, turns: Turns, tmp_path: Path
) -> None:
    before = {name: rows(engine, name) for name in VIEWS}
    text = archived(tidegate, url, tmp_path, "--until", LATER, "--format", "jsonl")
    assert "Events 20 to 29 of partition 0 were moved" in text
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *(f"events-{first:012}-{first // 10 * 10 + 9:012}.jsonl.gz" for first in (1, 10, 20, 30)),
        *(f"events-partition-1-{n:012}-{n // 10 * 10 + 9:012}.jsonl.gz" for n in (1, 10, 20)),
    ]
    assert (left(engine), histories(url)) == ([40, 30], by_partition(turns))
    assert "ledger_event_20" not in tables(engine), "both are through"
    assert tables(engine) >= KEPT - {"ledger_event_20"}
    assert tidegate("reports", "rebuild", "--ledger", url).exit_code == 0
    assert {name: rows(engine, name) for name in VIEWS} == before
    assert "nothing was archived" in archived(tidegate, url, tmp_path, "--until", LATER)


def test_one_partition_leaves_alone_and_the_other_later(
    tidegate: Tidegate, url: str, engine: Engine, turns: Turns, tmp_path: Path
) -> None:
    archived(tidegate, url, tmp_path, "--until", "25", "--partition", "1", "--format", "jsonl")
    assert (left(engine), histories(url)) == ([1, 20], by_partition(turns))
    assert tables(engine) >= {"ledger_event_0", "ledger_event_10"} | KEPT
    archived(tidegate, url, tmp_path, "--until", "25", "--partition", "0", "--format", "jsonl")
    assert (left(engine), histories(url)) == ([20, 20], by_partition(turns))
    assert not tables(engine) & {"ledger_event_0", "ledger_event_10"}


def test_what_is_archived_is_restored_into_another_database(
    tidegate: Tidegate, url: str, postgresql: Server, turns: Turns, tmp_path: Path
) -> None:
    archived(tidegate, url, tmp_path, "--until", LATER, "--format", "jsonl")
    other = postgresql.new_database()
    try:
        for target in (other, str(tmp_path / "copy.db")):
            copied = tidegate("ledger", "backup", target, "--ledger", url)
            assert copied.exit_code == 0, copied.output
            for command in (("ledger", "verify"), ("reports", "verify")):
                answer = tidegate(*command, "--ledger", target)
                assert answer.exit_code == 0, answer.output
            assert histories(target) == by_partition(turns)
    finally:
        postgresql.drop(other)


def test_both_go_on_writing_behind_what_left(
    tidegate: Tidegate, url: str, engine: Engine, turns: Turns, tmp_path: Path
) -> None:
    archived(tidegate, url, tmp_path, "--until", LATER, "--format", "jsonl")
    for number, history in enumerate(by_partition(turns)):
        ledger = SqlLedger(engine, number, partition_events=SIZE)
        term = ledger.begin_term("b", 0)
        assert term is not None
        assert ledger.newest() == history[-1]
        ledger.append(term.epoch, history[-1].seq, [], Positions())
    late = SqlLedger(engine, 2, partition_events=SIZE)
    assert late.begin_term("c", 0) is not None
    begun = tidegate("ledger", "archive", str(tmp_path), "--until", LATER, "--ledger", url)
    assert begun.exit_code == 0, begun.output


STEPS = {
    "note": (archiving, "record_range", False),
    "the first note": (archiving, "record_range", True),
    "detach": (detaching, "detach_partition", False),
    "drop": (detaching, "drop_table", False),
    "take out": (archiving, "delete_events", False),
    "taken out": (archiving, "delete_events", True),
}


@pytest.mark.slow
@pytest.mark.parametrize(("where", "name", "after"), STEPS.values(), ids=STEPS)
def test_a_kill_at_any_step_is_gone_on_from(  # noqa: PLR0913, PLR0917 - a step is three of these
    url: str, engine: Engine, turns: Turns, tmp_path: Path, where: object, name: str, *, after: bool
) -> None:
    limits = {0: 45, 1: 29}
    with pytest.MonkeyPatch.context() as patch:
        dying(patch, where, name, after=after)
        with pytest.raises(KilledError):
            list(whole_partitions.archive_partitions(engine, tmp_path, ".jsonl.gz", limits))
    assert histories(url) == by_partition(turns)
    list(whole_partitions.archive_partitions(engine, tmp_path, ".jsonl.gz", limits))
    assert (left(engine), histories(url)) == ([40, 30], by_partition(turns))
    assert {path.name[:6] for path in tmp_path.iterdir()} == {"events"}


def test_no_row_is_deleted_whose_file_was_changed(
    engine: Engine, turns: Turns, url: str, tmp_path: Path
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        dying(patch, archiving, "delete_events", after=False)
        with pytest.raises(KilledError):
            list(whole_partitions.archive_partitions(engine, tmp_path, ".jsonl.gz", {1: 25}))
    for path in tmp_path.iterdir():
        path.write_bytes(path.read_bytes() + b"x")
    with pytest.raises(Exception, match="SHA-256 is another"):
        whole_partitions.delete_rows_of_shared_tables(engine)
    assert (left(engine), histories(url)) == ([1, 1], by_partition(turns))


def test_a_seq_says_nothing_of_several(tidegate: Tidegate, url: str, tmp_path: Path) -> None:
    result = tidegate("ledger", "archive", str(tmp_path), "--until", "25", "--ledger", url)
    assert (result.exit_code, "give a time, or --partition" in result.stderr) == (2, True)
