"""Where workloads are submitted and removed, by the reports; of what expired, by events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from store.statements.rare_types import IS_RARE
from store.statements.selecting import Select
from tidegate.contracts.entry import Entry
from tidegate.contracts.fact_kinds.strays import StrayCleared, StrayReported

_SUBMISSIONS = (
    "SELECT submitted_seq FROM report_workload WHERE partition = 0"
    " AND (name = :name OR job_name = :name) AND submitted_seq <= :until ORDER BY submitted_seq"
)
_LIVES = (
    "SELECT submitted_seq, removed_seq FROM report_workload WHERE partition = 0"
    " AND workload IN ({}) AND submitted_seq <= :until ORDER BY submitted_seq"
)
_STRAYS = (
    f"SELECT seq, type FROM ledger_event WHERE partition = 0 AND {IS_RARE}"  # noqa: S608 - our names
    f" AND type IN ('{StrayReported.__name__}', '{StrayCleared.__name__}')"
    " AND payload LIKE :key AND seq <= :until ORDER BY seq + 0"
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
    that turn it may be decided that a preemption for it is abandoned. Only its job may still run
    without an admission, or again, until that is cleared. Of rows that expired there is nothing.

    Raises:
        LedgerUnreachableError: the database does not answer.
    """
    named = {f"key_{n}": key for n, key in enumerate(keys)}
    sql = _LIVES.format(", ".join(f":{name}" for name in named))
    spans = [
        (submitted, until if removed is None else _end_of_turn(select, removed, until))
        for submitted, removed in select(sql, until=until, **named)
    ]
    if spans:
        spans += (span for key in keys for span in _strays(select, key, until))
    return _apart(sorted(spans))


def _strays(select: Select, key: str, until: int) -> Iterator[tuple[int, int]]:
    """Yield from where to where a job had to be stopped that no workload stood for."""
    since = 0
    for seq, type_name in select(_STRAYS, key=f'%"{key}"%', until=until):
        if type_name == StrayCleared.__name__:
            yield since or seq, _end_of_turn(select, seq, until)
            since = 0
        else:
            since = since or seq
    if since:
        yield since, until


def _apart(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    apart = list[tuple[int, int]]()
    for first, last in spans:
        if apart and first <= apart[-1][1]:
            before = apart.pop()
            apart.append((before[0], max(last, before[1])))
        else:
            apart.append((first, last))
    return apart


def _end_of_turn(select: Select, seq: int, until: int) -> int:
    for (turn,) in select(_TURN, seq=seq):
        for (following,) in select(_NEXT_TURN, seq=seq, turn=turn):
            return min(int(following) - 1, until)
        return until
    return min(seq, until)  # it lies in an archive
