"""Identity and head of the served ledger: of one partition, or of all of them."""

from __future__ import annotations

from typing import Any

from store.archive.archive_ranges import archived_ranges
from tidegate.cli.times import utc
from tidegate.serve.api.endpoint import Question
from tidegate.serve.ledger.partitions.positions import position_text

_SNAPSHOT = "SELECT max(seq) FROM ledger_snapshot WHERE partition = :partition"
_SUMS = ("headSeq", "turns", "archivedSeq", "verifiedSeq")


def answer_ledger(question: Question) -> dict[str, Any]:
    """Tell which ledger it is, and how far it got."""
    if not question.has_several_partitions:
        return _partition_ledger(question)
    each: list[dict[str, Any]] = [
        {"partition": own.reader.partition, **_partition_ledger(own)}
        for own in question.by_partition()
    ]
    first = each[0]
    heads = [part["headAt"] for part in each if part["headAt"]]
    return {
        "ledgerId": ",".join(part["ledgerId"] for part in each),
        "cluster": first["cluster"],
        "software": first["software"],
        **{name: sum(part[name] for part in each) for name in _SUMS},
        "headHash": "",
        "headAt": max(heads, default=None),
        "snapshotSeq": None,
        "brokenSeq": next((part["brokenSeq"] for part in each if part["brokenSeq"]), None),
        "position": position_text({part["partition"]: part["headSeq"] for part in each}),
        "firstAt": _first_at(question),
        "partitions": each,
    }


def _partition_ledger(question: Question) -> dict[str, Any]:
    reader, live = question.reader, question.partitions[0].live
    assert reader.database is not None, "an archive is not served"
    select = reader.database.select
    head = next(iter(reader.ledger.back(reader.end, 1)), None)
    return {
        **live.identity,
        "headSeq": 0 if head is None else head.seq,
        "headHash": "" if head is None else head.hash.hex(),
        "headAt": None if head is None else utc(head.at_us),
        "turns": 0 if head is None else head.turn,
        "archivedSeq": max(
            (part.seq for part in archived_ranges(select, reader.partition)), default=0
        ),
        "snapshotSeq": select(_SNAPSHOT, partition=reader.partition)[0][0],
        "verifiedSeq": live.verified_seq,
        "brokenSeq": live.broken_seq or None,
    }


def _first_at(question: Question) -> str | None:
    """Return when the first event of all partitions came."""
    firsts = (
        entry.at_us for own in question.by_partition() for entry in own.reader.ledger.read(0, 1)
    )
    at_us = min(firsts, default=None)
    return None if at_us is None else utc(at_us)
