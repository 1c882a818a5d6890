"""Each tampering is found by the command that is named for it, or by none, as the docs say."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Tidegate
from tests.cli.tamperings import NOBODY, REPORTS, TAMPERINGS, VERIFY, Tampering
from tests.parts.sample import TOLD


@pytest.fixture
def signed(tidegate: Tidegate, tmp_path: Path) -> dict[str, str]:
    """A checkpoint of before, kept elsewhere, and its public key."""
    pytest.importorskip("cryptography")
    key, out = tmp_path / "audit.key", tmp_path / "before.json"
    assert tidegate("ledger", "keygen", "--out", str(key)).exit_code == 0
    assert tidegate("ledger", "checkpoint", "--key", str(key), "--out", str(out)).exit_code == 0
    return {"CHECKPOINT": str(out), "KEY": f"{key}.pub"}


@pytest.mark.parametrize("one", TAMPERINGS, ids=[one.name[:60] for one in TAMPERINGS])
def test_it_is_found_by_the_command_that_is_named(
    tidegate: Tidegate, sample: Path, tmp_path: Path, signed: dict[str, str], one: Tampering
) -> None:
    copy = tmp_path / "copy.db"
    shutil.copy(sample, copy)
    one.change(copy)
    for command in [one.found_by] if one.found_by else [VERIFY, REPORTS]:
        words = [signed.get(word, word) for word in command]
        told = tidegate(*words, "--ledger", str(copy))
        assert told.exit_code == (1 if one.found_by else 0), told.output
        assert not one.found_by or one.said in told.stdout + told.stderr


def test_they_are_of_as_many_kinds_as_were_tried_and_the_docs_name_what_nobody_finds() -> None:
    assert len({one.name for one in TAMPERINGS}) == len(TAMPERINGS) >= 37
    page = (Path(__file__).parents[2] / "docs" / "ledger.md").read_text()
    assert f"{len(TAMPERINGS)} kinds of tampering" in page
    for one in TAMPERINGS:
        if one.found_by == NOBODY:
            assert one.said in page


def test_a_ledger_that_nobody_touched_has_nothing_to_find(
    tidegate: Tidegate, signed: dict[str, str]
) -> None:
    words = ("--checkpoint", signed["CHECKPOINT"], "--public-key", signed["KEY"])
    told = tidegate("ledger", "verify", *words, "-o", "json")
    assert (told.exit_code, f'"headSeq": {len(TOLD)}' in told.stdout) == (0, True)
    assert tidegate("reports", "verify").exit_code == 0
