"""How far a receiver has been served: a file that each notice makes a few bytes longer.

Its first line is the whole of it, each further line what changed since. Once the lines since are
as long as the whole was, the file is replaced: so a notice costs as much whatever else waits.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from tidegate.errors import TidegateError
from tidegate.notify.rules import Wait

APPENDED_MIN = 64 * 1_024
"""Bytes that are appended at least before the file is replaced."""


class Served(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How far one receiver has been served."""

    seq: int  # every notice of an event up to this one is sent, or given up
    waiting: dict[str, Wait] = {}  # at that moment, by workload


class Change(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What changed since."""

    seq: int
    waiting: dict[str, Wait | None] = {}  # None: it waits no more


class Position:
    """The file of one receiver, written after each notice."""

    def __init__(self, folder: Path, receiver: str) -> None:
        self._path = folder / f"{receiver}.json"
        self._left_bytes = 0  # to be appended before it is replaced

    def read(self) -> Served | None:
        """Return what the receiver got; None before the first time.

        Raises:
            TidegateError: the file is damaged.
        """
        try:
            first, *changes = self._path.read_bytes().splitlines(keepends=True) or [b""]
            served = msgspec.json.decode(first, type=Served)
            for line in changes:
                if line.endswith(b"\n"):  # else the end came before it was on disk
                    served = _changed(served, msgspec.json.decode(line, type=Change))
        except FileNotFoundError:
            return None
        except (msgspec.DecodeError, OSError) as error:
            raise TidegateError(
                f"{self._path}: {error} Remove it to continue with new events only."
            ) from error
        return served

    def append(self, change: Change) -> bool:
        """Write what changed; it is on disk when this returns. False: it is to be replaced."""
        line = msgspec.json.encode(change) + b"\n"
        if len(line) > self._left_bytes:
            return False
        self._left_bytes -= len(line)
        _write(self._path, "ab", line)
        return True

    def write(self, served: Served) -> None:
        """Replace the file; it is on disk when this returns."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        new, line = self._path.with_suffix(".new"), msgspec.json.encode(served) + b"\n"
        _write(new, "wb", line)
        new.replace(self._path)
        self._left_bytes = max(len(line), APPENDED_MIN)


def _changed(served: Served, change: Change) -> Served:
    for workload, wait in change.waiting.items():
        if wait is None:
            served.waiting.pop(workload, None)
        else:
            served.waiting[workload] = wait
    return Served(seq=change.seq, waiting=served.waiting)


def _write(path: Path, mode: str, line: bytes) -> None:
    with path.open(mode) as file:
        file.write(line)
        file.flush()
        os.fsync(file.fileno())
