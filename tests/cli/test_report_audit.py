"""What an intruder with the database's password may change beside the events is found out.

Every tampering, and the command that finds it, is in ``tests.cli.tamperings``.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text

from store.access.engine import open_engine
from tests.cli.conftest import Tidegate


def test_an_unchanged_ledger_has_nothing_to_find(tidegate: Tidegate, sample: Path) -> None:
    answer = tidegate("reports", "verify", "--ledger", str(sample))
    assert (answer.exit_code, answer.stdout) == (0, "")


def test_rows_that_are_said_to_have_expired_are_reported(
    tidegate: Tidegate, sample: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.db"
    shutil.copy(sample, copy)
    with closing(sqlite3.connect(copy)) as conn, conn:
        conn.execute("INSERT INTO report_state VALUES (0, 1772445300000000, '')")
        conn.execute("DELETE FROM report_holding WHERE to_us < 1772445300000000")
    answer = tidegate("reports", "verify", "--ledger", str(copy))
    assert answer.exit_code == 0
    assert "Not covered: rows of workloads that ended before 2026-03-02T09:55:00Z" in answer.stderr


@pytest.mark.real
def test_postgresql_is_compared_by_its_own_words(tidegate: Tidegate, remote: str) -> None:
    answer = tidegate("reports", "verify", "--ledger", remote)
    assert (answer.exit_code, answer.stdout) == (0, "")
    engine = open_engine(remote)
    with engine.connect() as conn:
        conn.execute(text("DROP VIEW queues"))
        conn.execute(text("CREATE VIEW queues AS SELECT 'team-a' AS cluster_queue"))
        conn.commit()
    stdout = tidegate("reports", "verify", "--ledger", remote).stdout
    engine.dispose()
    assert stdout.startswith("view queues: ")
