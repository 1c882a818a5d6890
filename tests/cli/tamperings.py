"""The ways in which a ledger was tampered with, and the command that finds each.

An intruder has the database's password, and may seal rows anew: the hash is no secret. What no
command finds has ``NO_COMMAND`` and says what would; docs/ledger.md lists the same.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from tests.parts.sample import ENTRIES, TURNS
from tidegate.contracts.chain import GENESIS, digest_of, seal
from tidegate.contracts.codec import decode, encode
from tidegate.contracts.decisions import WorkloadPreempted
from tidegate.contracts.entry import Entry
from tidegate.contracts.facts import ClusterQueueDefined, TimePassed
from tidegate.core.folding.snapshot import VERSION

VERIFY = ("ledger", "verify")
REPORTS = ("reports", "verify")
CHECKPOINT = ("ledger", "verify", "--checkpoint", "CHECKPOINT", "--public-key", "KEY")
NO_COMMAND = ()
Change = Callable[[Path], None]


class Tampering(NamedTuple):
    """What is changed, which command finds it, and what that command names."""

    name: str
    change: Change
    found_by: tuple[str, ...]
    said: str


def sql(statement: str) -> Change:
    """Return what runs a statement in the database."""

    def change(ledger: Path) -> None:
        with closing(sqlite3.connect(ledger)) as conn:
            conn.executescript(statement.replace("VERSION", str(VERSION)))

    return change


def resealed(seq: int, alter: Callable[[Entry], Entry]) -> Change:
    """Return what alters an entry, and seals it and all behind it anew."""

    def change(ledger: Path) -> None:
        forged, head = list[Entry](), GENESIS
        for entry in ENTRIES:
            other = alter(entry) if entry.seq == seq else entry
            head = replace(other, hash=digest_of(head.hash, other))
            forged.append(head)
        _write(ledger, forged)

    return change


def appended(ledger: Path) -> None:
    """Seal one more fact behind the newest entry."""
    _write(ledger, seal(ENTRIES[-1], 1, "local", [TimePassed(at_us=ENTRIES[-1].at_us + 1)]))


def rebuilt(change: Change) -> Change:
    """Return a change after which the reports are made to follow from the events again."""

    def both(ledger: Path) -> None:
        from store.schema.migrate import rebuild_reports  # noqa: PLC0415 - beside what it undoes

        change(ledger)
        rebuild_reports(str(ledger))

    return both


def _write(ledger: Path, entries: list[Entry]) -> None:
    columns = Entry.__struct_fields__
    marks = ", ".join("?" for _ in columns)
    rows = [tuple(getattr(entry, name) for name in columns) for entry in entries]
    with closing(sqlite3.connect(ledger)) as conn, conn:
        statement = f"INSERT OR REPLACE INTO ledger_event ({', '.join(columns)}) VALUES ({marks})"  # noqa: S608 - ours
        conn.executemany(statement, rows)


def _column(name: str, value: Any) -> Callable[[Entry], Entry]:  # noqa: ANN401 - what it holds
    return lambda entry: replace(entry, **{name: value})


def _told_by(author: str) -> Callable[[Entry], Entry]:
    def alter(entry: Entry) -> Entry:
        event = decode(entry.payload)
        assert isinstance(event, ClusterQueueDefined)
        return replace(entry, payload=encode(replace(event, author=author)).decode())

    return alter


def _preempted_by(by: str) -> Callable[[Entry], Entry]:
    def alter(entry: Entry) -> Entry:
        event = decode(entry.payload)
        assert isinstance(event, WorkloadPreempted)
        return replace(entry, payload=encode(replace(event, by=by)).decode())

    return alter


ROWS = (
    ("UPDATE report_workload SET priority = priority + 1", "report_workload"),
    ("UPDATE report_workload SET author = 'mallory'", "report_workload"),
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
    ("UPDATE report_usage_day SET borrowed_seconds = 0", "report_usage_day"),
    ("DELETE FROM report_quota_hour", "report_quota_hour"),
    ("UPDATE report_quota_level SET used_seconds = used_seconds + 1", "report_quota_level"),
    ("UPDATE report_quota_position SET at_us = at_us + 1", "report_quota_position"),
    ("UPDATE report_quota SET nominal = nominal + 1000", "report_quota"),
    ("UPDATE report_quota SET author = 'mallory'", "report_quota"),
    (
        "INSERT INTO report_budget VALUES (0, 'Cohort', 'c', '', 1, '', 1, 0, '', 0, 1, 2, 2, 1)",
        "report_budget",
    ),
    ("UPDATE report_price SET per_unit_hour = 0.01", "report_price"),
    ("DELETE FROM report_price", "report_price"),
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
    ("INSERT INTO ledger_position VALUES (7, 'EVENTS', 1, 1, 1)", "ledger_position"),
    ("INSERT INTO ledger_snapshot VALUES (7, 1, 5, x'00', x'00')", "ledger_snapshot"),
    ("INSERT INTO ledger_snapshot VALUES (0, 41, VERSION, x'00', x'00')", "snapshot at seq 41"),
    (
        "INSERT INTO ledger_archive VALUES (0, 0, 1, 1, 1, 1, x'00', '', '/nowhere.jsonl', 'd')",
        "/nowhere.jsonl",
    ),
)
SWAPPED = (
    "UPDATE ledger_event SET seq = CASE seq WHEN 41 THEN -42 ELSE -41 END WHERE seq IN (41, 42)"
)
EVENTS = (
    ("UPDATE ledger_event SET payload = replace(payload, 'kim', 'tim') WHERE seq = 18", "seq 18"),
    ("UPDATE ledger_event SET at_us = at_us + 1 WHERE seq = 41", "seq 41"),
    ("UPDATE ledger_event SET turn = turn + 1 WHERE seq = 41", "seq 41"),
    ("UPDATE ledger_event SET epoch = 9 WHERE seq = 41", "seq 41"),
    ("UPDATE ledger_event SET hash = zeroblob(32) WHERE seq = 41", "seq 41"),
    ("DELETE FROM ledger_event WHERE seq = 41", "seq 41"),
    ("DELETE FROM ledger_event WHERE seq < 5", "seq 1"),
    (f"{SWAPPED}; UPDATE ledger_event SET seq = -seq WHERE seq < 0", "seq 41"),  # noqa: S608 - ours
    ("DELETE FROM ledger_event WHERE seq > 70", "seq 71"),  # within a turn
    ("DELETE FROM ledger_event WHERE seq > 46", "entries were removed"),  # whole turns
)
COLUMNS = (
    ("at_us", 7),
    ("type", "TimePassed"),
    ("cluster", "x"),
    ("subject", "tidegate.x.event.X.a.b.c"),
)
PREEMPTION = next(entry.seq for entry in ENTRIES if entry.type == "WorkloadPreempted")

TAMPERINGS = (
    *(Tampering(text, sql(text), REPORTS, message) for text, message in ROWS),
    *(Tampering(text, sql(text), VERIFY, message) for text, message in EVENTS),
    *(
        Tampering(f"{name} sealed anew", resealed(41, _column(name, value)), REPORTS, "seq 41")
        for name, value in COLUMNS
    ),
    Tampering(
        "a decision sealed anew",
        rebuilt(resealed(PREEMPTION, _preempted_by("b/job-x"))),
        VERIFY,
        f"seq {PREEMPTION}",
    ),
    Tampering("a fact sealed anew", resealed(18, _told_by("tim")), REPORTS, "report_quota"),
    Tampering(
        "a fact sealed anew, and the reports made again",
        rebuilt(resealed(18, _told_by("tim"))),
        CHECKPOINT,
        "seq 79",
    ),
    Tampering(
        "newest rows cut off that no report tells of",
        sql(f"DELETE FROM ledger_event WHERE seq > {TURNS[-2][-1].seq}"),  # noqa: S608 - ours
        CHECKPOINT,
        "seq 79",
    ),
    Tampering("a fact appended with the right hash", appended, NO_COMMAND, "EVENTS as a witness"),
)
