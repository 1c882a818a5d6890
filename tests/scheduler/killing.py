"""``python -m tests.scheduler.killing PLACE COUNT …``: the real scheduler, which dies at one place.

It is the service as it stands. Only at the place named, and when that is reached for the COUNTth
time, the process ends itself as a power cut would: by SIGKILL.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence

from sqlalchemy import Connection, event

from scheduler import __main__ as service
from store.ledger import SqlLedger
from tidegate.bus.jetstream.events import NatsEventPublisher
from tidegate.bus.jetstream.observations import NatsObservationReader
from tidegate.contracts.entry import Entry, Position, Positions

PLACES = (
    "before the commit",
    "inside the transaction",
    "after the commit",
    "before the publish",
    "after the publish",
    "before the purge",
    "after the purge",
)


class Doom:
    """Counts how often its place was reached."""

    def __init__(self, place: str, count: int) -> None:
        assert place in PLACES
        self._place, self._left = place, count

    def at(self, place: str) -> None:
        """End the process, if this is the place and its time has come."""
        if place == self._place:
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


class DoomedLedger(SqlLedger):
    """The ledger; only appends that hold entries count."""

    doom: Doom

    def append(
        self, epoch: int, after: int, entries: Sequence[Entry], positions: Positions
    ) -> None:
        """Append as ever, and meet one's fate around or within it."""
        if not entries:
            super().append(epoch, after, entries, positions)
            return
        self.doom.at("before the commit")

        def committing(_connection: Connection) -> None:
            self.doom.at("inside the transaction")

        event.listen(self._engine, "commit", committing)
        try:
            super().append(epoch, after, entries, positions)
        finally:
            event.remove(self._engine, "commit", committing)
        self.doom.at("after the commit")


def arm(doom: Doom) -> None:
    """Put the doom where the service passes."""
    DoomedLedger.doom = doom
    publish, forget = NatsEventPublisher.publish, NatsObservationReader.purge_through

    async def published(
        self: NatsEventPublisher, ledger_id: str, counts: Position, entries: Sequence[Entry]
    ) -> None:
        doom.at("before the publish")
        await publish(self, ledger_id, counts, entries)
        doom.at("after the publish")

    async def forgotten(self: NatsObservationReader, position: Position) -> None:
        doom.at("before the purge")
        await forget(self, position)
        doom.at("after the purge")

    NatsEventPublisher.publish = published  # type: ignore[method-assign]  # the point of this module
    NatsObservationReader.purge_through = forgotten  # type: ignore[method-assign]
    setattr(service, "SqlLedger", DoomedLedger)  # noqa: B010 - a name that it imported


if __name__ == "__main__":
    arm(Doom(sys.argv[1], int(sys.argv[2])))
    sys.argv = ["python -m scheduler", *sys.argv[3:]]
    sys.exit(service.main())
