"""Indexes the events that name each workload: once as the ledger grows, not for each request.

Sixteen bytes for each mention and each submission, eight for each event of a rare type; no event
stays in memory.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from threading import Lock
from typing import TypeAlias

from store.reading.entries import EVERY, PAGE_ROWS, EntryFilter
from tidegate.cli.ledger.reading import Entries, Reader
from tidegate.contracts.codec import decode
from tidegate.contracts.decisions import VariantCreated
from tidegate.contracts.entry import Entry
from tidegate.contracts.facts import WorkloadChanged, WorkloadSubmitted

_BUCKETS = 4_096
_HASHES = 1 << 64
_Seqs: TypeAlias = "array[int]"
RARE = frozenset(
    {
        "BudgetReached",
        "BudgetRenewed",
        "ClockSkewed",
        "ClusterQueueDefined",
        "ClusterQueueRemoved",
        "CohortDefined",
        "CohortRemoved",
        "GapObserved",
        "ObservationRefused",
        "StreamReplaced",
        "WorkloadPreempted",
    }
)
"""Types of events that the page asks for among all events."""
_KEY = re.compile(r'"([a-z0-9][-a-z0-9]*/[a-z0-9][-a-z0-9.]*)"')
_BEGINNINGS = ("WorkloadSubmitted", "VariantCreated")
_WAITS = frozenset({*_BEGINNINGS, "QuotaReleased", "VariantDeleted", "WorkloadRequeued"})
"""Types of events with which a wait begins."""
_INACTIVE = "WorkloadDeactivated"
_GONE = frozenset({"WorkloadRemoved", "VariantDeleted"})


class Mentions:
    """A multimap of names to events, added to by one thread and read by others.

    A name is a hash here, salted anew in each process. Names share a bucket with others, in which
    they are sorted; within a name events are in order, since they come in order.
    """

    def __init__(self) -> None:
        self._buckets: list[tuple[_Seqs, _Seqs]] = [
            (array("Q"), array("Q")) for _ in range(_BUCKETS)
        ]
        self._lock = Lock()

    def add(self, name: str, seq: int) -> None:
        """Note that an event names something."""
        number = hash(name) % _HASHES
        names, seqs = self._buckets[number % _BUCKETS]
        with self._lock:
            at = bisect_right(names, number)
            seqs.insert(at, seq)
            names.insert(at, number)

    def of(self, name: str) -> _Seqs:
        """Return the events that name something, in order."""
        number = hash(name) % _HASHES
        names, seqs = self._buckets[number % _BUCKETS]
        with self._lock:
            return seqs[bisect_left(names, number) : bisect_right(names, number)]


class _EventTimes:
    """Events in order: the seq and the time of each."""

    __slots__ = ("seqs", "times")

    def __init__(self) -> None:
        self.seqs, self.times = array("Q"), array("q")

    def add(self, entry: Entry) -> None:
        self.seqs.append(entry.seq)
        self.times.append(entry.at_us)

    def time_of(self, seq: int) -> int | None:
        """Return the time of an event; None: it is not marked."""
        at = bisect_left(self.seqs, seq)
        return self.times[at] if at < len(self.seqs) and self.seqs[at] == seq else None


def _seqs() -> _Seqs:
    return array("Q")


class WorkloadIndex:
    """The events that submit and name each workload, and with which its wait began."""

    def __init__(self) -> None:
        self.seq = 0  # of the newest event that was looked at
        self._named, self._submitted = Mentions(), Mentions()  # by key, by namespace and name
        self._rare = defaultdict[str, _Seqs](_seqs)
        self._waits = _EventTimes()
        self._inactive = set[str]()

    def add(self, entry: Entry) -> None:
        """Note the workloads that the next event names."""
        assert entry.seq > self.seq, "events come in order"
        self.seq = entry.seq
        begun = self._record_submission(entry) if entry.type in _BEGINNINGS else ""
        if entry.type in RARE:
            self._rare[entry.type].append(entry.seq)
        if entry.type in _WAITS or self._is_reactivation(entry):
            self._waits.add(entry)
        # Nothing before its submission names a workload, so what looks like a key but was never
        # submitted is none.
        for key in {*_KEY.findall(entry.payload)}:
            if key == begun or self._named.of(key):
                self._named.add(key, entry.seq)

    def seqs_naming(self, keys: Sequence[str], after: int, until: int) -> list[int]:
        """Return where workloads are named, in order, with ``after`` < seq <= ``until``."""
        seqs = {seq for key in keys for seq in self._named.of(key) if after < seq <= until}
        return sorted(seqs)

    def submission_seqs(self, key: str, until: int) -> list[int]:
        """Return where workloads of a key, or of a job of that name, were submitted, in order."""
        return sorted({seq for seq in self._submitted.of(key) if seq <= until})

    def waiting_since(self, key: str, until: int) -> int | None:
        """Return when the newest wait of a workload began, in UTC µs; None: it never waited."""
        for seq in reversed(self._named.of(key)):
            if seq <= until and (at_us := self._waits.time_of(seq)) is not None:
                return at_us
        return None

    def rare_event_seqs(self, types: Iterable[str], until: int) -> list[int] | None:
        """Return where events of types are, the newest first; None: they are not all noted."""
        names = frozenset(types)
        if not names or not names <= RARE:
            return None
        return sorted(
            (seq for name in names for seq in self._rare.get(name, ()) if seq <= until),
            reverse=True,
        )

    def _is_reactivation(self, entry: Entry) -> bool:
        """Tell whether a workload that was inactive waits again from this event on."""
        if entry.type == _INACTIVE:
            self._inactive.add(_workload_of(entry))
        elif entry.type in _GONE and self._inactive:
            self._inactive.discard(_workload_of(entry))
        if entry.type != "WorkloadChanged":
            return False
        event = decode(entry.payload)
        assert isinstance(event, WorkloadChanged)
        if not event.active:
            self._inactive.add(event.workload)
            return False
        activates = event.workload in self._inactive
        self._inactive.discard(event.workload)
        return activates

    def _record_submission(self, entry: Entry) -> str:
        """Note where a workload is submitted; return its key."""
        event = decode(entry.payload)
        assert isinstance(event, WorkloadSubmitted | VariantCreated), "it is of these types"
        keys = {event.workload}
        if isinstance(event, WorkloadSubmitted):
            keys.add(f"{event.workload.partition('/')[0]}/{event.job.name}")
        for key in keys:
            self._submitted.add(key, entry.seq)
        return event.workload


def _workload_of(entry: Entry) -> str:
    return str(getattr(decode(entry.payload), "workload", ""))


class IndexedLedger:
    """A ledger whose mentions are looked up: see ``tidegate.cli.ledger.reading.Entries``."""

    def __init__(self, ledger: Entries, index: WorkloadIndex) -> None:
        self._ledger, self._index = ledger, index

    def read(self, after: int = 0, until: int | None = None) -> Iterator[Entry]:
        """See ``Entries.read``."""
        return self._ledger.read(after, until)

    def back(
        self, until: int, rows: int = PAGE_ROWS, narrow: EntryFilter = EVERY
    ) -> Iterator[Entry]:
        """See ``Entries.back``; rare types are looked up, however long ago they came."""
        seqs = (
            self._index.rare_event_seqs(narrow.types, until) if self._index.seq >= until else None
        )
        if seqs is None:
            return self._ledger.back(until, rows, narrow)
        return (entry for seq in seqs for entry in self._ledger.read(seq - 1, seq))

    def naming(self, texts: Sequence[str], after: int, until: int) -> Iterator[Entry]:
        """See ``Entries.naming``; what the index has not come to is searched."""
        if self._index.seq < until:
            yield from self._ledger.naming(texts, after, until)
            return
        for seq in self._index.seqs_naming([text.strip('"') for text in texts], after, until):
            yield from self._ledger.read(seq - 1, seq)

    def is_indexed(self, until: int) -> bool:
        """Tell whether the index has come so far."""
        return self._index.seq >= until

    def submitted(self, key: str, until: int) -> list[int] | None:
        """Return where a key was submitted, in order; None: the index has not come so far."""
        return self._index.submission_seqs(key, until) if self.is_indexed(until) else None

    def seq_at(self, at_us: int) -> int:
        """See ``Entries.seq_at``."""
        return self._ledger.seq_at(at_us)


class IndexedReader(Reader):
    """A reader that looks up where names were submitted."""

    __slots__ = ()

    def submissions(self, name: str, namespace: str = "") -> Iterator[Entry]:
        """See ``Reader.submissions``; what the index has not come to, or has not, is searched."""
        ledger, seqs = self.ledger, None
        if namespace and isinstance(ledger, IndexedLedger):
            seqs = ledger.submitted(f"{namespace}/{name}", self.end)
        if seqs is None:
            yield from super().submissions(name, namespace)
            return
        for seq in seqs:
            yield from self.ledger.read(seq - 1, seq)

    def seq_ranges(self, keys: Sequence[str]) -> list[tuple[int, int]]:
        """See ``Reader.seq_ranges``; what the index knows is not looked for in a part alone."""
        ledger = self.ledger
        if isinstance(ledger, IndexedLedger) and ledger.is_indexed(self.end):
            return [(1, self.end)]
        return super().seq_ranges(keys)
