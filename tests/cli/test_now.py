"""While a scheduler leads, waits go on behind the newest event; no forecast start is past."""

from __future__ import annotations

import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.parts.sample import TURNS, filled
from tidegate.cli.program import build_app
from tidegate.cli.times import parse_utc

SECOND_US = 1_000_000
MORNING = [turn for turn in TURNS if turn[0].seq <= 51]
"""Until sweep waits again, which may start as soon as another job ends."""
END = str(MORNING[-1][-1].seq)


@pytest.fixture
def ledger(tmp_path: Path) -> str:
    """The sample's morning until a workload waits that may start."""
    file = tmp_path / "ledger.db"
    with filled(f"sqlite:///{file}", MORNING):
        return str(file)


def led(ledger: str, until_us: int) -> None:
    with closing(sqlite3.connect(ledger)) as conn, conn:
        conn.execute("UPDATE ledger_writer SET lease_until_us = ?", (until_us,))


def read_json(ledger: str, *words: str) -> list[dict[str, Any]]:
    done = CliRunner().invoke(build_app(), [*words, "-o", "json", "--ledger", ledger])
    documents: list[dict[str, Any]] = json.loads(done.stdout)
    return documents


def clock_us() -> int:
    return time.time_ns() // 1_000


def test_of_a_time_of_the_past_waits_last_until_then(tmp_path: Path) -> None:
    file = str(tmp_path / "whole.db")
    with filled(f"sqlite:///{file}", TURNS):
        pass
    at = "2026-03-02T08:50:00Z"
    begun_us = parse_utc("2026-03-02T08:40:01Z")  # nothing is reported of sweep from then to 09:15
    for words, field in (
        (("show", "positions"), "waitedSeconds"),
        (("show", "queues"), "longestWaitSeconds"),
    ):
        (waited_s,) = {row[field] for row in read_json(file, *words, "--as-of", at) if row[field]}
        assert waited_s == (parse_utc(at) - begun_us) // SECOND_US


def test_waits_go_on_while_a_leader_is_there_and_stand_still_else(ledger: str) -> None:
    still = read_json(ledger, "show", "positions")
    assert still == read_json(ledger, "show", "positions")
    begun_us = clock_us()
    led(ledger, begun_us + 3_600 * SECOND_US)
    (row,) = read_json(ledger, "show", "positions")
    (then,) = read_json(ledger, "show", "positions", "--as-of", END)
    assert parse_utc(then["mightStart"]["from"]) < begun_us
    assert begun_us <= parse_utc(row["mightStart"]["from"]) + SECOND_US
    waited_s = (begun_us - parse_utc("2026-03-02T08:40:01Z")) // SECOND_US
    for words, field in (
        (("show", "positions"), "waitedSeconds"),
        (("show", "pending"), "waitedSeconds"),
        (("show", "queues"), "longestWaitSeconds"),
    ):
        values = [row[field] for row in read_json(ledger, *words) if row[field]]
        assert len(values) == 1
        assert values[0] >= waited_s - 1, words
    assert read_json(ledger, "show", "positions", "--as-of", END) == still
    led(ledger, begun_us - 1)
    assert read_json(ledger, "show", "positions") == still


def test_a_report_of_a_ledger_that_goes_on_says_where_it_ends(ledger: str) -> None:
    words = ["report", "queue_now", "--ledger", ledger]
    assert CliRunner().invoke(build_app(), words).stderr == ""
    led(ledger, clock_us() + 600 * SECOND_US)
    stderr = CliRunner().invoke(build_app(), words).stderr
    assert stderr.startswith("What has not ended is counted up to the ledger's newest event, ")
    assert (
        CliRunner().invoke(build_app(), [*words, "--as-of", END]).stderr.count("What has not ended")
        == 0
    )
