"""``tidegate ledger downgrade``: what it undoes, what it refuses, and what follows."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from store.access.engine import open_engine
from store.ledger import SqlLedger
from tests.cli.conftest import Tidegate
from tests.parts.newer import NEWEST, NEXT, Newer

LEASE_US = 100_000_000


@pytest.fixture
def copy(sample: Path, tmp_path: Path) -> str:
    """A ledger of one's own."""
    return str(shutil.copy(sample, tmp_path / "copy.db"))


def test_what_would_be_undone_is_said_and_then_undone(
    tidegate: Tidegate, copy: str, newer: Newer
) -> None:
    newer()
    assert tidegate("ledger", "migrate", "--ledger", copy).exit_code == 0
    asked = ("ledger", "downgrade", "--to", NEWEST, "--ledger", copy)
    assert f"would undo: {NEXT} A column more." in tidegate(*asked, "--dry-run").output
    assert tidegate("show", "queues", "--ledger", copy).exit_code == 0
    assert f"undone: {NEXT}" in tidegate(*asked).output
    refused = tidegate("show", "queues", "--ledger", copy)
    assert (refused.exit_code, "ledger migrate" in refused.stderr) == (3, True)
    assert tidegate("ledger", "migrate", "--ledger", copy).exit_code == 0
    assert tidegate("ledger", "verify", "--ledger", copy).exit_code == 0


def test_a_revision_that_is_not_below_is_refused_by_name(tidegate: Tidegate, copy: str) -> None:
    refused = tidegate("ledger", "downgrade", "--to", "9999", "--ledger", copy)
    assert (refused.exit_code, "There is no revision 9999" in refused.stderr) == (1, True)


def test_nothing_is_undone_while_a_scheduler_leads(
    tidegate: Tidegate, copy: str, newer: Newer
) -> None:
    newer()
    assert tidegate("ledger", "migrate", "--ledger", copy).exit_code == 0
    engine = open_engine(copy)
    assert SqlLedger(engine).begin_term("leader", LEASE_US) is not None
    engine.dispose()
    refused = tidegate("ledger", "downgrade", "--to", NEWEST, "--ledger", copy)
    assert (refused.exit_code, "stop it first" in refused.stderr) == (2, True)
    assert tidegate("show", "queues", "--ledger", copy).exit_code == 0
