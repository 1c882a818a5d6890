"""Entries out of ``ledger_event``, a page of rows at a time, forwards and backwards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from store.statements.rare_types import IS_RARE, are_rare
from store.statements.selecting import Select
from tidegate.contracts.entry import Entry

PAGE_ROWS = 1_000


class EntryFilter(NamedTuple):
    """Which entries are wanted."""

    types: frozenset[str] = frozenset()  # empty: any
    subject: str = ""  # a LIKE pattern; empty: any
    text: str = ""  # in the payload; it holds nothing that LIKE gives a meaning
    after: int = 0  # those behind this seq


EVERY = EntryFilter()

_COLUMNS = ", ".join(Entry.__struct_fields__)
_OURS = f"SELECT {_COLUMNS} FROM ledger_event WHERE partition = :partition"  # noqa: S608 - our names


def read_page(
    select: Select, partition: int, after: int, until: int | None = None, rows: int = PAGE_ROWS
) -> list[Entry]:
    """Return at most a page of the entries with ``after`` < seq <= ``until``, in order."""
    sql = f"{_OURS} AND seq > :after"
    values = {"partition": partition, "after": after, "rows": rows}
    if until is not None:
        sql, values["until"] = f"{sql} AND seq <= :until", until
    return [Entry(*row) for row in select(f"{sql} ORDER BY seq LIMIT :rows", **values)]


def read_page_before(
    select: Select, partition: int, until: int, rows: int, narrow: EntryFilter
) -> list[Entry]:
    """Return at most so many of the newest entries with seq <= ``until``, newest first."""
    values: dict[str, object] = {
        "partition": partition,
        "after": narrow.after,
        "until": until,
        "rows": rows,
    }
    sql, order = f"{_OURS} AND seq > :after AND seq <= :until", "seq"
    if are_rare(narrow.types):
        sql, order = f"{sql} AND {IS_RARE}", "seq + 0"  # else the key's index would be walked
    if narrow.types:
        names = {f"type_{n}": type_name for n, type_name in enumerate(sorted(narrow.types))}
        sql += f" AND type IN ({', '.join(f':{name}' for name in names)})"
        values |= names
    if narrow.subject:
        sql, values["subject"] = f"{sql} AND subject LIKE :subject", narrow.subject
    if narrow.text:
        sql, values["text"] = f"{sql} AND payload LIKE :text", f"%{narrow.text}%"
    return [Entry(*row) for row in select(f"{sql} ORDER BY {order} DESC LIMIT :rows", **values)]


def entries_naming(
    select: Select, partition: int, texts: Sequence[str], after: int, until: int
) -> list[Entry]:
    """Return the entries with ``after`` < seq <= ``until`` whose payload has one of some texts.

    No text may hold what LIKE gives a meaning: the names of Kubernetes' objects do not.
    """
    names = {f"text_{n}": f"%{wanted_text}%" for n, wanted_text in enumerate(texts)}
    named = " OR ".join(f"payload LIKE :{name}" for name in names)
    sql = f"{_OURS} AND seq > :after AND seq <= :until AND ({named}) ORDER BY seq"
    rows = select(sql, partition=partition, after=after, until=until, **names)
    return [Entry(*row) for row in rows]


def read_pages(select: Select, partition: int, after: int = 0) -> Iterator[list[Entry]]:
    """Yield the entries of a partition behind ``after``, in order, in pages; none from archives."""
    while entries := read_page(select, partition, after):
        yield entries
        after = entries[-1].seq


def newest_entry(select: Select, partition: int) -> Entry | None:
    """Return the last entry of a partition; None while it is empty."""
    rows = select(f"{_OURS} ORDER BY seq DESC LIMIT 1", partition=partition)
    return Entry(*rows[0]) if rows else None


def newest_seq(select: Select, partition: int) -> int:
    """Return the seq of the last entry of a partition; 0 while it is empty.

    The content of an entry is not read: roles of single namespaces have no right to it.
    """
    query = "SELECT coalesce(max(seq), 0) FROM ledger_event WHERE partition = :partition"
    return int(select(query, partition=partition)[0][0])


def seq_at(select: Select, partition: int, at_us: int, low: int = 0) -> int:
    """Return the seq of the last entry that is not later than a time; ``low``: there is none.

    Time never falls in a ledger, so this looks at some twenty entries, however many there are.
    """
    high = max(low, newest_seq(select, partition))
    query = "SELECT at_us FROM ledger_event WHERE partition = :partition AND seq = :seq"
    while low < high:
        middle = (low + high + 1) // 2
        if select(query, partition=partition, seq=middle)[0][0] <= at_us:
            low = middle
        else:
            high = middle - 1
    return low
