"""PostgreSQL's partitions leave whole, and a kill between any two steps loses nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from store.access.engine import open_engine
from store.archive import archiving
from store.archive.archive_ranges import FOLDER_VARIABLE
from store.ledger import SqlLedger
from store.partitions import detaching
from store.schema import migrate
from store.schema.rebuilding import rebuild_online
from store.views.catalog import VIEWS
from tests.cli.conftest import Tidegate
from tests.parts.postgresql import Server
from tests.parts.reports import rows
from tests.parts.sample import ENTRIES
from tidegate.cli import whole_partitions
from tidegate.cli.ledger.reading import open_reader
from tidegate.contracts.entry import Positions

pytestmark = pytest.mark.real
SIZE, KEPT_FROM = 20, 60
LEFT = "SELECT relname FROM pg_class WHERE relname LIKE 'ledger\\_event\\_%' AND relkind = 'r'"


class KilledError(Exception):
    """What stands for SIGKILL: nothing of ours catches it."""


@pytest.fixture
def url(postgresql: Server) -> Iterator[str]:
    """The sample's ledger in partitions of 20."""
    made = postgresql.new_database()
    engine = open_engine(made)
    migrate.upgrade(engine)
    ledger = SqlLedger(engine, partition_events=SIZE)
    assert ledger.begin_term("a", 0) is not None
    for first in range(0, len(ENTRIES), SIZE):
        part = ENTRIES[first : first + SIZE]
        ledger.append(1, first, part, Positions())
    engine.dispose()
    yield made
    postgresql.drop(made)


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    """The ledger's engine."""
    engine = open_engine(url)
    yield engine
    engine.dispose()


def least(engine: Engine) -> int:
    with engine.connect() as conn:
        return int(conn.scalar(text("SELECT min(seq) FROM ledger_event")) or 0)


def tables(engine: Engine) -> set[str]:
    with engine.connect() as conn:
        return set(conn.scalars(text(LEFT)))


def demand_history(ledger: SqlLedger) -> None:
    """Make sure that it is read across the seams."""
    assert list(ledger.read()) == ENTRIES
    assert list(ledger.read(10, 45)) == ENTRIES[10:45]
    assert ledger.seq_at(ENTRIES[29].at_us) == max(
        entry.seq for entry in ENTRIES if entry.at_us <= ENTRIES[29].at_us
    )


def test_whole_partitions_leave_and_every_answer_stays(
    tidegate: Tidegate, url: str, engine: Engine, tmp_path: Path
) -> None:
    arguments = ("--until", "75", "--ledger", url)
    before = {name: rows(engine, name) for name in VIEWS}
    result = tidegate("ledger", "archive", str(tmp_path), *arguments)
    assert result.exit_code == 0, result.output
    names = [path.name for path in sorted(tmp_path.iterdir())]
    assert names == [
        "events-000000000001-000000000019.parquet",
        "events-000000000020-000000000039.parquet",
        "events-000000000040-000000000059.parquet",
    ]
    assert least(engine) == KEPT_FROM
    assert tables(engine) == {"ledger_event_60", "ledger_event_80"}
    demand_history(SqlLedger(engine))
    for command in (("ledger", "verify"), ("reports", "verify"), ("reports", "rebuild")):
        assert tidegate(*command, "--ledger", url).exit_code == 0
    assert {name: rows(engine, name) for name in VIEWS} == before
    again = tidegate("ledger", "archive", str(tmp_path), *arguments)
    assert (again.exit_code, "nothing was archived" in again.output) == (0, True)
    copy = tmp_path / "copy.db"
    assert tidegate("ledger", "backup", str(copy), "--ledger", url).exit_code == 0
    assert tidegate("ledger", "verify", "--ledger", str(copy)).exit_code == 0


def test_an_archived_ledger_is_restored_into_another_postgresql(
    tidegate: Tidegate, url: str, engine: Engine, postgresql: Server, tmp_path: Path
) -> None:
    assert (
        tidegate("ledger", "archive", str(tmp_path), "--until", "75", "--ledger", url).exit_code
        == 0
    )
    other = postgresql.new_database()
    try:
        copied = tidegate("ledger", "backup", other, "--ledger", url)
        assert copied.exit_code == 0, copied.output
        for command in (("ledger", "verify"), ("reports", "verify")):
            answer = tidegate(*command, "--ledger", other)
            assert answer.exit_code == 0, answer.output
        restored = open_engine(other)
        demand_history(SqlLedger(restored))
        assert least(restored) == KEPT_FROM
        for name in VIEWS:
            assert rows(restored, name) == rows(engine, name)
        ledger = SqlLedger(restored, partition_events=SIZE)
        assert ledger.begin_term("next", 0) is not None
        restored.dispose()
    finally:
        postgresql.drop(other)


