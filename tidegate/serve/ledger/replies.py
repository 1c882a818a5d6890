"""Answers that were sent, remembered by what was asked: a ledger's past never changes."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import NamedTuple, TypeAlias

BYTES_MAX = 16 * 2**20
"""What all of them together may take; one alone an eighth of it."""
ENTRY_BYTES = 2_048
"""What is counted of each beside its body: a question may be longer than its answer."""
_Key: TypeAlias = tuple[object, ...]


class Reply(NamedTuple):
    """An answer as it is sent."""

    kind: str
    body: bytes


class ReplyCache:
    """The answers that were asked for last, up to so many bytes."""

    def __init__(self, bytes_max: int = BYTES_MAX) -> None:
        self._bytes_max, self._bytes = bytes_max, 0
        self._replies = OrderedDict[_Key, Reply]()
        self._lock = Lock()

    def get(self, key: _Key) -> Reply | None:
        """Return the answer to a question; None: it is not remembered."""
        with self._lock:
            reply = self._replies.get(key)
            if reply is not None:
                self._replies.move_to_end(key)
            return reply

    def put(self, key: _Key, reply: Reply) -> None:
        """Remember an answer, unless it is a large one."""
        if len(reply.body) > self._bytes_max // 8:
            return
        with self._lock:
            if (before := self._replies.pop(key, None)) is not None:
                self._bytes -= _size(before)
            self._bytes += _size(reply)
            self._replies[key] = reply
            while self._bytes > self._bytes_max:
                self._bytes -= _size(self._replies.popitem(last=False)[1])


def _size(reply: Reply) -> int:
    return len(reply.body) + ENTRY_BYTES
