"""Each tampering is found by the command that is named for it, or by none, as the docs say.

``REWRITE=1`` writes docs/tamperings.md anew, for the diff to be read.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Tidegate
from tests.cli.tamperings import NO_COMMAND, REPORTS, TAMPERINGS, VERIFY, Tampering
from tests.parts.sample import ENTRIES

DOCS = Path(__file__).parents[2] / "docs"
HEAD = """# Tamperings that are tried

Each of these is done to a copy of the small ledger that `ledger sample` writes, as by an attacker
who may write to its database and knows how rows are sealed. `tests/cli/test_tamperings.py` runs
the command and expects exit code 1 and the place; this page is written by the same test. What is
found in general, and why: [the ledger](ledger.md#tampering). `tests/store/test_tampering.py`
changes any byte of any column of any row besides.

| what is done | found by `tidegate …` | which says |
| --- | --- | --- |
"""


def page() -> str:
    return HEAD + "".join(map(row, TAMPERINGS))


def row(tampering: Tampering) -> str:
    words = [word.lower() if word in {"CHECKPOINT", "KEY"} else word for word in tampering.found_by]
    command = f"`{' '.join(words)}`" if words else "no command that asks the database alone"
    is_sql = tampering.name.split()[0].isupper()
    name = f"`{tampering.name}`" if is_sql else tampering.name
    return f"| {name} | {command} | {tampering.said} |\n"


@pytest.fixture
def signed(tidegate: Tidegate, tmp_path: Path) -> dict[str, str]:
    """A checkpoint of before, kept elsewhere, and its public key."""
    pytest.importorskip("cryptography")
    key, out = tmp_path / "audit.key", tmp_path / "before.json"
    assert tidegate("ledger", "keygen", "--out", str(key)).exit_code == 0
    assert tidegate("ledger", "checkpoint", "--key", str(key), "--out", str(out)).exit_code == 0
    return {"CHECKPOINT": str(out), "KEY": f"{key}.pub"}


@pytest.mark.parametrize(
    "tampering", TAMPERINGS, ids=[tampering.name[:60] for tampering in TAMPERINGS]
)
def test_it_is_found_by_the_command_that_is_named(
    tidegate: Tidegate, sample: Path, tmp_path: Path, signed: dict[str, str], tampering: Tampering
) -> None:
    copy = tmp_path / "copy.db"
    shutil.copy(sample, copy)
    tampering.change(copy)
    for command in [tampering.found_by] if tampering.found_by else [VERIFY, REPORTS]:
        words = [signed.get(word, word) for word in command]
        answer = tidegate(*words, "--ledger", str(copy))
        assert answer.exit_code == (1 if tampering.found_by else 0), answer.output
        assert not tampering.found_by or tampering.said in answer.stdout + answer.stderr


def test_they_are_of_as_many_kinds_as_were_tried_and_the_docs_name_what_is_never_found() -> None:
    assert len({tampering.name for tampering in TAMPERINGS}) == len(TAMPERINGS) >= 37
    text = (DOCS / "ledger.md").read_text()
    assert f"{len(TAMPERINGS)} kinds of tampering" in text
    for tampering in TAMPERINGS:
        if tampering.found_by == NO_COMMAND:
            assert tampering.said in text


def test_the_page_lists_each() -> None:
    file = DOCS / "tamperings.md"
    if os.environ.get("REWRITE"):
        file.write_text(page())
    assert file.read_text() == page()


def test_an_untouched_ledger_has_nothing_to_find(
    tidegate: Tidegate, signed: dict[str, str]
) -> None:
    words = ("--checkpoint", signed["CHECKPOINT"], "--public-key", signed["KEY"])
    answer = tidegate("ledger", "verify", *words, "-o", "json")
    assert (answer.exit_code, f'"headSeq": {len(ENTRIES)}' in answer.stdout) == (0, True)
    assert tidegate("reports", "verify").exit_code == 0
