"""A PostgreSQL with a standby that has every commit before it is answered, and its failover.

Import the fixture ``pair`` into a conftest. Containers do not serve here: a test kills the primary.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.parts.postgresql import (
    Process,
    needed_binaries,
    owned_folder,
    owner,
    wait_for,
    wait_until,
)

AS_US = ("-U", "tidegate")
_STREAMS = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"


class Pair:
    """A primary, and a standby that follows it; one URL names both."""

    def __init__(self, primary: Process, standby: Process) -> None:
        self._primary, self._standby = primary, standby
        self.folders = [each.url.rpartition("=")[2] for each in (primary, standby)]
        self.url = f"postgresql://tidegate@/postgres?host={','.join(self.folders)}"

    def synchronize(self) -> None:
        """Let no commit be answered from now on before the standby has it."""
        execute(self._primary, "ALTER SYSTEM SET synchronous_standby_names = '*'")
        execute(self._primary, "SELECT pg_reload_conf()")
        wait_until(lambda: execute(self._primary, _STREAMS) == 1, "the standby does not follow")

    def fail_over(self) -> None:
        """Kill the primary for good, and promote the standby."""
        self._primary.kill()
        execute(self._standby, "SELECT pg_promote()")


@pytest.fixture
def pair() -> Iterator[Pair]:
    """Lend two servers for one test, or skip and say what is missing."""
    programs = needed_binaries()
    with owned_folder() as first, owned_folder() as second:
        run(programs, "initdb", "-D", str(first / "data"), *AS_US, "-A", "trust", "-N")
        with Process(programs, first) as primary:
            wait_for(primary.url.format("postgres"))
            follow = ["-R", "-X", "stream", "-c", "fast", "-h", str(first), *AS_US]
            run(programs, "pg_basebackup", "-D", str(second / "data"), *follow)
            with Process(programs, second) as standby:
                wait_for(standby.url.format("postgres"))
                made = Pair(primary, standby)
                made.synchronize()
                yield made


def run(programs: Path, name: str, *arguments: str) -> None:
    """Run one of PostgreSQL's programs as the server's user."""
    subprocess.run([programs / name, *arguments], check=True, capture_output=True, **owner())


def execute(server: Process, statement: str) -> object:
    """Run one statement on one server, outside any transaction; return the first value."""
    with psycopg.connect(server.url.format("postgres"), autocommit=True) as connection:
        done = connection.execute(statement.encode())
        row = done.fetchone() if done.description else None
    return row[0] if row else None
