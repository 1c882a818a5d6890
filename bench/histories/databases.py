"""The databases that the ledger is measured on: a file, and a PostgreSQL that keeps what it says.

A server of its own is started from this machine's binaries, with every commit on disk; a URL names
another, empty database.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, Engine, text

from store.access.engine import open_engine
from store.schema import migrate
from tests.parts.postgresql import Process, binaries, owned_folder, owner, wait_for

_TICKS_A_SECOND = 100
_DURABLE = ("fsync=on", "synchronous_commit=on", "full_page_writes=on")


@contextmanager
def postgresql() -> Generator[str | None]:
    """Lend the URL of an empty database of a server of its own; None: there are no binaries."""
    programs = binaries()
    if programs is None:
        yield None
        return
    with owned_folder() as folder:
        arguments = ["-D", str(folder / "data"), "-U", "tidegate", "-A", "trust", "-E", "UTF8"]
        subprocess.run(
            [programs / "initdb", *arguments], check=True, capture_output=True, **owner()
        )
        with Process(programs, folder, *_DURABLE) as server:
            url = server.url.format("postgres")
            wait_for(url)
            yield url


@contextmanager
def empty_ledger(url: str, folder: Path | None) -> Generator[str]:
    """Lend the URL of an empty ledger: a file of its own, or the database, emptied at the end."""
    with tempfile.TemporaryDirectory(dir=folder) as subfolder:
        ledger = url or str(Path(subfolder) / "ledger.db")
        migrate.upgrade(ledger)
        try:
            yield ledger
        finally:
            if url:
                migrate.downgrade(ledger, "base")


@contextmanager
def open_ledger(ledger: str, *, read_only: bool = False) -> Generator[Engine]:
    """Lend an engine."""
    engine = open_engine(ledger, read_only=read_only)
    try:
        yield engine
    finally:
        engine.dispose()


def server_cpu_s(conn: Connection) -> float:
    """Return the CPU seconds of the connection's server process, if it runs on this machine."""
    if conn.dialect.name != "postgresql":
        return 0.0
    stat = Path(f"/proc/{conn.scalar(text('SELECT pg_backend_pid()'))}/stat")
    try:
        fields = stat.read_text().rpartition(") ")[2].split()
    except OSError:
        return 0.0
    user, system = fields[11:13]
    return (int(user) + int(system)) / _TICKS_A_SECOND
