"""Ledgers of the world: made empty, copied as a backup, and brought back."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from sqlalchemy import Engine

from store.access.engine import open_engine
from store.ledger import SqlLedger
from store.snapshots import SqlSnapshots
from tests.parts.migrated import copy_database, migrate
from tests.simulation.judging.ledger_watch import WatchedLedger
from tests.simulation.judging.wire import Taken


class LedgerBackup(NamedTuple):
    """A copy of a ledger's database, and how many entries that has."""

    ledger: WatchedLedger
    engine: Engine
    entries: int


class Ledgers:
    """Every ledger that there was, in order; the last one counts."""

    def __init__(self, clock_us: Callable[[], int], taken: Taken) -> None:
        self._clock_us, self._taken = clock_us, taken
        self.all = list[WatchedLedger]()
        self._engines = list[Engine]()

    def begin(self) -> None:
        """Put an empty ledger in the place of the one there is."""
        engine = open_engine("sqlite://")
        migrate(engine)
        self._engines.append(engine)
        self.all.append(self._over(engine))

    def back_up(self) -> LedgerBackup:
        """Copy the database as it is now."""
        copy = open_engine("sqlite://")
        self._engines.append(copy)
        copy_database(self._engine_of_now, copy)
        return LedgerBackup(self.all[-1], copy, len(self.all[-1].entries))

    def bring_back(self, kept: LedgerBackup) -> None:
        """Put a copy in the place of the ledger; orders of the lost tail are still under way."""
        brought = self._over(kept.engine)
        for entry in kept.ledger.entries[: kept.entries]:
            brought.entries.append(entry)
            brought.watch.take_in(entry)
        brought.watch.orders |= kept.ledger.watch.orders
        self.all.append(brought)

    def dispose(self) -> None:
        """Close every ledger."""
        for engine in self._engines:
            engine.dispose()

    @property
    def _engine_of_now(self) -> Engine:
        return self.all[-1].engine

    def _over(self, engine: Engine) -> WatchedLedger:
        ledger = SqlLedger(engine, clock_us=self._clock_us)
        return WatchedLedger(ledger, SqlSnapshots(engine), engine, self._taken)
