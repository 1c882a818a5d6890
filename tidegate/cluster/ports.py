"""Free ports of loopback, for servers that are started again on the same one.

A port that the system gives to outgoing connections may be in use for a while whenever its server
is down, and then the server cannot come back. So those are left out.
"""

from __future__ import annotations

import socket
from contextlib import ExitStack, suppress
from pathlib import Path
from random import SystemRandom

_OUTGOING = Path("/proc/sys/net/ipv4/ip_local_port_range")
_LEAST, _MOST = 10_240, 65_535
_USUAL = (32_768, 65_535)
"""What systems give to outgoing connections where it is not written down, taken together."""


def free_ports(count: int) -> tuple[int, ...]:
    """Return different TCP ports that nobody has now and no outgoing connection gets later.

    Raises:
        OSError: there are not so many.
    """
    candidates = lasting_ports(_OUTGOING.read_text() if _OUTGOING.exists() else "")
    with ExitStack() as held:
        found = list[int]()
        for port in SystemRandom().sample(candidates, len(candidates)):
            if len(found) == count:
                break
            with suppress(OSError):
                held.enter_context(socket.create_server(("127.0.0.1", port)))
                found.append(port)
        if len(found) < count:
            raise OSError(f"Fewer than {count} ports of loopback are free.")
        return tuple(found)


def lasting_ports(outgoing: str) -> list[int]:
    """Return the ports outside of a range ``"<least> <most>"``; empty: the usual one.

    Where that leaves none, all are returned.
    """
    least, most = map(int, outgoing.split()) if outgoing else _USUAL
    every = range(_LEAST, _MOST + 1)
    return [port for port in every if not least <= port <= most] or list(every)