def dying(patch: pytest.MonkeyPatch, where: object, name: str, *, after: bool) -> None:
    """Let a step end with a kill, before it did anything or when it had done all."""
    done: Callable[..., object] = getattr(where, name)

    def killed(*arguments: object, **named: object) -> object:
        if after:
            done(*arguments, **named)
        raise KilledError

    patch.setattr(where, name, killed)


STEPS = {
    "write": (whole_partitions, "write", False),
    "sync": (whole_partitions, "fsync_file", False),
    "digest": (whole_partitions, "sha256_of", False),
    "note": (archiving, "record_range", False),
    "detach": (detaching, "detach_partition", False),
    "drop": (detaching, "drop_table", False),
    "the end": (detaching, "drop_table", True),
}
"""Where a step ends the next begins, so but for the last each is killed before it did anything."""


@pytest.mark.parametrize(("where", "name", "after"), STEPS.values(), ids=STEPS)
def test_a_kill_at_any_step_is_gone_on_from(  # noqa: PLR0913 - a step is three of these
    url: str, engine: Engine, tmp_path: Path, where: object, name: str, *, after: bool
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        dying(patch, where, name, after=after)
        with pytest.raises(KilledError):
            list(whole_partitions.archive_partitions(engine, tmp_path, ".jsonl.gz", {0: 25}))
    assert list(SqlLedger(engine).read()) == ENTRIES
    with open_reader(url, reports=False) as reader:
        assert list(reader.ledger.back(reader.end)) == ENTRIES[::-1]
    list(whole_partitions.archive_partitions(engine, tmp_path, ".jsonl.gz", {0: 25}))
    assert least(engine) == SIZE
    assert "ledger_event_0" not in tables(engine)
    assert [path.name[:6] for path in tmp_path.iterdir()] == ["events"]
    assert list(SqlLedger(engine).read()) == ENTRIES


def test_a_detaching_that_waits_for_a_reader_is_ended_by_the_next_run(
    engine: Engine, tmp_path: Path
) -> None:
    with engine.connect() as reader:
        assert reader.scalar(text("SELECT count(*) FROM ledger_event")) == len(ENTRIES)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(detaching, "_BEFORE", "SET lock_timeout = '300ms'")
            with pytest.raises(Exception, match="lock timeout"):
                list(whole_partitions.archive_partitions(engine, tmp_path, ".jsonl.gz", {0: 25}))
    assert [partition.pending for partition in detaching.attached_partitions(engine)][:2] == [
        True,
        False,
    ]
    assert list(SqlLedger(engine).read()) == ENTRIES
    whole_partitions.delete_archived_rows(engine)
    assert least(engine) == SIZE


def test_nothing_is_dropped_whose_file_was_changed(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        dying(patch, detaching, "drop_table", after=False)
        with pytest.raises(KilledError):
            list(whole_partitions.archive_partitions(engine, tmp_path, ".jsonl.gz", {0: 25}))
    [file] = tmp_path.iterdir()
    kept = file.read_bytes()
    file.write_bytes(kept + b"x")
    with pytest.raises(Exception, match="SHA-256 is another"):
        whole_partitions.delete_archived_rows(engine)
    assert "ledger_event_0" in tables(engine)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / file.name).write_bytes(kept)
    monkeypatch.setenv(FOLDER_VARIABLE, str(elsewhere))
    whole_partitions.delete_archived_rows(engine)
    assert "ledger_event_0" not in tables(engine)


def test_a_file_is_no_place_for_partitions(tidegate: Tidegate, url: str, tmp_path: Path) -> None:
    arguments = ("--until", "75", "--ledger", url)
    result = tidegate("ledger", "archive", str(tmp_path / "x.parquet"), *arguments)
    assert (result.exit_code, "is not a folder" in result.stderr) == (2, True)


def test_a_rebuild_reads_on_behind_the_archive_page_by_page(engine: Engine, tmp_path: Path) -> None:
    before = {name: rows(engine, name) for name in VIEWS}
    list(whole_partitions.archive_partitions(engine, tmp_path, ".jsonl.gz", {0: 75}))
    reached = list(rebuild_online(engine, rows=25))
    assert reached[:2] == [25, 50]
    assert max(reached) == ENTRIES[-1].seq, "the writer does not wait for all that is behind it"
    assert {name: rows(engine, name) for name in VIEWS} == before
