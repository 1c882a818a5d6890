"""The partitions that are served, followed together, so that they are shown as of one moment.

An event that one partition wrote because of another's, as when it takes a tree that the other
released, is never shown without it: all are folded up to seqs that were read in one statement, and
no request reads meanwhile. A partition that begins later is found, and shown once it is folded.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from threading import RLock
from typing import NamedTuple

from store.reading.about import head_seqs
from tidegate.serve.ledger.caches import StartEstimates
from tidegate.serve.ledger.live import LiveState
from tidegate.serve.ledger.past import PastState


class FollowedPartition(NamedTuple):
    """A partition that is followed: its newest state, one of the past, and what it remembers."""

    live: LiveState
    past: PastState
    starts: StartEstimates

    @property
    def partition(self) -> int:
        """Return which one it is."""
        return self.live.partition


class LedgerFollower:
    """Follows partitions of a ledger; used by several threads."""

    def __init__(self, url: str, partition: int | None = None) -> None:
        """``partition`` alone; None: all that there are, and that there will be."""
        self._url, self._only = url, partition
        self._lock = RLock()  # of all states: one that is lent is as old as the others
        self._partitions = dict[int, FollowedPartition]()
        self._ends = dict[int, int]()
        self._is_read = False
        self._fault = ""

    def partitions(self) -> tuple[FollowedPartition, ...]:
        """Return the partitions that are read, in order."""
        followed = self._partitions
        return tuple(
            followed[number] for number in sorted(followed) if not followed[number].live.fault
        )

    @property
    def fault(self) -> str:
        """Return why nothing can be answered; empty: it can."""
        return self._fault or ("" if self._is_read else "starting")

    @fault.setter
    def fault(self, text: str) -> None:
        self._fault = text

    @property
    def ends(self) -> dict[int, int]:
        """Return how far each partition is folded, all at one moment; it waits for no page."""
        return dict(self._ends)

    @property
    def ledger_id(self) -> str:
        """Return the ledger's id; of several partitions each one's."""
        return ",".join(followed.live.ledger_id for followed in self.partitions())

    @property
    def verified_count(self) -> int:
        """Return up to how many events every hash was found to fit the one before it."""
        return sum(followed.live.verified_seq for followed in self.partitions())

    def poll(self) -> int:
        """Fold a page of each partition, or index one; return how many events it looked at.

        Raises:
            LedgerUnreachableError: the database does not answer; the next poll opens it again.
        """
        try:
            newest = self._target_seqs()
            lives = [self._open_partition(number).live for number in newest]
            pages = [(live, live.read(newest[live.partition])) for live in lives]
            # One partition's state is locked while an event is folded, not while a page is.
            with self._lock if len(lives) > 1 else nullcontext():
                folded = sum(live.fold(page) for live, page in pages)
                self._ends = {each.partition: each.live.seq for each in self.partitions()}
            noted = sum(live.index_page() for live in lives)
        except BaseException:
            self.close()
            raise
        self._is_read = self._is_read or not any(live.fault for live in lives)
        self._fault = ""
        return folded + noted

    def close(self) -> None:
        """Close what is open; what was folded stays."""
        for followed in list(self._partitions.values()):
            followed.live.close()

    def _target_seqs(self) -> Mapping[int, int | None]:
        """Return up to which seqs to fold: None, to the end."""
        if self._only is not None:
            return {self._only: None}
        first = next(iter(self._partitions.values()), None) or self._open_partition(None)
        newest = head_seqs(first.live.database().select)
        return newest if len(newest) > 1 else dict.fromkeys(newest)

    def _open_partition(self, number: int | None) -> FollowedPartition:
        """Return a partition that is followed from now on, if it was not; None: the first."""
        if number is not None and number in self._partitions:
            return self._partitions[number]
        live = LiveState(self._url, number, self._lock)
        live.database()  # which one is the first is known then
        followed = FollowedPartition(live, PastState(live.moments), StartEstimates())
        self._partitions = {**self._partitions, live.partition: followed}
        return followed
