"""Where workloads are submitted and removed, as the reporting tables know it: no event is read."""

from __future__ import annotations

from collections.abc import Sequence

from store.statements.selecting import Select

_SUBMISSIONS = (
    "SELECT submitted_seq FROM report_workload WHERE partition = 0"
    " AND (name = :name OR job_name = :name) AND submitted_seq <= :until ORDER BY submitted_seq"
)
_LIVES = (
    "SELECT submitted_seq, removed_seq FROM report_workload WHERE partition = 0"
    " AND workload IN ({}) AND submitted_seq <= :until ORDER BY submitted_seq"
)
_TURN = "SELECT turn FROM ledger_event WHERE partition = 0 AND seq = :seq"
_NEXT_TURN = (
    "SELECT seq FROM ledger_event WHERE partition = 0 AND seq > :seq AND turn > :turn"
    " ORDER BY seq LIMIT 1"
)


def submissions(select: Select, name: str, until: int) -> list[int]:
    """Return the seqs at which workloads of a name, or of a job of it, were submitted, in order.

    Raises:
        LedgerUnreachableError: the database does not answer.
    """
    return [seq for (seq,) in select(_SUBMISSIONS, name=name, until=until)]


def lives(select: Select, keys: Sequence[str], until: int) -> list[tuple[int, int]]:
    """Return from which seq to which any of these workloads was there, in order and apart.

    No event before its submission names a workload, and none after the turn of its removal: in
    that turn it may be decided that a preemption for it is abandoned.

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
