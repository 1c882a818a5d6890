"""``tidegate report``: rows narrowed down, added up, and written as files of columns."""

from __future__ import annotations

import csv
import io
import sqlite3
from contextlib import closing
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from store.reading.reports import report_rows
from tests.parts.drawn import drawn
from tests.parts.sample import TURNS, filled
from tidegate.cli.commands.reporting.report import print_csv
from tidegate.cli.ledger.narrowing import Span, time_filter
from tidegate.cli.program import build_app


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The sample's ledger."""
    file = tmp_path_factory.mktemp("ledger") / "ledger.db"
    with filled(f"sqlite:///{file}", TURNS):
        return str(file)


def ran(ledger: str, *words: str) -> Result:
    return CliRunner().invoke(build_app(), ["report", *words, "--ledger", ledger])


def rows(ledger: str, *words: str) -> list[dict[str, str]]:
    done = ran(ledger, *words, "-o", "csv")
    assert done.exit_code == 0, done.output
    return list(csv.DictReader(io.StringIO(done.stdout)))


def test_a_sum_over_groups_is_the_sum_of_the_rows(ledger: str) -> None:
    every = rows(ledger, "usage_hourly")
    summed = rows(ledger, "usage_hourly", "--group-by", "namespace,resource")
    assert list(summed[0]) == ["namespace", "resource", "rows", "resource_seconds"]
    for group in summed:
        alike = [
            row for row in every
            if (row["namespace"], row["resource"]) == (group["namespace"], group["resource"])
        ]  # fmt: skip
        assert int(group["rows"]) == len(alike) > 0
        total = sum(float(row["resource_seconds"]) for row in alike)
        assert float(group["resource_seconds"]) == pytest.approx(total)


@pytest.mark.parametrize(
    "by", ["namespace", "cluster_queue,day", "author,currency", "priority_class,quota", "cluster"]
)
@pytest.mark.parametrize("more", [(), ("--namespace", "a"), ("--queue", "team-b")])
def test_a_chargeback_added_up_before_it_is_priced_costs_the_same(
    ledger: str, by: str, more: tuple[str, ...]
) -> None:
    columns, sums = by.split(","), dict[tuple[str, ...], tuple[float, float]]()
    for row in rows(ledger, "chargeback", *more):
        key = tuple(row[name] for name in columns)
        hours, cost = sums.get(key, (0.0, 0.0))
        sums[key] = hours + float(row["unit_hours"]), cost + float(row["cost"] or 0)
    summed = rows(ledger, "chargeback", "--group-by", by, *more)
    assert sums, "something was used"
    assert {
        tuple(row[name] for name in columns): (float(row["unit_hours"]), float(row["cost"]))
        for row in summed
    } == {key: pytest.approx(total) for key, total in sums.items()}


def test_a_text_that_a_spreadsheet_would_calculate_is_a_text(
    capsys: pytest.CaptureFixture[str],
) -> None:
    texts = ["=HYPERLINK(A1)", "+1+1", "-1+1", "@SUM(A1)", "\t=1"]
    print_csv([{"author": text, "cost": -1.5} for text in (*texts, "eve", "-1.50")])
    read = list(csv.DictReader(io.StringIO(capsys.readouterr().out, newline="")))
    assert [row["author"] for row in read] == [*(f"'{text}" for text in texts), "eve", "-1.50"]
    assert {row["cost"] for row in read} == {"-1.5"}


def test_a_file_is_whole_or_not_written(ledger: str) -> None:
    every = rows(ledger, "waits")
    refused = ran(ledger, "waits", "--limit", str(len(every) - 1), "-o", "csv")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "`tidegate report waits --limit 0`" in refused.stderr
    for enough in (str(len(every)), "0"):
        assert rows(ledger, "waits", "--limit", enough) == every


def test_rows_are_of_one_queue_and_namespace(ledger: str) -> None:
    every = rows(ledger, "waits")
    kept = rows(ledger, "waits", "--queue", "team-a", "--namespace", "a")
    assert kept == [row for row in every if row["cluster_queue"] == "team-a"]
    assert rows(ledger, "waits", "--queue", "nosuch") == []


def test_two_halves_of_a_day_make_the_day(ledger: str) -> None:
    noon = "2026-03-02T09:00:00Z"
    before = rows(ledger, "usage_hourly", "--until", noon)
    after = rows(ledger, "usage_hourly", "--since", noon)
    assert before
    assert after
    assert before + after == rows(ledger, "usage_hourly")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("quota_now", "--since", "2h"), "use --as-of"),
        (("quota_now", "--namespace", "a"), "no column namespace"),
        (("waits", "--group-by", "team"), "no column team"),
        (("waits", "--since", "yesterday"), "--since"),
        (("-o", "csv"), "Name a report"),
    ],
)
def test_what_a_report_cannot_be_asked_is_said(
    ledger: str, words: tuple[str, ...], text: str
) -> None:
    done = ran(ledger, *words)
    assert done.exit_code == 2
    assert text in " ".join(done.output.split())


def test_parquet_bears_the_same_rows(ledger: str) -> None:
    done = ran(ledger, "waits", "-o", "parquet")
    value = pq.read_table(io.BytesIO(done.stdout_bytes)).to_pylist()
    documents = [{k: "" if v is None else str(v) for k, v in row.items()} for row in value]
    assert documents == rows(ledger, "waits")


INTERVALS = st.lists(
    st.tuples(st.integers(0, 50), st.none() | st.integers(0, 50)).map(
        lambda row: {
            "from_at": f"2026-03-02T00:00:{row[0]:02d}Z",
            "to_at": None if row[1] is None else f"2026-03-02T00:00:{row[0] + min(row[1], 9):02d}Z",
        }
    )
)
DAY_US = 1_772_409_600_000_000


def asked(documents: list[dict[str, Any]], span: Span) -> list[dict[str, Any]]:
    """Return those of ``waits`` that are of a time, as a database picks them."""
    with closing(sqlite3.connect(":memory:")) as conn:
        conn.row_factory = sqlite3.Row
        conn.execute("CREATE TABLE waits (from_at TEXT, to_at TEXT)")
        conn.executemany("INSERT INTO waits VALUES (:from_at, :to_at)", documents)
        return report_rows(
            lambda sql: [dict(row) for row in conn.execute(sql)],
            "sqlite",
            "waits",
            within=time_filter(span),
        )


@drawn(100)
@given(INTERVALS, st.integers(0, 50))
def test_an_interval_is_in_each_span_that_it_touches(
    intervals: list[dict[str, Any]], at: int
) -> None:
    cut_us = DAY_US + at * 1_000_000
    before, after = (asked(intervals, span) for span in (Span(0, cut_us), Span(cut_us)))
    assert all(interval in before or interval in after for interval in intervals)
    both = [interval for interval in before if interval in after]
    cut = f"2026-03-02T00:00:{at:02d}Z"
    assert all(interval["from_at"] < cut and (interval["to_at"] or "9") > cut for interval in both)


def test_an_unknown_column_names_those_there_are(ledger: str) -> None:
    done = ran(ledger, "waits", "--group-by", "team")
    assert "it has cluster, cluster_queue" in " ".join(done.output.split())
