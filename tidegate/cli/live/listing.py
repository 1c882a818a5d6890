"""Selects the events to print: a workload's, those from a moment on, or the newest.

Those of several partitions are one history, in the order of time.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from heapq import merge
from itertools import islice

from store.archive.archive_ranges import archived_ranges
from store.reading.entries import PAGE_ROWS, EntryFilter
from tidegate.cli.ledger.name_lookup import entries_naming, find_workload_key, readers_of_workload
from tidegate.cli.ledger.partitions import merge_by_time
from tidegate.cli.ledger.reader import Reader
from tidegate.contracts.entry import Entry
from tidegate.contracts.subjects import token
from tidegate.subscribe import DEFINING, SubscriptionFilter

POLL_S = 0.5


def first_seqs(reader: Reader, since: str) -> list[int | None]:
    """Return each partition's first seq that is asked for; None: the newest are."""
    if since and reader.others:
        reader.time_of_all(since, "--since")
    return [
        each.first_seq(since, "--since") if since else None for each in reader.partition_readers()
    ]


def workload_events(
    reader: Reader, text: str, selection: SubscriptionFilter, firsts: list[int | None]
) -> list[Entry]:
    """Return the events that name a workload."""
    key = find_workload_key(reader, _qualified_name(text, selection.namespace))
    begun = {
        each.partition: first
        for each, first in zip(reader.partition_readers(), firsts, strict=True)
    }
    named = merge_by_time(*(entries_naming(each, key) for each in readers_of_workload(reader, key)))
    return [
        entry
        for entry in named
        if entry.seq >= (begun[entry.partition] or 1) and selection.matches(entry)
    ]


def past_events(
    reader: Reader, selection: SubscriptionFilter, firsts: list[int | None], tail: int | None
) -> list[Entry]:
    """Return the events of all partitions from a moment on, or the ``tail`` newest of them."""
    parts = zip(reader.partition_readers(), firsts, strict=True)
    return newest_entries(
        list(
            merge_by_time(
                *(_partition_events(each, selection, first, tail) for each, first in parts)
            )
        ),
        tail,
    )


def newest_entries(entries: list[Entry], tail: int | None) -> list[Entry]:
    """Return the last of entries; None: all."""
    return entries if tail is None else entries[-tail:] if tail else []


def _qualified_name(text: str, namespace: str) -> str:
    return f"{namespace}/{text}" if namespace else text


def _partition_events(
    reader: Reader, selection: SubscriptionFilter, since: int | None, tail: int | None
) -> list[Entry]:
    """Return the events from one on, or the newest: what is looked for is read from the end."""
    after = 0 if since is None else since - 1
    rows = PAGE_ROWS if tail is None else min(max(tail, 1), PAGE_ROWS)
    if tail is None and (reader.database is None or not any(selection)):
        return list(filter(selection.matches, reader.ledger.read(after, reader.end)))
    backwards = filter(selection.matches, _events_backwards(reader, selection, rows, after))
    return list(islice(backwards, tail))[::-1]


def _events_backwards(
    reader: Reader, selection: SubscriptionFilter, rows: int, after: int
) -> Iterator[Entry]:
    """Yield what may be wanted, newest first.

    What defines a ClusterQueue is indexed, and no other event names the ClusterQueue before. Of
    what was archived nothing is: that is read whole, and only if it is come to.
    """
    ledger, types, database = reader.ledger, frozenset(selection.types), reader.database
    if not selection.cluster_queue or database is None:
        yield from ledger.back(
            reader.end, rows, EntryFilter(types, _subject_pattern(selection), after=after)
        )
        return
    archived = max(
        (part.seq for part in archived_ranges(database.select, reader.partition)), default=0
    )
    indexed = EntryFilter(DEFINING, text=f'"{selection.cluster_queue}"', after=archived)
    defining = list(ledger.back(reader.end, PAGE_ROWS, indexed))
    first = defining[-1].seq if defining else reader.end + 1
    narrow = EntryFilter(
        types, _subject_pattern(selection), after=after if archived else max(after, first - 1)
    )
    entries = merge(defining, ledger.back(reader.end, rows, narrow), key=lambda entry: -entry.seq)
    yield from (entry for entry in entries if entry.seq > after)


def _subject_pattern(selection: SubscriptionFilter) -> str:
    """Return what the subjects of such events are like, in SQL; a few others may be like it."""
    if not selection.cluster_queue and not selection.namespace:
        return ""
    place = (selection.cluster_queue, selection.namespace)
    return "%." + ".".join(token(part) if part else "%" for part in place) + ".%"


def follow_entries(reader: Reader, entries: list[Entry]) -> Iterator[Entry]:
    """Yield entries, then what is appended: what comes at once in the order of time."""
    yield from entries
    readers = reader.partition_readers()
    ends = [each.end for each in readers]
    while True:
        parts = zip(readers, ends, strict=True)
        for entry in merge_by_time(*(each.ledger.read(end) for each, end in parts)):
            ends[_partition_index(readers, entry)] = entry.seq
            yield entry
        time.sleep(POLL_S)


def _partition_index(readers: Sequence[Reader], entry: Entry) -> int:
    return next(n for n, each in enumerate(readers) if each.partition == entry.partition)
