"""What somebody with the database's password may change beside the events, and is found out.

Each tampering is one statement; ``tidegate reports verify`` must name where. What it cannot find is
listed in docs/ledger.md.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace
from sqlalchemy import text

from store.access.engine import open_engine
from store.reading.report_audit import audit
from tests.cli.conftest import Tidegate
from tests.parts.sample import TOLD
from tidegate.contracts.digest import digest_of
from tidegate.contracts.entry import Entry
from tidegate.core.folding.snapshot import VERSION
from tidegate.core.state import chain
from tidegate.core.state.chain import GENESIS

TAMPERINGS = (
    ("UPDATE report_workload SET priority = priority + 1", "report_workload"),
    ("UPDATE report_workload SET author = 'somebody'", "report_workload"),
    ("DELETE FROM report_workload WHERE submitted_seq > 40", "report_workload"),
    ("UPDATE report_wait SET from_us = from_us - 1", "report_wait"),
    ("DELETE FROM report_wait", "report_wait"),
    ("UPDATE report_holding SET amount = amount * 2", "report_holding"),
    (
        "DELETE FROM report_holding WHERE from_seq = (SELECT min(from_seq) FROM report_holding)",
        "report_holding",
    ),
    ("UPDATE report_usage SET unit_seconds = unit_seconds * 0.9", "report_usage"),
    ("UPDATE report_usage SET namespace = 'other'", "report_usage"),
    ("UPDATE report_quota SET nominal = nominal + 1000", "report_quota"),
    ("UPDATE report_quota SET author = 'somebody'", "report_quota"),
    ("UPDATE report_queue SET stop_policy = 'Hold'", "report_queue"),
    ("DELETE FROM report_preemption", "report_preemption"),
    ("UPDATE report_preemption SET reason = 'x'", "report_preemption"),
    (
        "INSERT INTO report_priority_class VALUES (0, 'PriorityClass', 'mine', 9, 0, 1)",
        "report_priority_class",
    ),
    ("UPDATE report_workload SET partition = 7", "report_workload"),
    ("DROP VIEW chargeback", "view chargeback"),
    ("DROP VIEW queues; CREATE VIEW queues AS SELECT 'team-a' AS cluster_queue", "view queues"),
    ("DROP VIEW usage_hourly; CREATE VIEW usage_hourly AS SELECT 1 AS hour", "view usage_hourly"),
    (
        "CREATE TRIGGER spy AFTER INSERT ON ledger_event BEGIN DELETE FROM report_wait; END",
        "trigger spy",
    ),
    ("UPDATE ledger_event SET partition = 7 WHERE seq = 79", "ledger_event"),
    ("INSERT INTO ledger_position VALUES (7, 'EVENTS', 1, 1)", "ledger_position"),
    ("INSERT INTO ledger_snapshot VALUES (7, 1, 5, x'00', x'00')", "ledger_snapshot"),
    ("INSERT INTO ledger_snapshot VALUES (0, 41, VERSION, x'00', x'00')", "snapshot at seq 41"),
    (
        "INSERT INTO ledger_archive VALUES (0, 0, 1, 1, 1, 1, x'00', '', '/nowhere.jsonl', 'd')",
        "/nowhere.jsonl",
    ),
)


@pytest.mark.parametrize(("change", "where"), TAMPERINGS, ids=[one[:60] for one, _ in TAMPERINGS])
def test_what_was_changed_beside_the_events_is_named(
    tidegate: Tidegate, sample: Path, tmp_path: Path, change: str, where: str
) -> None:
    copy = tmp_path / "copy.db"
    shutil.copy(sample, copy)
    with closing(sqlite3.connect(copy)) as conn:
        conn.executescript(change.replace("VERSION", str(VERSION)))
    told = tidegate("reports", "verify", "--ledger", str(copy))
    assert told.exit_code == 1
    assert where in [line.partition(": ")[0] for line in told.stdout.splitlines()]


def test_a_ledger_that_nobody_changed_has_nothing_to_find(tidegate: Tidegate, sample: Path) -> None:
    told = tidegate("reports", "verify", "--ledger", str(sample))
    assert (told.exit_code, told.stdout) == (0, "")


@pytest.mark.real
def test_postgresql_is_compared_by_its_own_words(tidegate: Tidegate, remote: str) -> None:
    told = tidegate("reports", "verify", "--ledger", remote)
    assert (told.exit_code, told.stdout) == (0, "")
    engine = open_engine(remote)
    with engine.connect() as conn:
        conn.execute(text("DROP VIEW queues"))
        conn.execute(text("CREATE VIEW queues AS SELECT 'team-a' AS cluster_queue"))
        conn.commit()
    found = tidegate("reports", "verify", "--ledger", remote).stdout
    engine.dispose()
    assert found.startswith("view queues: ")


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("at_us", 7),
        ("type", "TimePassed"),
        ("cluster", "x"),
        ("subject", "tidegate.x.event.X.a.b.c"),
    ],
)
def test_a_column_that_was_sealed_anew_contradicts_its_payload(
    sample: Path, column: str, value: object
) -> None:
    forged, head = list[Entry](), GENESIS
    for entry in TOLD:
        columns = {name: getattr(entry, name) for name in Entry.__struct_fields__}
        changed = Entry(**columns | ({column: value} if entry.seq == 41 else {}))
        head = replace(changed, hash=digest_of(head.hash, changed))
        forged.append(head)
    assert list(chain.verify(forged)) == forged
    engine = open_engine(str(sample), read_only=True)
    found = next(one for one in audit(engine, forged) if one.where == "seq 41")
    engine.dispose()
    assert found.what.startswith(f"{column} is ")
