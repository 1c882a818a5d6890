"""A real PostgreSQL for tests: from this machine's binaries, else from a container.

Import the fixture ``postgresql`` into a conftest. A server from binaries listens on a socket file
alone and is removed, with all its data, after the run.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any, Self

import psycopg
import pytest

START_S = 60
MISSING = (
    "PostgreSQL is missing: put initdb and postgres on the PATH (Debian: apt-get install "
    "postgresql) or start a container engine"
)


class Server:
    """A running PostgreSQL, in which tests make empty databases."""

    def __init__(self, url: str, restart: Callable[[], None] | None = None) -> None:
        self._url = url  # with {} where the database's name stands
        self._restart = restart
        self._numbers = count(1)

    def new_database(self) -> str:
        """Make an empty database and return its URL."""
        name = f"test_{os.getpid()}_{next(self._numbers)}"
        self.execute(f"CREATE DATABASE {name}")
        return self._url.format(name)

    def drop(self, url: str) -> None:
        """Remove a database, whoever is still connected to it."""
        name = url.partition("?")[0].rpartition("/")[2]
        self.execute(f"DROP DATABASE {name} WITH (FORCE)")

    def restart(self) -> None:
        """End the server, and every connection with it, and start it on the same data."""
        if self._restart is None:
            pytest.skip("a PostgreSQL in a container comes back on another port")
        self._restart()
        _wait_for(self._url.format("postgres"))

    def execute(self, statement: str) -> None:
        """Run one statement as the superuser, outside any transaction."""
        with psycopg.connect(self._url.format("postgres"), autocommit=True) as connection:
            connection.execute(statement.encode())


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server]:
    """Lend a PostgreSQL for the whole run, or skip and say what is missing."""
    if (binaries := _binaries()) is not None:
        yield from _from_binaries(binaries)
    elif _engine_answers():
        yield from _from_container()
    else:
        pytest.skip(MISSING)


def _binaries() -> Path | None:
    """Return the folder that holds both initdb and postgres, the newest version first."""
    on_path = shutil.which("initdb")
    installed = sorted(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name)
    )
    folders = ([Path(on_path).resolve().parent] if on_path else []) + installed[::-1]
    return next((path for path in folders if (path / "postgres").exists()), None)


def _from_binaries(binaries: Path) -> Iterator[Server]:
    folder = Path(tempfile.mkdtemp(prefix="tidegate-pg-"))
    owner = _unprivileged()
    if owner:
        os.chown(folder, owner["user"], owner["group"])
    try:
        made = ["-D", str(folder / "data"), "-U", "tidegate", "-A", "trust", "-E", "UTF8", "-N"]
        subprocess.run([binaries / "initdb", *made], check=True, capture_output=True, **owner)
        with _running(binaries, folder, owner) as server:
            url = f"postgresql://tidegate@/{{}}?host={folder}"
            _wait_for(url.format("postgres"))
            yield Server(url, server.again)
    finally:
        shutil.rmtree(folder)


class _running:  # noqa: N801 - read as a with statement
    """A server process that ends with its block; no fsync, since no test cuts the power."""

    def __init__(self, binaries: Path, folder: Path, owner: dict[str, Any]) -> None:
        settings = (f"unix_socket_directories={folder}", "listen_addresses=", "fsync=off")
        given = [part for setting in settings for part in ("-c", setting)]
        self._command = [str(binaries / "postgres"), "-D", str(folder / "data"), *given]
        self._log, self._owner = folder / "log", owner
        self._process = self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._stop()

    def again(self) -> None:
        self._stop()
        self._process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as log:
            return subprocess.Popen(self._command, stdout=log, stderr=log, **self._owner)

    def _stop(self) -> None:
        self._process.send_signal(signal.SIGINT)  # closes every connection and stops
        self._process.wait(timeout=START_S)


def _from_container() -> Iterator[Server]:
    from testcontainers.community.postgres import PostgresContainer  # noqa: PLC0415 - slow

    with PostgresContainer("postgres:17", username="tidegate", dbname="postgres") as container:
        host, port = container.get_container_host_ip(), container.get_exposed_port(5432)
        yield Server(f"postgresql://tidegate:{container.password}@{host}:{port}/{{}}")


def _unprivileged() -> dict[str, Any]:
    """Return whom to start the server as: PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            user = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    pytest.skip("PostgreSQL refuses to run as root, and there is no user postgres or nobody")


def _engine_answers() -> bool:
    docker = shutil.which("docker")  # a command without an engine is common
    return (
        docker is not None
        and not subprocess.run([docker, "info"], capture_output=True, check=False).returncode
    )


def _wait_for(url: str) -> None:
    wait_until(lambda: _answers(url), "PostgreSQL did not start")


def _answers(url: str) -> bool:
    try:
        psycopg.connect(url).close()
    except psycopg.OperationalError:
        return False
    return True


def wait_until(true: Callable[[], bool], else_say: str, within_s: float = START_S) -> None:
    """Wait until a condition holds; fail with a sentence if it does not in time."""
    deadline = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < deadline, else_say
        time.sleep(0.02)
