"""A proxy between a client and PostgreSQL that cuts connections at the commit.

``Cut`` says when: what the client knows is the same each time, and what happened is not.
"""

from __future__ import annotations

import socket
import threading
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import Literal, Self

import pytest
from sqlalchemy import make_url

from tests.parts.postgresql import INSTALL

Cut = Literal["before", "behind", "late"]
"""The commit never arrives; it is done and its answer lost; it arrives once another client writes.

The last: a connection that the client took for dead was not, and the server goes on with it.
"""
_SOCKET = ".s.PGSQL.5432"
_COMMIT, _WRITES = b"COMMIT\0", b"UPDATE ledger_writer"
_PATIENCE_S = 10.0


def socket_folder(url: str) -> Path:
    """Return the folder of a server's socket, or skip: there is none of one in a container."""
    host = make_url(url).query.get("host")
    if not isinstance(host, str):
        pytest.skip(f"A PostgreSQL in a container has no socket file to stand before: {INSTALL}.")
    return Path(host)


class Cutter:
    """A socket in one folder that leads to the server in another; cuts as planned, else none."""

    def __init__(self, server: Path, folder: Path) -> None:
        self.planned = deque[Cut]()  # for the next commits
        self.done = list[Cut]()
        self._server, self._folder = server, folder
        self._written = threading.Event()  # a client wrote since a commit was held back
        self._open = set[socket.socket]()
        self._listener = socket.socket(socket.AF_UNIX)

    def __enter__(self) -> Self:
        self._listener.bind(str(self._folder / _SOCKET))
        self._listener.listen(16)
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._written.set()
        for connection in (self._listener, *self._open):
            _close(connection)

    def _accept(self) -> None:
        with suppress(OSError):  # closed at the end
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=[client], daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        server = socket.socket(socket.AF_UNIX)
        self._open |= {client, server}
        with client, server, suppress(OSError):
            server.connect(str(self._server / _SOCKET))
            line = _Line(client, server)
            threading.Thread(target=line.bring_back, daemon=True).start()
            self._forward(line)
            _close(server)
        self._open -= {client, server}

    def _forward(self, line: _Line) -> None:
        while data := line.client.recv(65_536):
            if _COMMIT in data and self.planned:
                self._cut(self.planned.popleft(), data, line)
                return
            line.server.sendall(data)
            if _WRITES in data:
                self._written.set()

    def _cut(self, how: Cut, commit: bytes, line: _Line) -> None:
        if how == "late":
            self._written.clear()
            _close(line.client)
            self._written.wait(_PATIENCE_S)
        if how != "before":
            line.mute.set()
            line.server.sendall(commit)
            line.answered.wait(_PATIENCE_S)
        self.done.append(how)
        _close(line.client)


class _Line:
    """One connection: what the client sends the cutter forwards, this brings the answers."""

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self.client, self.server = client, server
        self.mute = threading.Event()  # answers are swallowed
        self.answered = threading.Event()  # one was

    def bring_back(self) -> None:
        with suppress(OSError):
            while data := self.server.recv(65_536):
                if self.mute.is_set():
                    self.answered.set()
                else:
                    self.client.sendall(data)
        _close(self.client)


def _close(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
