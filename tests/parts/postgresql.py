"""A real PostgreSQL for tests: from this machine's binaries, else from a container.

The fixture ``postgresql`` is in every test's reach. A server from binaries listens on a socket file
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
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Self, TypedDict

import psycopg
import pytest

START_S = 60
SYSTEM_USERS = ("postgres", "nobody")
"""Users of the machine that may own the server if the tests run as root."""
INSTALL = "put initdb and postgres on the PATH (Debian: apt-get install postgresql)"


class Server:
    """A running PostgreSQL, in which tests make empty databases."""

    def __init__(self, url: str, restart: Callable[[], None] | None = None) -> None:
        self._url = url  # with {} where the database's name stands
        self._restart = restart
        self._numbers = count(1)

    def new_database(self, template: str = "") -> str:
        """Make a database, empty or a copy of the one at this URL, and return its URL.

        No client may be connected to the template.
        """
        name = f"test_{os.getpid()}_{next(self._numbers)}"
        copied = f" TEMPLATE {_name(template)}" if template else ""
        self.execute(f"CREATE DATABASE {name}{copied}")
        return self._url.format(name)

    def drop(self, url: str) -> None:
        """Remove a database, and cut the clients that are still connected to it."""
        self.execute(f"DROP DATABASE {_name(url)} WITH (FORCE)")

    def restart(self) -> None:
        """End the server, and every connection with it, and start it on the same data."""
        if self._restart is None:
            pytest.skip(f"A PostgreSQL in a container comes back on another port: {INSTALL}.")
        self._restart()
        wait_for(self._url.format("postgres"))

    def execute(self, statement: str) -> None:
        """Run one statement as the superuser, outside any transaction."""
        with psycopg.connect(self._url.format("postgres"), autocommit=True) as connection:
            connection.execute(statement.encode())


def _name(url: str) -> str:
    return url.partition("?")[0].rpartition("/")[2]


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server]:
    """Lend a PostgreSQL for the whole run, or skip and say what is missing."""
    if (programs := binaries()) is not None:
        yield from _from_binaries(programs)
    elif _engine_answers():
        yield from _from_container()
    else:
        pytest.skip(f"PostgreSQL is missing: {INSTALL}, or start a container engine.")


def needed_binaries() -> Path:
    """Return the folder of PostgreSQL's own programs, or skip and say what is missing."""
    programs = binaries()
    if programs is None:
        pytest.skip(f"PostgreSQL's own programs are missing: {INSTALL}.")
    return programs


def binaries() -> Path | None:
    """Return the folder that holds both initdb and postgres, the newest version first."""
    on_path = shutil.which("initdb")
    installed = sorted(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name)
    )
    folders = ([Path(on_path).resolve().parent] if on_path else []) + installed[::-1]
    return next((path for path in folders if (path / "postgres").exists()), None)


@contextmanager
def own_server(programs: Path) -> Generator[Server]:
    """Run a server from binaries until the block ends."""
    yield from _from_binaries(programs)


def _from_binaries(programs: Path) -> Iterator[Server]:
    with owned_folder() as folder:
        made = ["-D", str(folder / "data"), "-U", "tidegate", "-A", "trust", "-E", "UTF8", "-N"]
        subprocess.run([programs / "initdb", *made], check=True, capture_output=True, **owner())
        with Process(programs, folder) as server:
            wait_for(server.url.format("postgres"))
            yield Server(server.url, server.again)


@contextmanager
def owned_folder() -> Generator[Path]:
    """Lend a folder that the server's user may write to; it is removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="tidegate-pg-"))
    try:
        os.chown(folder, owner().get("user", -1), owner().get("group", -1))  # -1: as it is
        yield folder
    finally:
        shutil.rmtree(folder)


class Process:
    """A server process that ends with its block; no fsync, since no test cuts the power."""

    def __init__(self, programs: Path, folder: Path, *settings: str) -> None:
        settings = (
            f"unix_socket_directories={folder}",
            "listen_addresses=",
            "fsync=off",
            *settings,
        )
        given = [part for setting in settings for part in ("-c", setting)]
        self.url = f"postgresql://tidegate@/{{}}?host={folder}"
        self._command = [str(programs / "postgres"), "-D", str(folder / "data"), *given]
        self._log = folder / "log"
        self._process = self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._stop(signal.SIGINT)  # closes every connection and stops

    def again(self) -> None:
        """End the server, and every connection with it, and start it on the same data."""
        self._stop(signal.SIGINT)
        self._process = self._start()

    def kill(self) -> None:
        """End the server and all of its processes as a machine that fails does."""
        self._stop(signal.SIGKILL)

    def _start(self) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as log:
            return subprocess.Popen(
                self._command, stdout=log, stderr=log, start_new_session=True, **owner()
            )

    def _stop(self, how: signal.Signals) -> None:
        if self._process.poll() is None:
            at = self._process.pid if how is signal.SIGINT else -self._process.pid
            os.kill(at, how)
        self._process.wait(timeout=START_S)


def _from_container() -> Iterator[Server]:
    from testcontainers.community.postgres import PostgresContainer  # noqa: PLC0415 - slow

    with PostgresContainer("postgres:17", username="tidegate", dbname="postgres") as container:
        host, port = container.get_container_host_ip(), container.get_exposed_port(5432)
        yield Server(f"postgresql://tidegate:{container.password}@{host}:{port}/{{}}")


class Owner(TypedDict, total=False):
    """The user of a process; empty: the user of the tests."""

    user: int
    group: int
    extra_groups: list[int]


def owner() -> Owner:
    """Return the user to start the server as: PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    for name in SYSTEM_USERS:
        try:
            user = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    pytest.skip(
        f"PostgreSQL refuses to run as root, and there is no user {' or '.join(SYSTEM_USERS)}: "
        "create one, or run the tests as another user than root."
    )


def _engine_answers() -> bool:
    docker = shutil.which("docker")  # a command without an engine is common
    return (
        docker is not None
        and not subprocess.run([docker, "info"], capture_output=True, check=False).returncode
    )


def wait_for(url: str) -> None:
    """Wait until a server answers."""
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
