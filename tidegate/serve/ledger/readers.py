"""Open ledgers for requests: a few connections that are lent and given back."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from queue import Empty, LifoQueue
from typing import NamedTuple

from tidegate.cli.ledger.reading import Reader, open_reader
from tidegate.errors import NotSupportedError
from tidegate.serve.ledger.live import Live
from tidegate.serve.ledger.noted.index import IndexedLedger, IndexedReader
from tidegate.serve.ledger.sparing import spared

ROWS_MAX = 10_000
"""A report of more rows is refused: their memory would be all requests'."""
PAST_MAX = 50_000
"""Reports of the past are made from all events up to it: of more they are refused."""


class _Opened(NamedTuple):
    closing: ExitStack
    reader: Reader


class Readers:
    """Lends readers of one ledger; each is used by one thread at a time."""

    def __init__(self, url: str, live: Live, past_max: int = PAST_MAX) -> None:
        self._url, self._live, self._past_max = url, live, past_max
        self._idle = LifoQueue[_Opened]()

    @contextmanager
    def lend(self, seq: int = 0, past_us: int = 0, *, reports: bool = False) -> Generator[Reader]:
        """Lend a reader of the ledger as it was after ``seq``, up to ``past_us``; 0: as it is.

        Raises:
            LedgerUnreachableError: the database does not answer.
            NotSupportedError: ``reports`` are asked of a past that is too long.
        """
        if seq and reports:
            with self._past(seq) as reader:
                yield reader._replace(past_us=past_us)
            return
        opened = self._take()
        try:
            ledger = IndexedLedger(opened.reader.ledger, self._live.index)
            fields = opened.reader._replace(
                ledger=ledger,
                end=seq or self._live.seq,
                rows_max=ROWS_MAX,
                past=bool(seq),
                past_us=past_us,
            )
            yield IndexedReader(*fields)
        except BaseException:
            opened.closing.close()  # it may be what failed
            raise
        self._idle.put(opened)

    def close(self) -> None:
        """Close every reader that is not lent."""
        while not self._idle.empty():
            self._idle.get_nowait().closing.close()

    def _take(self) -> _Opened:
        try:
            return self._idle.get_nowait()
        except Empty:
            closing = ExitStack()
            reader = closing.enter_context(open_reader(self._url, partition=self._live.partition))
            return _Opened(closing, spared(reader._replace(alone=False)))

    @contextmanager
    def _past(self, seq: int) -> Generator[Reader]:
        if seq > self._past_max:
            raise NotSupportedError(
                f"This was {seq} events into the ledger, and a server makes reports of the past "
                f"for at most {self._past_max}: ask for the tree, shares, why or events of that "
                "moment, or use --as-of on the command line."
            )
        with open_reader(self._url, str(seq), self._live.partition) as reader:
            yield reader._replace(rows_max=ROWS_MAX)
