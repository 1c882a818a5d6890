"""The newest state of a ledger, folded as events are appended; answers about now are read from it.

The ledger is folded twice. From the newest snapshot, the state is ready after seconds; from the
first event, with notes on the way: which events name which workload, their context, and whether the
hash chain holds. Once the second fold has reached the end, the first is dropped.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import ExitStack, contextmanager
from threading import RLock
from typing import Any

from store.reading.database import Database
from store.reading.entries import PAGE_ROWS
from tidegate.cli.ledger.reading import Reader, open_reader
from tidegate.contracts.chain import GENESIS, verify
from tidegate.contracts.codec import decode
from tidegate.contracts.entry import Entry
from tidegate.core.folding.fold import apply_recorded
from tidegate.core.state.state import State
from tidegate.errors import ChainError
from tidegate.replay.rebuild import FORGOTTEN_EACH, drop_decided
from tidegate.replay.story.context import ContextFolder
from tidegate.serve.ledger.index import WorkloadIndex
from tidegate.serve.ledger.memory import free_state, with_small_cache
from tidegate.serve.ledger.notes import ContextNotes
from tidegate.serve.ledger.past import StateCheckpoints
from tidegate.service.logs import get_log


class LiveState:
    """Folds what a ledger holds, page by page; used by several threads."""

    def __init__(self, url: str, partition: int | None = None, lock: RLock | None = None) -> None:
        """``partition``: whose ledger; None: the first's. ``lock`` of states, if it is others'."""
        self._url, self._partition = url, partition
        self._resources = ExitStack()
        self._reader: Reader | None = None
        self._lock = RLock() if lock is None else lock
        self._indexer = ContextFolder(State())
        self._state = State()  # of now; the one that is looked at, once that has come to now
        self.index, self.notes, self.moments = WorkloadIndex(), ContextNotes(), StateCheckpoints()
        self._head, self._forgotten_seq, self._is_behind = GENESIS, 0, True
        self.broken_seq = 0  # the first event whose hash does not fit; 0: none so far
        self.identity: dict[str, Any] = {}  # what the ledger says of itself that changes no more
        self.fault = "starting"  # why it is not ready; empty: it is

    @property
    def partition(self) -> int:
        """Return whose ledger it is; the first's is known once it is open."""
        return self._partition or 0

    @property
    def ledger_id(self) -> str:
        """Return the ledger's id; empty: it is not open yet."""
        return str(self.identity.get("ledgerId", ""))

    @property
    def seq(self) -> int:
        """Return the seq of the newest event that was folded."""
        return self._state.seq

    @property
    def verified_seq(self) -> int:
        """Return up to which event every hash was found to fit the one before it."""
        return self._head.seq

    @contextmanager
    def state(self) -> Generator[State]:
        """Lend the newest state; it does not change meanwhile, and is not to be changed."""
        with self._lock:
            yield self._state

    def read(self, until: int | None = None) -> list[Entry]:
        """Return the next page to fold, up to an event or to the newest.

        No state is locked, however long the database takes.

        Raises:
            LedgerUnreachableError: the database does not answer; the next call opens it again.
        """
        with self._close_on_error():
            reader = self._reader or self._open()
            end = self.seq + PAGE_ROWS
            return list(reader.ledger.read(self.seq, end if until is None else min(end, until)))

    def fold(self, page: Sequence[Entry]) -> int:
        """Fold what ``read`` returned, and return how many events that are."""
        with self._close_on_error():
            if self._state is self._indexer.state:
                self._index_entries(page)
            else:
                self._fold_page(page)
        if len(page) < PAGE_ROWS:
            self.fault = ""
        self._is_behind = len(page) == PAGE_ROWS
        return len(page)

    def index_page(self) -> int:
        """Look at a page from the first event on, if all was folded. Errors as ``read``."""
        if self._is_behind or self._state is self._indexer.state:
            return 0
        with self._close_on_error():
            reader = self._reader or self._open()
            end = min(self.index.seq + PAGE_ROWS, self.seq)
            looked = self._index_entries(reader.ledger.read(self.index.seq, end))
            if self.index.seq == self.seq:
                with self._lock:
                    free_state(self._state)
                    self._state = self._indexer.state
            return looked

    def database(self) -> Database:
        """Return the database that it is read from, open. Errors as ``read``."""
        with self._close_on_error():
            database = (self._reader or self._open()).database
        assert database is not None, "an archive is not served"
        return database

    @contextmanager
    def _close_on_error(self) -> Generator[None]:
        """Close what is open if the body fails."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close what is open; what was folded stays."""
        self._reader = None
        self._resources.close()

    def _open(self) -> Reader:
        reader = self._resources.enter_context(
            open_reader(self._url, partition=self._partition, reports=False)
        )
        self._partition = reader.partition
        if not self._state.seq:
            state, _ = reader.start_state()
            with self._lock:
                self._state = state
        info = with_small_cache(reader).info()
        self.identity = {name: info[name] for name in ("ledgerId", "cluster", "software")}
        self._reader = reader
        return reader

    def _fold_page(self, page: Iterable[Entry]) -> None:
        """Fold a page onto what was kept."""
        with self._lock:
            for entry in page:
                apply_recorded(self._state, decode(entry.payload))

    def _index_entries(self, entries: Iterable[Entry]) -> int:
        """Fold what comes next from the first event on, and note all that there is to it."""
        looked = 0
        for entry in entries:
            self._verify(entry)
            with self._lock:
                around = self._indexer.fold(entry, decode(entry.payload))
                self.notes.add(entry.seq, entry.turn, around)
                self.index.add(entry)
                self.moments.add(self._indexer.state)
            looked += 1
        self._forget_passed()
        return looked

    def _forget_passed(self) -> None:
        """Drop what the state need not keep, now and then: it costs as much as there are queues."""
        if self.index.seq - self._forgotten_seq >= FORGOTTEN_EACH:
            with self._lock:
                drop_decided(self._indexer.state)
                self._indexer.forget_gone(self._forgotten_seq)
            self._forgotten_seq = self.index.seq

    def _verify(self, entry: Entry) -> None:
        """Follow the chain as far as it holds; entries that do not fit are reported."""
        if self.broken_seq:
            return
        try:
            (self._head,) = verify([entry], self._head)
        except ChainError:
            self.broken_seq = entry.seq
            get_log("serve").error("the ledger's chain is broken", seq=entry.seq)
