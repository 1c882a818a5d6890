"""Checkpoints that follow each other, and proofs that an event is under one.

A verifier in JavaScript, that knows docs/ledger.md alone, checks the proofs.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import stat
import subprocess
from collections.abc import Callable
from contextlib import closing
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.conftest import Tidegate
from tests.parts.drawn import drawn
from tests.parts.sample import TURNS, append, filled
from tidegate.cli.proving import merkle

VERIFIER = Path(__file__).parents[2] / "docs" / "examples" / "verify" / "verify.mjs"
LINES_MAX = 200


class Audit:
    """A folder with a key, a ledger that grows, and its checkpoints."""

    def __init__(self, folder: Path, tidegate: Tidegate) -> None:
        self.folder, self._tidegate = folder, tidegate
        self.ledger, self.into = folder / "growing.db", folder / "kept"
        assert self.run("ledger", "keygen", "--out", self.at("key")) == (0, "")

    def at(self, name: str) -> str:
        return str(self.folder / name)

    def run(self, *words: str) -> tuple[int, str]:
        """Return the exit code, and of a failure what was said."""
        done = self._tidegate(*words)
        return done.exit_code, done.stderr if done.exit_code else ""

    def sign(self) -> tuple[int, str]:
        given = ("--key", self.at("key"), "--into", str(self.into), "--ledger", str(self.ledger))
        return self.run("ledger", "checkpoint", *given)

    def verify(self, checkpoint: Path, *more: str) -> tuple[int, str]:
        given = ("--after", str(checkpoint), "--public-key", self.at("key.pub"))
        return self.run("ledger", "verify", *given, "--ledger", str(self.ledger), *more)

    def kept(self) -> list[Path]:
        return sorted(self.into.iterdir())

    def prove(self, seq: int, checkpoint: Path) -> Path:
        out = self.folder / f"proof-{seq}-{checkpoint.stem}.json"
        given = ("--checkpoint", str(checkpoint), "--out", str(out), "--ledger", str(self.ledger))
        assert self.run("ledger", "prove", str(seq), *given) == (0, "")
        return out


@pytest.fixture
def audit(tidegate: Tidegate, tmp_path: Path) -> Audit:
    """Checkpoints of three moments of the sample."""
    made = Audit(tmp_path, tidegate)
    with filled(f"sqlite:///{made.ledger}", TURNS[:5]) as ledger:
        for turns in ([], TURNS[5:12], TURNS[12:]):
            for turn in turns:
                append(ledger, turn)
            assert made.sign() == (0, "")
    return made


def test_each_checkpoint_names_the_one_before_and_is_the_same_as_one_from_the_start(
    audit: Audit,
) -> None:
    claims = [json.loads(file.read_bytes())["claim"] for file in audit.kept()]
    assert [claim["seq"] for claim in claims] == [TURNS[at][-1].seq for at in (4, 11, -1)]
    for before, claim in pairwise(claims):
        signed = "tidegate checkpoint 1\n" + json.dumps(before, separators=(",", ":"))
        assert claim["before"] == sha256(signed.encode()).hexdigest()
    alone = ("--key", audit.at("key"), "--out", audit.at("alone.json"))
    assert audit.run("ledger", "checkpoint", *alone, "--ledger", str(audit.ledger)) == (0, "")
    whole = json.loads((audit.folder / "alone.json").read_bytes())["claim"]
    assert whole == {name: value for name, value in claims[-1].items() if name != "before"}
    assert stat.S_IMODE(audit.kept()[0].stat().st_mode) == 0o444


def test_without_anything_new_none_is_written(audit: Audit) -> None:
    assert audit.sign() == (0, "")
    assert len(audit.kept()) == 3


@pytest.mark.parametrize("more", [(), ("--no-redecide",)])
def test_what_came_since_a_checkpoint_is_verified_and_changes_of_it_are_found(
    audit: Audit, more: tuple[str, ...]
) -> None:
    first, second, _ = audit.kept()
    assert audit.verify(first, *more)[0] == 0
    later = json.loads(second.read_bytes())["claim"]["seq"]
    with closing(sqlite3.connect(audit.ledger)) as conn, conn:
        conn.execute("UPDATE ledger_event SET payload = payload || ' ' WHERE seq = ?", (later - 1,))
    code, text = audit.verify(first, *more)
    assert (code, f"seq {later - 1}" in text) == (1, True)
    assert audit.verify(second, "--no-redecide")[0] == 0  # that is before it


def test_a_history_that_was_made_anew_is_not_signed_on(audit: Audit) -> None:
    audit.ledger.unlink()
    with filled(f"sqlite:///{audit.ledger}", TURNS[:8]):
        pass
    code, text = audit.sign()
    assert (code, "the end at" in text) == (1, True)
    file = audit.kept()[-1]
    file.chmod(0o644)
    file.write_bytes(file.read_bytes().replace(b'"partition": 0', b'"partition": 1'))
    assert "was not signed by this key" in audit.sign()[1]


def test_options_that_do_not_go_together_are_refused(audit: Audit) -> None:
    key = ("ledger", "checkpoint", "--key", audit.at("key"))
    wrong = ((), ("--every", "1h"), ("--into", "a", "--out", "b"), ("--into", "a", "--after", "b"))
    for words in wrong:
        assert audit.run(*key, *words)[0] == 2
    assert audit.run(*key, "--into", audit.at("kept"), "--every", "often")[0] == 2
    assert audit.run("ledger", "verify", "--after", str(audit.kept()[0]))[0] == 2


@pytest.fixture
def node(audit: Audit) -> Callable[[Path], tuple[int, str]]:
    """Run the verifier on a proof."""
    text = shutil.which("node")
    if text is None:
        pytest.skip("Node.js is missing to run the verifier: install it (https://nodejs.org).")

    def run(proof: Path) -> tuple[int, str]:
        command = [text, str(VERIFIER), str(proof), audit.at("key.pub")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        return done.returncode, done.stdout + done.stderr

    return run


def test_a_verifier_without_tidegate_takes_proofs_and_refuses_altered_ones(
    audit: Audit, node: Callable[[Path], tuple[int, str]]
) -> None:
    assert len(VERIFIER.read_text().splitlines()) <= LINES_MAX
    early, _, late = audit.kept()
    for seq, checkpoint in ((1, early), (TURNS[4][-1].seq, early), (43, late), (79, late)):
        proof = audit.prove(seq, checkpoint)
        code, text = node(proof)
        (entry,) = [entry for turn in TURNS for entry in turn if entry.seq == seq]
        assert (code, entry.payload in text) == (0, True), text
    for number, change in enumerate(CHANGES):
        altered: dict[str, Any] = json.loads(next(audit.folder.glob("proof-43-*")).read_bytes())
        change(altered)
        file = audit.folder / f"altered-{number}.json"
        file.write_text(json.dumps(altered))
        assert node(file)[0] == 1, number


def _payload(proof: dict[str, Any]) -> None:
    proof["rows"][0]["payload"] += " "


def _column(proof: dict[str, Any]) -> None:
    proof["rows"][-1]["at_us"] += 1


def _leaf(proof: dict[str, Any]) -> None:
    proof["leaf"] += 1


def _shorter(proof: dict[str, Any]) -> None:
    del proof["path"][-1]


def _cut(proof: dict[str, Any]) -> None:
    del proof["rows"][-1]


def _claim(proof: dict[str, Any]) -> None:
    proof["checkpoint"]["claim"]["seq"] += 1


def _absent(proof: dict[str, Any]) -> None:
    proof["seq"] = 1


CHANGES = (_payload, _column, _leaf, _shorter, _cut, _claim, _absent)


@drawn(60)
@given(count=st.integers(1, 70), data=st.data())
def test_a_tree_is_that_of_rfc_6962_and_each_path_leads_to_its_root(
    count: int, data: st.DataObject
) -> None:
    hashes = [sha256(str(number).encode()).digest() for number in range(count)]
    tree = merkle.Tree()
    cut = data.draw(st.integers(0, count))
    for digest in hashes[:cut]:
        tree.add(digest)
    tree = merkle.Tree(tree.leaves, tree.peaks)
    for digest in hashes[cut:]:
        tree.add(digest)
    assert count.bit_count() == len(tree.peaks)
    assert merkle.root_hash(tree.peaks) == by_definition(hashes)
    index = data.draw(st.integers(0, count - 1))
    assert merkle.audit_path(hashes, index) == path_by_definition(hashes, index)


def by_definition(hashes: list[bytes]) -> bytes:
    """Return MTH of RFC 6962, section 2.1."""
    if len(hashes) == 1:
        return sha256(b"\0" + hashes[0]).digest()
    cut = split(len(hashes))
    return sha256(b"\1" + by_definition(hashes[:cut]) + by_definition(hashes[cut:])).digest()


def path_by_definition(hashes: list[bytes], index: int) -> list[bytes]:
    """Return PATH of RFC 6962, section 2.1.1."""
    if len(hashes) == 1:
        return []
    cut = split(len(hashes))
    if index < cut:
        return [*path_by_definition(hashes[:cut], index), by_definition(hashes[cut:])]
    return [*path_by_definition(hashes[cut:], index - cut), by_definition(hashes[:cut])]


def split(count: int) -> int:
    cut = 1
    while cut * 2 < count:
        cut *= 2
    return cut
