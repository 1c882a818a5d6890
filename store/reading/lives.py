"""Where workloads are submitted and removed, by the reports; of what expired, by events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from store.statements.rare_types import IS_RARE
from store.statements.selecting import Select
from tidegate.contracts.decisions import PreemptionAbandoned
from tidegate.contracts.entry import Entry
from tidegate.contracts.fact_kinds.strays import StrayCleared, StrayReported

_SUBMISSIONS = (
    "SELECT submitted_seq FROM report_workload WHERE partition = :partition"
    " AND (name = :name OR job_name = :name) AND submitted_seq <= :until ORDER BY submitted_seq"
)
_LIVES = (
    "SELECT submitted_seq, removed_seq FROM report_workload WHERE partition = :partition"
    " AND workload IN ({}) AND submitted_seq <= :until ORDER BY submitted_seq"
)
_LATE = (
    f"SELECT seq, type FROM ledger_event WHERE partition = :partition AND {IS_RARE}"  # noqa: S608 - our names
    f" AND type IN ('{StrayReported.__name__}', '{StrayCleared.__name__}',"
    f" '{PreemptionAbandoned.__name__}')"
    " AND payload LIKE :key AND seq > :after AND seq <= :until ORDER BY seq + 0"
)
_KEPT = "SELECT kept_from_us FROM report_state WHERE partition = :partition"


class _Entries(Protocol):
    def read(self, after: int = 0, until: int | None = None) -> Iterator[Entry]: ...
    def naming(self, texts: Sequence[str], after: int, until: int) -> Iterator[Entry]: ...
    def seq_at(self, at_us: int) -> int: ...


def submissions(
    select: Select, history: _Entries, name: str, until: int, partition: int = 0
) -> Iterator[Entry]:
    """Yield where workloads of a name, or of a job of it, were submitted, in order.

    ``history`` is the partition's.

    Where no row tells, it may have expired: of the time before, all entries with the name.

    Raises:
        LedgerUnreachableError: the database does not answer.
    """
    values = {"name": name, "until": until, "partition": partition}
    seqs = [seq for (seq,) in select(_SUBMISSIONS, **values)]
    for seq in seqs:
        yield from history.read(seq - 1, seq)
    if seqs:
        return
    for (kept_from_us,) in select(_KEPT, partition=partition):
        if kept_from_us:
            yield from history.naming([f'{name}"'], 0, min(history.seq_at(kept_from_us), until))


def workload_lifetimes(
    select: Select, keys: Sequence[str], until: int, partition: int = 0
) -> list[tuple[int, int]]:
    """Return from which seq to which any of these workloads was there, in order and apart.

    No event before its submission names a workload, and behind its removal only that a preemption
    for it is abandoned, or that its job runs without an admission, until that is cleared. Of rows
    that expired there is nothing.

    Raises:
        LedgerUnreachableError: the database does not answer.
    """
    named = {f"key_{n}": key for n, key in enumerate(keys)}
    sql = _LIVES.format(", ".join(f":{name}" for name in named))
    spans = [
        (submitted, until if removed is None else min(removed, until))
        for submitted, removed in select(sql, until=until, partition=partition, **named)
    ]
    if spans:
        first = min(span[0] for span in spans)
        values = {"after": first, "until": until, "partition": partition}
        spans += [
            span for key in keys for span in _references_after_removal(select, key, until, values)
        ]
    return _merge_spans(sorted(spans))


def _references_after_removal(
    select: Select, key: str, until: int, values: Mapping[str, int]
) -> Iterator[tuple[int, int]]:
    """Yield from where to where a workload may be named behind its removal.

    Nothing names it before its first submission, ``after`` which it is looked for.
    """
    since = 0
    for seq, type_name in select(_LATE, key=f'%"{key}"%', **values):
        if type_name == StrayReported.__name__:
            since = since or seq
        else:
            yield since or seq, seq
        if type_name == StrayCleared.__name__:
            since = 0
    if since:
        yield since, until


def _merge_spans(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    apart = list[tuple[int, int]]()
    for first, last in spans:
        if apart and first <= apart[-1][1]:
            before = apart.pop()
            apart.append((before[0], max(last, before[1])))
        else:
            apart.append((first, last))
    return apart
