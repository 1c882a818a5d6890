"""Who reads a world's ledger beside its services: the server, a live display and a notifier."""

from __future__ import annotations

from pathlib import Path

from store.access.engine import open_engine
from tests.parts.migrated import copy_database
from tests.simulation.judging.ledger_watch import WatchedLedger
from tidegate.cli.live import follow
from tidegate.contracts.codec import decode
from tidegate.notify.configuration import Rule, When
from tidegate.notify.rules import Rules
from tidegate.serve.ledger.partitions import following
from tidegate.subscribe import LedgerEvent

RULES = (Rule(when=tuple(When)), Rule(waiting_longer_than="1s"))


class Readers:
    """They read when they are told to."""

    def __init__(self, file: Path, ledger: WatchedLedger) -> None:
        self.ledger, self.notices = ledger, 0
        self._engine = open_engine(f"sqlite:///{file}")
        self.served = following.LedgerFollower(str(file))
        self.live, self.rules = follow.LedgerFollower(ledger), Rules(RULES)

    def read(self) -> None:
        """Read to the ledger's end."""
        copy_database(self.ledger.engine, self._engine)
        while self.served.poll():
            pass
        for entry, _ in self.live.poll():
            event = LedgerEvent(entry.seq, decode(entry.payload), entry)
            self.notices += len(list(self.rules.record_event(event)))
            self.notices += len(list(self.rules.due_notices(entry.at_us)))
        self.rules.take_changes()

    def close(self) -> None:
        self.served.close()
        self._engine.dispose()
