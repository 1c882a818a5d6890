"""Sockets that notice a peer that is gone without a word."""

from __future__ import annotations

import socket
from typing import Any

KEEPALIVE_S, KEEPALIVE_EVERY_S, KEEPALIVES = 15, 5, 3
"""A peer that answers nothing is given up after about 30 s, whether we wait to read or to write."""
_OPTIONS = (
    ("TCP_KEEPIDLE", KEEPALIVE_S),
    ("TCP_KEEPALIVE", KEEPALIVE_S),  # what macOS calls it
    ("TCP_KEEPINTVL", KEEPALIVE_EVERY_S),
    ("TCP_KEEPCNT", KEEPALIVES),
    ("TCP_USER_TIMEOUT", 1_000 * (KEEPALIVE_S + KEEPALIVE_EVERY_S * KEEPALIVES)),
)


def keepalive_socket(address: tuple[int, int, int, str, Any]) -> socket.socket:
    """Return a socket with TCP keepalive for an address of ``socket.getaddrinfo``.

    What a system does not know of these options is left out.
    """
    family, kind, protocol, *_ = address
    opened = socket.socket(family, kind, protocol)
    enable_keepalive(opened)
    return opened


def enable_keepalive(opened: socket.socket) -> None:
    """Enable TCP keepalive on a socket; see ``keepalive_socket``."""
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _OPTIONS:
        if hasattr(socket, name):
            opened.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
