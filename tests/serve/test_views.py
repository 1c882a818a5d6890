"""Answers from the folded state and from sums are those of the SQL reports, at every moment."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from store.archive.archive_format import Archive
from store.reading.as_of import reports_as_of
from tests.parts.reports import rows as rows_of
from tests.parts.sample import ENTRIES
from tidegate.cli.commands.show.positions import position_rows, ranked_rows
from tidegate.cli.commands.show.queue import queue_records, queue_summary_rows
from tidegate.cli.commands.show.usage import quota_key, usage_record, usage_records
from tidegate.cli.ledger.reading import open_reader
from tidegate.contracts.codec import decode
from tidegate.core.folding.fold import apply_recorded
from tidegate.core.folding.snapshot import write
from tidegate.core.state.state import State, Workload
from tidegate.model.calendar import HOUR_US, utc_text
from tidegate.serve.ledger.costs import cost_rows, quota_rows, span_of
from tidegate.serve.ledger.index import RARE, WorkloadIndex
from tidegate.serve.ledger.past import APART_BYTES, PastState, StateCheckpoints
from tidegate.serve.ledger.queueing import pending_rows, queue_rows, reserving_counts
from tidegate.serve.ledger.usage import quota_setters, usage_rows

PRICES = (("", "", 1.0), ("", "borrowed", 2.0), ("urgent", "", 3.0))
SEQS = [entry.seq for entry in ENTRIES]
BUSY = Path(__file__).parent.parent / "ledgers" / "kept" / "0.1.0-busy.jsonl.gz"


@pytest.fixture(scope="module")
def index() -> WorkloadIndex:
    made = WorkloadIndex()
    for entry in ENTRIES:
        made.add(entry)
    return made


@pytest.mark.parametrize("seq", SEQS[::3])
def test_a_state_gives_the_rows_of_the_reports(ledger: str, index: WorkloadIndex, seq: int) -> None:
    state = State()
    for entry in ENTRIES[:seq]:
        apply_recorded(state, decode(entry.payload))

    def since(workload: Workload) -> int:
        return index.waiting_since(workload.key, seq) or workload.created_us

    waiting = pending_rows(state, since)
    with open_reader(ledger, str(seq)) as reader:
        assert ranked_rows(waiting, 0) == position_rows(reader)
        assert queue_summary_rows(
            queue_rows(state), waiting, reserving_counts(state)
        ) == queue_records(reader)


@pytest.mark.parametrize("seq", SEQS[::3])
def test_a_state_gives_what_becomes_of_quota_as_the_report_does(ledger: str, seq: int) -> None:
    state = State()
    for entry in ENTRIES[:seq]:
        apply_recorded(state, decode(entry.payload))
    with open_reader(ledger, str(seq)) as reader:
        expected = usage_records(reader)
    with open_reader(ledger, reports=False) as reader:
        assert reader.database is not None
        set_by = quota_setters(reader.database, seq)
    rows = usage_rows(state)
    assert [
        usage_record(row, row["users"], set_by.get(quota_key(row), "")) for row in rows
    ] == expected


def test_the_states_of_a_longer_history_give_it_too() -> None:
    state, entries, lent = State(), list(Archive(BUSY).read()), False
    for entry in entries:
        apply_recorded(state, decode(entry.payload))
        if entry.seq % 170 == 0:
            with reports_as_of(entries[: entry.seq]) as engine:
                expected = rows_of(engine, "quota_now")
            names = [name for name in expected[0] if name != "partition"]  # a state is of one
            documents = [{name: row[name] for name in names} for row in usage_rows(state)]
            assert documents == [{name: row[name] for name in names} for row in expected]
            lent = lent or any(row["lent"] for row in expected)
    assert lent


def test_some_wait_for_each_reason_in_what_is_compared(index: WorkloadIndex) -> None:
    assert len({entry.type for entry in ENTRIES}) > 10
    assert index.rare_event_seqs(["WorkloadPreempted"], SEQS[-1]) == [
        entry.seq for entry in reversed(ENTRIES) if entry.type == "WorkloadPreempted"
    ]
    assert index.rare_event_seqs(["WorkloadAdmitted"], SEQS[-1]) is None
    assert "WorkloadPreempted" in RARE


def test_the_past_is_the_same_by_whichever_way_it_is_reached(ledger: str) -> None:
    past = PastState(StateCheckpoints(apart=7))
    with open_reader(ledger, reports=False) as reader:
        for seq in (40, 46, 12, 79, 35, 36, 7, 79, 1):
            then = reader._replace(end=seq)
            with past.state(then) as state:
                assert (state.seq, state.now_us) == (seq, ENTRIES[seq - 1].at_us)
                kept = {key: workload.phase for key, workload in state.workloads.items()}
            folded = then.state()
            assert kept == {key: workload.phase for key, workload in folded.workloads.items()}


def test_memory_for_passed_states_is_bounded(ledger: str) -> None:
    moments = StateCheckpoints(apart=1, bytes_max=5_000)
    with open_reader(ledger, reports=False) as reader, PastState(moments).state(reader):
        assert 0 < moments.bytes <= 5_000
    newest = moments.nearest_seq(ENTRIES[-1].seq)
    kept = moments.state(newest)
    assert kept is not None
    assert kept.seq == newest > 0
    assert (moments.nearest_seq(1), moments.state(1)) == (0, None)


def test_large_states_are_kept_farther_apart(ledger: str) -> None:
    with open_reader(ledger, reports=False) as reader:
        state = reader._replace(end=40).state()
        moments = StateCheckpoints(apart=1)
        for entry in reader.ledger.read(40, ENTRIES[-1].seq):
            apply_recorded(state, decode(entry.payload))
            moments.add(state)
        size = len(write(state))
    seqs = {moments.nearest_seq(seq) for seq in range(41, ENTRIES[-1].seq + 1)} - {0}
    assert min(b - a for a, b in pairwise(sorted(seqs)[1:])) >= size // (2 * APART_BYTES)
    assert len(seqs) > 3


def test_a_month_is_summed_as_the_reports_sum_it(ledger: str) -> None:
    with open_reader(ledger) as reader:
        span = span_of("", ENTRIES[-1].at_us)
        assert (span.month, span.until_us % HOUR_US) == ("2026-03", 0)
        costs = cost_rows(reader, span)
        expected = {
            (row["namespace"], row["cluster_queue"], row["flavor"], row["resource"]): 0.0
            for row in reader.report("usage_hourly")
        }
        for row in reader.report("usage_hourly"):
            if row["hour"] < "2026-03-02T10:00:00Z":
                key = row["namespace"], row["cluster_queue"], row["flavor"], row["resource"]
                expected[key] += row["resource_seconds"] / 3_600
        assert {
            (row["namespace"], row["cluster_queue"], row["flavor"], row["resource"]): pytest.approx(
                row["unit_hours"]
            )
            for row in costs
        } == {key: hours for key, hours in expected.items() if hours}
        mine = cost_rows(reader, span, "a")
        assert mine == [row for row in costs if row["namespace"] == "a"]


def test_quota_is_split_as_the_hourly_report_splits_it(ledger: str) -> None:
    with open_reader(ledger) as reader:
        current_quota_rows = quota_rows(reader, span_of("2026-03", ENTRIES[-1].at_us))
        hourly = [
            row for row in reader.report("quota_hourly") if row["hour"] < "2026-03-02T10:00:00Z"
        ]
        for row in current_quota_rows:
            place = row["cluster_queue"], row["flavor"], row["resource"]
            mine = [
                row
                for row in hourly
                if (row["cluster_queue"], row["flavor"], row["resource"]) == place
            ]
            for name in ("nominal", "used", "borrowed"):
                total = sum(hour[f"{name}_seconds"] for hour in mine) / 3_600
                assert row[f"{name}_hours"] == pytest.approx(total), (place, name)
            left = row["nominal_hours"] + row["borrowed_hours"] - row["used_hours"]
            assert row["unused_hours"] == pytest.approx(left)
        assert any(row["borrowed_hours"] for row in current_quota_rows)


def test_a_moment_of_the_past_cuts_its_month_off(ledger: str) -> None:
    at_us = next(entry.at_us for entry in ENTRIES if entry.at_us % HOUR_US)
    with open_reader(ledger) as reader:
        early, late = span_of("", at_us), span_of("", ENTRIES[-1].at_us)
        before = sum(row["unit_hours"] for row in cost_rows(reader, early))
        assert before < sum(row["unit_hours"] for row in cost_rows(reader, late))
        assert cost_rows(reader, span_of("2026-04", ENTRIES[-1].at_us)) == []


def test_what_is_called_so_is_found(local: TestClient) -> None:
    items = local.get("/v1/search?text=TEAM").json()["items"]
    assert {(match["kind"], match["name"]) for match in items} >= {("ClusterQueue", "team-a")}
    items = local.get("/v1/search?text=huge&asOf=75").json()["items"]
    assert [(match["kind"], match["name"], match["namespace"]) for match in items] == [
        ("Workload", "job-huge-d526e", "a")
    ]


def test_workloads_with_quota_are_listed_with_it(local: TestClient) -> None:
    items = local.get("/v1/running?queue=team-a&asOf=46").json()["items"]
    assert items
    assert {workload["clusterQueue"] for workload in items} == {"team-a"}
    assert all(workload["amounts"]["on-demand"]["cpu"] for workload in items)


@pytest.mark.parametrize(("month", "until"), [("9999-12", "9999-12"), ("2025-12", "2026-01")])
def test_a_month_ends_where_the_next_begins(month: str, until: str) -> None:
    span = span_of(month, ENTRIES[-1].at_us)
    assert (span.month, utc_text(span.until_us)[:7]) == (month, until)


def test_the_months_costs_are_those_of_the_report(ledger: str, tmp_path: Path) -> None:
    copy = tmp_path / "priced.db"
    shutil.copy(ledger, copy)
    with closing(sqlite3.connect(copy)) as conn, conn:
        for priority_class, quota, cost in PRICES:
            values = (priority_class, quota, cost)
            conn.execute(
                "INSERT INTO report_price VALUES (0, 'on-demand', 'memory', ?, ?, 9, '',"
                " '2026-03-02', ?, 'EUR', '', 'kim', 0, NULL, NULL, NULL, '')",
                values,
            )
    with open_reader(str(copy)) as reader:
        costs = cost_rows(reader, span_of("2026-03", ENTRIES[-1].at_us))
        by = ("namespace", "cluster_queue", "resource", "per_unit_hour")
        report = reader.report("chargeback", by=by)
    mapping = {tuple(row[name] for name in by): row["unit_hours"] for row in costs}
    expected = {tuple(row[name] for name in by): row["unit_hours"] for row in report}
    assert {cost for *_, cost in expected} == {0.04, *(cost for *_, cost in PRICES)}
    assert mapping == {
        key: pytest.approx(hours, rel=1e-2)  # costs end with the last full hour
        for key, hours in expected.items()
    }
