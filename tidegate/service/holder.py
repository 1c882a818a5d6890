"""The identity of a process that wants a lease, and its dead predecessor on this machine.

A name is one process's and no other's, in any life. A process locks a file for as long as it lives
and writes its name there: a process with the lock knows that the process named there is dead, by
the kernel's word, and need not wait for its lease to run out. On another machine, or with no file,
that is unknown, and the lease decides.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from tidegate.service.logs import get_log

NAME_BYTES_MAX = 1_024
_log = get_log("holder")


class LeaseHolder(msgspec.Struct, frozen=True):
    """A process as leases know it."""

    name: str
    predecessor: str = ""  # a process that is dead for certain; empty: none is known


@contextmanager
def lock_holder_file(path: str, name: str) -> Generator[LeaseHolder]:
    """Lock a file until the block ends and yield our identity; an empty path names no file.

    While another process has the file it is left alone, and no predecessor is known.

    Raises:
        OSError: it cannot be opened or written.
    """
    if not path:
        yield LeaseHolder(name)
        return
    file = os.open(Path(path), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        yield LeaseHolder(name, _replace_name(file, name))
    finally:
        os.close(file)


def _replace_name(file: int, name: str) -> str:
    """Write our name into an unlocked file and return the previous one."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        _log.warning("another process has our place: its lease is waited for")
        return ""
    predecessor = os.pread(file, NAME_BYTES_MAX, 0).decode(errors="replace").strip()
    os.ftruncate(file, 0)
    os.pwrite(file, f"{name}\n".encode(), 0)
    os.fsync(file)
    return predecessor
