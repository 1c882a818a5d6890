"""Finds rows of reports for events that the ledger no longer has at its end.

A chain of hashes shows no missing end. Reports, snapshots and archives were written in the same
database from the same events, so a cut of the newest rows alone is found by them.
"""

from __future__ import annotations

from typing import NamedTuple

from store.statements.selecting import Select

_SEQS = {
    "ledger_snapshot": ("seq",),
    "ledger_archive": ("seq",),
    "report_workload": ("submitted_seq", "reservation_seq", "intent_seq", "removed_seq"),
    "report_wait": ("from_seq", "to_seq"),
    "report_holding": ("from_seq", "to_seq"),
    "report_quota": ("from_seq", "to_seq"),
    "report_budget": ("from_seq", "to_seq"),
    "report_price": ("from_seq", "to_seq"),
    "report_queue": ("from_seq", "to_seq"),
    "report_preemption": ("seq", "released_seq"),
}
"""The columns that name an event of the ledger."""


class LaterReference(NamedTuple):
    """The newest event that a table names."""

    table: str
    seq: int


def newest_reference_behind(select: Select, partition: int, end: int) -> LaterReference | None:
    """Return the newest event behind ``end`` that another table names; None: none names any.

    Reads these tables once. To be asked within the transaction that read ``end``, or with an end
    read later: a writer may go on meanwhile.

    Raises:
        LedgerUnreachableError: the database does not answer.
    """
    named = [
        LaterReference(table, int(select(_newest(table, column), partition=partition)[0][0] or 0))
        for table, columns in _SEQS.items()
        for column in columns
    ]
    last = max(named, key=lambda later: later.seq)
    return last if last.seq > end else None


def _newest(table: str, column: str) -> str:
    return f"SELECT max({column}) FROM {table} WHERE partition = :partition"  # noqa: S608 - our names
