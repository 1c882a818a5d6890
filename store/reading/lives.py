"""Where workloads are submitted and removed, by the reports; of what expired, by events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from store.statements.selecting import Select
from tidegate.contracts.entry import Entry

_SUBMISSIONS = (
    "SELECT submitted_seq FROM report_workload WHERE partition = 0"
    " AND (name = :name OR job_name = :name) AND submitted_seq <= :until ORDER BY submitted_seq"
)
_LIVES = (
    "SELECT submitted_seq, removed_seq FROM report_workload WHERE partition = 0"
    " AND workload IN ({}) AND submitted_seq <= :until ORDER BY submitted_seq"
)
_KEPT = "SELECT kept_from_us FROM report_state WHERE partition = 0"
_TURN = "SELECT turn FROM ledger_event WHERE partition = 0 AND seq = :seq"
_NEXT_TURN = (
    "SELECT seq FROM ledger_event WHERE partition = 0 AND seq > :seq AND turn > :turn"
    " ORDER BY seq LIMIT 1"
)


class _Entries(Protocol):
    def read(self, after: int = 0, until: int | None = None) -> Iterator[Entry]: ...
    def naming(self, texts: Sequence[str], after: int, until: int) -> Iterator[Entry]: ...
    def seq_at(self, at_us: int) -> int: ...


def submissions(select: Select, history: _Entries, name: str, until: int) -> Iterator[Entry]:
    """Yield where workloads of a name, or of a job of it, were submitted, in order.

    Where no row tells, it may have expired: of the time before, all entries with the name.

    Raises:
        LedgerUnreachableError: the database does not answer.
    """
    seqs = [seq for (seq,) in select(_SUBMISSIONS, name=name, until=until)]
    for seq in seqs:
        yield from history.read(seq - 1, seq)
    if seqs:
        return
    for (kept_from_us,) in select(_KEPT):
        if kept_from_us:
            yield from history.naming([f'{name}"'], 0, min(history.seq_at(kept_from_us), until))


def lives(select: Select, keys: Sequence[str], until: int) -> list[tuple[int, int]]:
    """Return from which seq to which any of these workloads was there, in order and apart.

    No event before its submission names a workload, and none after the turn of its removal: in
    that turn it may be decided that a preemption for it is abandoned. Of rows that expired there
    is nothing.

    Raises:
        LedgerUnreachableError: the database does not answer.
    """
    named = {f"key_{n}": key for n, key in enumerate(keys)}
    sql = _LIVES.format(", ".join(f":{name}" for name in named))
    spans = list[tuple[int, int]]()
    for submitted, removed in select(sql, until=until, **named):
        first, last = submitted, until
        if removed is not None:
            last = min(_end_of_turn(select, removed, until), until)
        if spans and first <= spans[-1][1]:
            before = spans.pop()
            first, last = before[0], max(last, before[1])
        spans.append((first, last))
    return spans


def _end_of_turn(select: Select, seq: int, until: int) -> int:
    for (turn,) in select(_TURN, seq=seq):
        for (following,) in select(_NEXT_TURN, seq=seq, turn=turn):
            return int(following) - 1
        return until
    return seq  # it lies in an archive
