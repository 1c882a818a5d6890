"""The newest state of a ledger, folded as it grows: what the answers of now are drawn from."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from threading import Lock
from typing import Any

from store.reading.entries import PAGE_ROWS
from tidegate.cli.ledger.reading import Reader, open_reader
from tidegate.contracts.codec import decode
from tidegate.contracts.entry import Entry
from tidegate.core.folding.fold import apply_recorded
from tidegate.core.state.chain import GENESIS, verify
from tidegate.core.state.state import State
from tidegate.errors import ChainError
from tidegate.serve.ledger.index import Index
from tidegate.serve.ledger.sparing import spared
from tidegate.service.logs import get_log


class Live:
    """Folds what a ledger holds, page by page; used by several threads."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._opened = ExitStack()
        self._reader: Reader | None = None
        self._lock = Lock()
        self._state = State()
        self.index = Index()
        self._head = GENESIS
        self.broken_seq = 0  # the first event whose hash does not fit; 0: none so far
        self.identity: dict[str, Any] = {}  # what the ledger says of itself that changes no more
        self.fault = "starting"  # why it is not ready; empty: it is

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

    def poll(self) -> int:
        """Fold a page, or index one; return how many events it looked at: 0, nothing is new.

        Raises:
            LedgerUnreachableError: the database does not answer; the next poll opens it again.
        """
        try:
            return self._page(self._reader or self._open())
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close what is open; what was folded stays."""
        self._reader = None
        self._opened.close()

    def _open(self) -> Reader:
        reader = self._opened.enter_context(open_reader(self._url, reports=False))
        if not self._state.seq:
            state, _ = reader.start()
            with self._lock:
                self._state = state
        told = spared(reader).info()
        self.identity = {name: told[name] for name in ("ledgerId", "cluster", "software")}
        self._reader = reader
        return reader

    def _page(self, reader: Reader) -> int:
        looked = 0
        begun = self._state.seq
        with self._lock:
            for entry in reader.ledger.read(begun, begun + PAGE_ROWS):
                apply_recorded(self._state, decode(entry.payload))
                looked += 1
        if looked < PAGE_ROWS:
            self.fault = ""
            looked += self._indexed(reader)
        return looked

    def _indexed(self, reader: Reader) -> int:
        """Index what was folded, up to a page; what comes before a kept state is folded by none."""
        looked, begun = 0, self.index.seq
        for entry in reader.ledger.read(begun, min(begun + PAGE_ROWS, self._state.seq)):
            self._verify(entry)
            with self._lock:
                self.index.add(entry)
            looked += 1
        return looked

    def _verify(self, entry: Entry) -> None:
        """Follow the chain as far as it holds: what does not is answered from, and told of."""
        if self.broken_seq:
            return
        try:
            (self._head,) = verify([entry], self._head)
        except ChainError:
            self.broken_seq = entry.seq
            get_log("serve").error("the ledger's chain is broken", seq=entry.seq)
