"""Processes that outlive the command that started them, and are known again by pid and start time.

Nothing else is ever signalled: a pid alone may belong to another process by now.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

_POLL_S = 0.05
_STARTED, _STATE = 19, 0  # fields of /proc/PID/stat behind the command's name


class Process(msgspec.Struct, frozen=True, kw_only=True):
    """One process that we started."""

    name: str
    pid: int
    started: int  # clock ticks after boot
    command: tuple[str, ...]
    log: str


def spawn(
    name: str, command: Sequence[str], log: Path, environment: Mapping[str, str] = os.environ
) -> Process:
    """Start a process in a session of its own, with its output appended to a log.

    Its environment is this process's unless one is given.

    Raises:
        OSError: the program is not there or cannot be run.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    pid = os.posix_spawn(
        command[0],
        list(command),
        environment,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(log), flags, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
    )
    status = _proc_status(pid)
    assert status is not None, "a child is there until it is waited for"
    return Process(
        name=name, pid=pid, started=int(status[_STARTED]), command=tuple(command), log=str(log)
    )


def is_alive(process: Process) -> bool:
    """Return whether the process still runs, and is the one that we started.

    While any of its threads is still ending it has its files, and its ports with them.
    """
    _reap(process.pid)
    status = _proc_status(process.pid)
    if status is None or int(status[_STARTED]) != process.started:
        return False
    return status[_STATE] != "Z" or _thread_count(process.pid) > 1


def stop(process: Process, number: int = signal.SIGTERM, *, patience_s: float = 5.0) -> None:
    """Signal a process and wait until it is gone; kill it if it is not within the patience."""
    for step in (number, signal.SIGKILL):
        if not is_alive(process):
            return
        os.kill(process.pid, step)
        if _is_gone_within(process, patience_s):
            return


def last_lines(process: Process, count: int = 5) -> str:
    """Return the end of a process's log."""
    log = Path(process.log)
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    return "\n".join(lines[-count:])


def _is_gone_within(process: Process, patience_s: float) -> bool:
    deadline = time.monotonic() + patience_s
    while is_alive(process):
        if time.monotonic() >= deadline:
            return False
        time.sleep(_POLL_S)
    return True


def _proc_status(pid: int) -> list[str] | None:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None


def _thread_count(pid: int) -> int:
    try:
        return sum(1 for _ in Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return 0


def _reap(pid: int) -> None:
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return  # another process's child
