"""A signed checkpoint proves to a holder of one public key what a ledger was, and only that."""

from __future__ import annotations

import json
import shutil
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from tests.cli.conftest import Tidegate
from tests.parts.drawn import drawn


@pytest.fixture
def signed(tidegate: Tidegate, tmp_path: Path) -> Path:
    """The folder of a key pair and a checkpoint of the sample."""
    key, out = str(tmp_path / "audit.key"), str(tmp_path / "march.json")
    assert tidegate("ledger", "keygen", "--out", key).exit_code == 0
    assert tidegate("ledger", "checkpoint", "--key", key, "--out", out).exit_code == 0
    return tmp_path


NOT_COVERED = (
    "Not covered: reports, views, snapshots and archives' digests (tidegate reports verify).\n"
)


def verify(tidegate: Tidegate, signed: Path, *more: str) -> tuple[int, str]:
    given = ("--checkpoint", str(signed / "march.json"))
    key = ("--public-key", str(signed / "audit.key.pub"))
    result = tidegate("ledger", "verify", "--no-redecide", *given, *key, *more)
    return result.exit_code, result.stderr


def test_the_ledger_that_was_signed_verifies(tidegate: Tidegate, signed: Path) -> None:
    assert verify(tidegate, signed) == (0, NOT_COVERED)
    assert stat.S_IMODE((signed / "audit.key").stat().st_mode) == 0o600
    assert "PRIVATE" not in (signed / "audit.key.pub").read_text()


@pytest.mark.parametrize("kept", [78, 40, 1])
def test_a_tail_that_was_cut_off_is_found(
    tidegate: Tidegate, signed: Path, sample: Path, kept: int
) -> None:
    cut = signed / "cut.db"
    shutil.copy(sample, cut)
    with closing(sqlite3.connect(cut)) as conn, conn:
        conn.execute("DELETE FROM ledger_event WHERE seq > ?", (kept,))
    code, text = verify(tidegate, signed, "--ledger", str(cut))
    assert (code, "seq 79" in text, f"the end at {kept}" in text) == (1, True, True)


@drawn(30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.floats(0, 1, exclude_max=True), by=st.integers(1, 255))
def test_a_checkpoint_of_which_a_byte_was_changed_is_no_proof(
    tidegate: Tidegate, signed: Path, place: float, by: int
) -> None:
    file = signed / "march.json"
    data = file.read_bytes()
    at = int(place * len(data))
    changed = data[:at] + bytes([(data[at] + by) % 256]) + data[at + 1 :]
    file.write_bytes(changed)
    code, _ = verify(tidegate, signed)
    file.write_bytes(data)
    assert code == (0 if says_the_same(data, changed) else 1)


def says_the_same(data: bytes, changed: bytes) -> bool:
    """Tell whether only what is not signed differs: white space, case of digits, the key's name."""
    try:
        value, now = json.loads(data), json.loads(changed)
    except ValueError:
        return False
    return bool(
        value["claim"] == now.get("claim")
        and bytes.fromhex(value["signature"]).hex() == str(now.get("signature")).lower()
        and isinstance(now.get("key"), str)
    )


def test_a_checkpoint_of_another_partition_is_no_proof(tidegate: Tidegate, signed: Path) -> None:
    asked, text = verify(tidegate, signed, "--partition", "1")
    assert (asked, "is of partition 0" in text) == (2, True)
    file = signed / "march.json"
    file.write_text(file.read_text().replace('"partition": 0', '"partition": 1'))
    assert '"partition": 1' in file.read_text()
    code, text = verify(tidegate, signed)
    assert (code, "was not signed by" in text) == (1, True)


def test_another_key_proves_nothing(tidegate: Tidegate, signed: Path) -> None:
    other = str(signed / "other.key")
    tidegate("ledger", "keygen", "--out", other)
    shutil.copy(signed / "other.key.pub", signed / "audit.key.pub")
    code, text = verify(tidegate, signed)
    assert (code, "was not signed by" in text) == (1, True)


def test_a_ledger_that_does_not_hold_is_not_signed(
    tidegate: Tidegate, signed: Path, sample: Path
) -> None:
    altered, out = signed / "altered.db", signed / "never.json"
    shutil.copy(sample, altered)
    with closing(sqlite3.connect(altered)) as conn, conn:
        conn.execute("UPDATE ledger_event SET payload = payload || ' ' WHERE seq = 20")
    arguments = ("--key", str(signed / "audit.key"), "--out", str(out), "--ledger", str(altered))
    result = tidegate("ledger", "checkpoint", *arguments)
    assert (result.exit_code, "seq 20" in result.stderr, out.exists()) == (1, True, False)


def test_nothing_is_overwritten_and_files_that_are_none_are_reported(
    tidegate: Tidegate, signed: Path
) -> None:
    key, out = signed / "audit.key", signed / "march.json"
    assert tidegate("ledger", "keygen", "--out", str(key)).exit_code == 2
    for refused in ([key, out], [signed / "absent", signed / "x"], [out, signed / "x"]):
        arguments = ("--key", str(refused[0]), "--out", str(refused[1]))
        assert tidegate("ledger", "checkpoint", *arguments).exit_code in {1, 2}
    assert not (signed / "x").exists()
    alone = tidegate("ledger", "verify", "--checkpoint", str(out))
    assert (alone.exit_code, "given together" in alone.stderr) == (2, True)
