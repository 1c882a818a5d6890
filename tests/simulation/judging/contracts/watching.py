"""How objects are watched: from what is known on, and after a list where the server forgot."""

from __future__ import annotations

import re
from http import HTTPStatus

from tests.simulation.judging.verdict import demand

_VERSION = re.compile(rb'"resourceVersion":"(\d+)"')
_GONE = b'"code":410'


class Watching:
    """Of one process: it dies with it."""

    def __init__(self) -> None:
        self._told = dict[str, int]()  # the newest version that it was told, by path
        self._expired = set[str]()  # paths that have to be listed

    def listed(self, path: str, status: int, body: bytes) -> None:
        """Note a list."""
        if status == HTTPStatus.OK:
            self._expired.discard(path)
            self._note(path, body)

    def begin(self, path: str, version: str) -> None:
        """Object to a watch that begins behind what is known, or without the list that is due."""
        demand(path not in self._expired, "loss", f"{path} is watched on, and was to be listed")
        number = self._told.get(path, 0)
        text = f"{path} is watched from {version} on, and {number} is the newest that was told"
        demand(int(version or 0) <= number, "loss", text)

    def hear(self, path: str, line: bytes) -> None:
        """Note what a watch tells."""
        if line.startswith(b'{"type":"ERROR"') and _GONE in line:
            self.expire(path)
        else:
            self._note(path, line)

    def expire(self, path: str) -> None:
        """Note that the server has forgotten what follows."""
        self._expired.add(path)

    def _note(self, path: str, body: bytes) -> None:
        number = max(map(int, _VERSION.findall(body)), default=0)
        self._told[path] = max(self._told.get(path, 0), number)
