"""Which events name which workload: found once as the ledger grows, not by searching each time.

Eight bytes for each mention and each submission; no event stays in memory.
"""

from __future__ import annotations

import re
from array import array
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from store.reading.entries import EVERY, PAGE_ROWS, Narrow
from tidegate.cli.commands.show.positions import RECENT
from tidegate.cli.ledger.reading import Entries, Reader
from tidegate.contracts.codec import decode
from tidegate.contracts.decisions import VariantCreated
from tidegate.contracts.entry import Entry
from tidegate.contracts.facts import WorkloadSubmitted
from tidegate.contracts.messages.subjects import place_of

_KEY = re.compile(r'"([a-z0-9][-a-z0-9]*/[a-z0-9][-a-z0-9.]*)"')
_BEGINNINGS = ("WorkloadSubmitted", "VariantCreated")
_Seqs: TypeAlias = "array[int]"


def _seqs() -> _Seqs:
    return array("Q")


class Index:
    """Where workloads are submitted and named, and when each ClusterQueue last admitted some."""

    def __init__(self) -> None:
        self.seq = 0  # of the newest event that was looked at
        self._named = dict[str, _Seqs]()
        self._submitted = defaultdict[str, _Seqs](_seqs)
        self.admitted = defaultdict[str, deque[int]](lambda: deque(maxlen=RECENT))

    def add(self, entry: Entry) -> None:
        """Note whom the next event names."""
        assert entry.seq > self.seq, "events come in order"
        self.seq = entry.seq
        if entry.type in _BEGINNINGS:
            self._begins(entry)
        elif entry.type == "WorkloadAdmitted":
            self.admitted[place_of(entry.subject)[0]].append(entry.at_us)
        # Nothing before its submission names a workload, so what looks like a key but was never
        # submitted is none.
        for key in {*_KEY.findall(entry.payload)} & self._named.keys():
            self._named[key].append(entry.seq)

    def naming(self, keys: Sequence[str], after: int, until: int) -> list[int]:
        """Return where workloads are named, in order, with ``after`` < seq <= ``until``."""
        seqs = {seq for key in keys for seq in self._named.get(key, ()) if after < seq <= until}
        return sorted(seqs)

    def submissions(self, name: str, until: int) -> list[int]:
        """Return where workloads of a name, or of a job of that name, were submitted, in order."""
        return sorted({seq for seq in self._submitted.get(name, ()) if seq <= until})

    def _begins(self, entry: Entry) -> None:
        event = decode(entry.payload)
        if isinstance(event, WorkloadSubmitted | VariantCreated):
            key = event.workload
            names = {key.partition("/")[2]}
            if isinstance(event, WorkloadSubmitted):
                names.add(event.job.name)
            self._named.setdefault(key, _seqs())
            for name in names:
                self._submitted[name].append(entry.seq)


class IndexedLedger:
    """A ledger whose mentions are looked up: see ``tidegate.cli.ledger.reading.Entries``."""

    def __init__(self, ledger: Entries, index: Index) -> None:
        self._ledger, self._index = ledger, index

    def read(self, after: int = 0, until: int | None = None) -> Iterator[Entry]:
        """See ``Entries.read``."""
        return self._ledger.read(after, until)

    def back(self, until: int, rows: int = PAGE_ROWS, narrow: Narrow = EVERY) -> Iterator[Entry]:
        """See ``Entries.back``."""
        return self._ledger.back(until, rows, narrow)

    def naming(self, texts: Sequence[str], after: int, until: int) -> Iterator[Entry]:
        """See ``Entries.naming``; what the index has not come to is searched."""
        if self._index.seq < until:
            yield from self._ledger.naming(texts, after, until)
            return
        for seq in self._index.naming([text.strip('"') for text in texts], after, until):
            yield from self._ledger.read(seq - 1, seq)

    def submitted(self, name: str, until: int) -> list[int] | None:
        """Return where a name was submitted, in order; None: the index has not come so far."""
        return self._index.submissions(name, until) if self._index.seq >= until else None

    def seq_at(self, at_us: int) -> int:
        """See ``Entries.seq_at``."""
        return self._ledger.seq_at(at_us)


class IndexedReader(Reader):
    """A reader that looks up where names were submitted."""

    __slots__ = ()

    def submissions(self, name: str) -> Iterator[Entry]:
        """See ``Reader.submissions``; what the index has not come to is searched."""
        ledger = self.ledger
        results = ledger.submitted(name, self.end) if isinstance(ledger, IndexedLedger) else None
        if results is None:
            yield from super().submissions(name)
            return
        for seq in results:
            yield from self.ledger.read(seq - 1, seq)
