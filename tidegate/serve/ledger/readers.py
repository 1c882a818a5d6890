"""Open ledgers for requests: a few connections that are lent and given back."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from queue import Empty, LifoQueue
from typing import NamedTuple

from store.reading.about import partitions
from tidegate.cli.ledger.reading import Reader, open_reader, reports_as_of
from tidegate.errors import NotSupportedError
from tidegate.serve.ledger.index import IndexedLedger, IndexedReader
from tidegate.serve.ledger.memory import with_small_cache
from tidegate.serve.ledger.partitions.following import FollowedPartition, LedgerFollower
from tidegate.serve.ledger.partitions.positions import Ends, event_count, reader_at

ROWS_MAX = 10_000
"""A report of more rows is refused: their memory would be all requests'."""
PAST_MAX = 50_000
"""Reports of the past are made from all events up to it: of more they are refused."""


class _PooledReaders(NamedTuple):
    closing: ExitStack
    readers: dict[int, Reader]  # by partition; they share a connection


class ReaderPool:
    """Lends readers of one ledger; each is used by one thread at a time."""

    def __init__(
        self,
        url: str,
        following: LedgerFollower,
        partition: int | None = None,
        past_max: int = PAST_MAX,
    ) -> None:
        """``partition`` alone, its reports too; None: all that are followed."""
        self._url, self._following, self._only = url, following, partition
        self._past_max = past_max
        self._idle = LifoQueue[_PooledReaders]()

    @contextmanager
    def lend(
        self, ends: Ends | None = None, past_us: int = 0, *, reports: bool = False
    ) -> Generator[Reader]:
        """Lend a reader of the ledger as it was ``ends``, up to ``past_us``; None: as it is.

        The partitions that are followed are beside the first.

        Raises:
            LedgerUnreachableError: the database does not answer.
            NotSupportedError: ``reports`` are asked of a past that is too long.
        """
        if ends is not None and reports:
            with self._past_reader(ends, past_us) as reader:
                yield reader
            return
        followed = self._following.partitions()
        opened = self._take_idle({each.partition for each in followed})
        try:
            first, *others = (
                _indexed_reader(opened.readers[each.partition], each) for each in followed
            )
            now = first._replace(others=tuple(others), alone=self._is_one_of_several(first))
            yield now if ends is None else reader_at(now, ends, past_us)
        except BaseException:
            opened.closing.close()  # it may be what failed
            raise
        self._idle.put(opened)

    def close(self) -> None:
        """Close every reader that is not lent."""
        with suppress(Empty):
            while True:
                self._idle.get_nowait().closing.close()

    def _take_idle(self, partitions: set[int]) -> _PooledReaders:
        """Return what is open, and has the partitions: one may have begun since it was opened."""
        with suppress(Empty):
            while True:
                opened = self._idle.get_nowait()
                if partitions <= opened.readers.keys():
                    return opened
                opened.closing.close()
        with ExitStack() as closing:
            reader = closing.enter_context(open_reader(self._url, partition=self._only))
            readers = {
                each.partition: each for each in with_small_cache(reader).partition_readers()
            }
            return _PooledReaders(closing.pop_all(), readers)

    def _is_one_of_several(self, reader: Reader) -> bool:
        """Return whether one partition is served of a ledger that has others by now."""
        assert reader.database is not None, "an archive is not served"
        return self._only is not None and len(partitions(reader.database.select)) > 1

    @contextmanager
    def _past_reader(self, then: Ends, past_us: int) -> Generator[Reader]:
        if event_count(then) > self._past_max:
            raise NotSupportedError(
                f"This was {event_count(then)} events into the ledger, and a server makes "
                f"reports of the past for at most {self._past_max}: ask for the tree, shares, why "
                "or events of that moment, or use --as-of on the command line."
            )
        with open_reader(self._url, partition=self._only, reports=False) as now:
            reader = reader_at(now, then, past_us)
            with reports_as_of(reader) as reports:
                yield reader._replace(rows_max=ROWS_MAX, reports=reports, alone=False)


def _indexed_reader(reader: Reader, followed: FollowedPartition) -> IndexedReader:
    ledger = IndexedLedger(reader.ledger, followed.live.index)
    end = followed.live.seq
    return IndexedReader(
        *reader._replace(ledger=ledger, end=end, rows_max=ROWS_MAX, alone=False, others=())
    )
