"""A list of the cluster's Workloads says from the ledger where they stand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidegate.cli.objects.positions import positions
from tidegate.errors import LedgerUnreachableError


def test_the_ledger_tells_positions(sample: Path) -> None:
    assert positions(str(sample)) == {"a/job-huge-d526e": 1}


def test_without_any_ledger_there_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEGATE_STATE", str(tmp_path))
    assert positions("") == {}


def test_a_named_ledger_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LedgerUnreachableError):
        positions(str(tmp_path / "nowhere.jsonl"))
