"""How far a receiver has been served: a file that a restart goes on from."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from tidegate.errors import TidegateError
from tidegate.notify.rules import Wait


class Served(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How far one receiver has been served."""

    seq: int  # every notice of an event up to this one is sent, or given up
    waiting: dict[str, Wait] = {}  # at that moment, by workload


class Position:
    """The file of one receiver, replaced after each notice."""

    def __init__(self, folder: Path, receiver: str) -> None:
        self._path = folder / f"{receiver}.json"

    def read(self) -> Served | None:
        """Return what the receiver got; None before the first time.

        Raises:
            TidegateError: the file is damaged.
        """
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=Served)
        except FileNotFoundError:
            return None
        except (msgspec.DecodeError, OSError) as error:
            raise TidegateError(
                f"{self._path}: {error} Remove it to continue with new events only."
            ) from error

    def write(self, served: Served) -> None:
        """Replace the file; it is on disk when this returns."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        new = self._path.with_suffix(".new")
        with new.open("wb") as file:
            file.write(msgspec.json.encode(served))
            file.flush()
            os.fsync(file.fileno())
        new.replace(self._path)
