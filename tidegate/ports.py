"""Free ports of loopback, for servers that are started again on the same one.

A port that the system gives to outgoing connections may be in use for a while whenever its server
is down, and then the server cannot come back. So those are left out, and so is what was given out
here before: a note in a folder of this machine keeps a port for some hours. No process listens on a
port to find out whether it is free before the note is his: its server may be about to come back.
"""

from __future__ import annotations

import os
import socket
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from random import SystemRandom

KEPT_S = 6 * 3600
"""How long a port is given to no other process."""
_OUTGOING = Path("/proc/sys/net/ipv4/ip_local_port_range")
_LEAST, _MOST = 10_240, 65_535
_USUAL = (32_768, 65_535)
"""What systems give to outgoing connections where it is not written down, taken together."""


def free_ports(count: int, notes: Path | None = None, among: Sequence[int] = ()) -> tuple[int, ...]:
    """Return different TCP ports that are free now and that no outgoing connection gets later.

    They are of those in ``among``, by default of all that last.

    Nor does a later call get them, in any process of this user, as long as ``notes`` keeps them: a
    folder, by default below the system's own for temporary files.

    Raises:
        OSError: there are not so many, or the folder cannot be written.
    """
    folder = notes or Path(tempfile.gettempdir()) / f"tidegate-ports-{os.getuid()}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    candidates = among or lasting_ports(_OUTGOING.read_text() if _OUTGOING.exists() else "")
    ports = list[int]()
    for port in SystemRandom().sample(candidates, len(candidates)):
        if len(ports) == count:
            break
        if _is_free(port, folder / str(port)):
            ports.append(port)
    if len(ports) < count:
        raise OSError(f"Fewer than {count} ports of loopback are free.")
    return tuple(ports)


def lasting_ports(outgoing: str) -> list[int]:
    """Return the ports outside of a range ``"<least> <most>"``; empty: the usual one.

    Where that leaves none, all are returned.
    """
    least, most = map(int, outgoing.split()) if outgoing else _USUAL
    every = range(_LEAST, _MOST + 1)
    return [port for port in every if not least <= port <= most] or list(every)


def _is_free(port: int, note: Path) -> bool:
    """Return whether a port can be given out, and note that it is."""
    try:
        _keep(note)
    except FileExistsError:
        return False
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        note.unlink(missing_ok=True)
        return False
    return True


def _keep(note: Path) -> None:
    """Note that a port is given out.

    Raises:
        FileExistsError: it was given out before, a short time ago.
    """
    with suppress(FileNotFoundError):
        if time.time() - note.stat().st_mtime > KEPT_S:
            note.unlink()
    os.close(os.open(note, os.O_CREAT | os.O_EXCL, 0o600))
