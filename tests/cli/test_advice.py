"""What is advised where a database, a bus or an API server cannot be joined: by what it says."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec
import psycopg
import pytest

from tests.cli.conftest import Tidegate
from tests.parts.postgresql import (
    Process,
    Server,
    needed_binaries,
    owned_folder,
    owner,
    wait_until,
)
from tidegate.cli.doctor.examining import CLOCKS_APART_US_MAX, examine_clocks
from tidegate.core.state.state import State

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def guarded() -> Iterator[str]:
    """Lend the URL of a PostgreSQL that asks for a password, {} where it stands."""
    programs = needed_binaries()
    with owned_folder() as folder:
        made = ["-D", str(folder / "data"), "-U", "tidegate", "-A", "trust"]
        subprocess.run([programs / "initdb", *made], check=True, capture_output=True, **owner())
        (folder / "hba").write_text("local all all scram-sha-256")
        with Process(programs, folder, f"hba_file={folder}/hba") as server:
            wait_until(lambda: "password" in refusal(server.url), "PostgreSQL did not start")
            yield server.url.replace("@", "{}@").replace("/{}?", "/postgres?")


def refusal(url: str) -> str:
    """Return what a server says to a client without a password."""
    with pytest.raises(psycopg.OperationalError) as caught:
        psycopg.connect(url.format("postgres"))
    return str(caught.value)


def advised(tidegate: Tidegate, url: str) -> str:
    """Return what the doctor advises; any other command says the same."""
    result = tidegate("doctor", "--only", "ledger", "--ledger", url, "-o", "json")
    [finding] = msgspec.json.decode(result.stdout)
    assert (result.exit_code, finding["code"]) == (1, "LedgerUnreachable")
    answer = tidegate("show", "usage", "--ledger", url)
    assert answer.exit_code == 3
    assert answer.stderr.endswith(f"to do: {finding['toDo']}\n")
    return str(finding["toDo"])


def test_a_wrong_or_missing_password(tidegate: Tidegate, guarded: str) -> None:
    wrong = advised(tidegate, guarded.format(":wrong"))
    assert wrong == "correct the password in --ledger or PGPASSWORD"
    assert advised(tidegate, guarded.format("")) == "set the password in --ledger or PGPASSWORD"


def test_a_missing_database_or_role(tidegate: Tidegate, postgresql: Server) -> None:
    url = postgresql.new_database()
    name = url.partition("?")[0].rpartition("/")[2]
    missing = advised(tidegate, url.replace(name, "nosuch"))
    assert missing == "create the database, then run `tidegate ledger migrate`"
    unknown = advised(tidegate, url.replace("tidegate@", "nosuch@"))
    assert unknown == "name an existing user in --ledger, or create the role"
    postgresql.drop(url)


def test_a_file_that_is_no_ledger(tidegate: Tidegate, tmp_path: Path) -> None:
    path = tmp_path / "text.db"
    path.write_text("some text " * 1_000)
    assert advised(tidegate, str(path)) == "name the ledger's SQLite file in --ledger"


def test_clocks_that_differ_are_named_each() -> None:
    assert examine_clocks(State(), 10, 20).code == "ClocksAgree"
    behind = examine_clocks(State(), 0, CLOCKS_APART_US_MAX + 1)
    assert (behind.code, "5 s behind" in behind.text) == ("ClocksDiffer", True)
    stepped = examine_clocks(State(skew_us=3_600_000_000), 10, 20)
    assert (stepped.code, "3600 s ahead of" in stepped.text) == ("BusClockStepped", True)
    assert "NATS" in stepped.to_do
