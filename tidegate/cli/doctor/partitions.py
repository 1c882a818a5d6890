"""Findings about partitions: whether each has a leader, and which trees hang between two."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from store.reading.database import Database
from tidegate.cli.doctor.findings import Finding, abbreviate, ok_finding, wrong_finding
from tidegate.cli.ledger.reader import Reader
from tidegate.cli.moves.state import move_remedy, moves_of, since_us
from tidegate.core.state.state import State

_NAMED_MAX = 5
MOVE_US_MAX = 60_000_000
"""A tree that is longer on its way hangs: a move that nothing keeps takes some seconds."""
_SECOND_US = 1_000_000
_WRITERS = "SELECT partition, holder, lease_until_us FROM ledger_writer"


def examine_partitions(state: State, database: Database, now_us: int) -> Iterator[Finding]:
    """Yield a finding for each partition that ClusterQueues name, but the state's own.

    ``now_us`` is the database's time, UTC microseconds.
    """
    named = defaultdict[int, list[str]](list)
    for queue in state.objects.elsewhere.values():
        named[queue.partition].append(queue.name)
    led = _leaders(database, now_us) if named else {}
    for number, queues in sorted(named.items()):
        yield _leader_finding(number, sorted(queues), led.get(number, ""))


def examine_moves(reader: Reader, state: State) -> Iterator[Finding]:
    """Yield a finding for each tree that a partition gives away or takes, where it is live."""
    moves = moves_of(state)
    if reader.database is None or not moves:
        return
    now_us = reader.clock_us()
    led = _leaders(reader.database, now_us)
    for move in moves:
        begun_us = since_us(reader, move)
        lasts_us = max(0, now_us - begun_us)
        if lasts_us < MOVE_US_MAX:
            yield ok_finding("MoveUnderWay", move.text())
            continue
        text = f"{move.text()}, for {lasts_us // _SECOND_US} s" if begun_us else move.text()
        yield wrong_finding(
            "MoveHangs", text, move_remedy(move.stage, move.tree, move.source, move.to, led)
        )


def _leaders(database: Database, now_us: int) -> dict[int, str]:
    """Return the leader of each partition that has one."""
    rows = database.select(_WRITERS)
    return {number: holder for number, holder, until_us in rows if until_us > now_us}


def _leader_finding(number: int, queues: list[str], holder: str) -> Finding:
    if holder:
        text = f"partition {number}: {holder} decides for {len(queues)} ClusterQueues"
        return ok_finding("PartitionLed", text)
    listed = abbreviate(queues, _NAMED_MAX)
    text = f"no scheduler leads partition {number}, which these ClusterQueues name: {listed}"
    to_do = f"start a scheduler and an actuator with --partition {number}: docs/partitions.md"
    return wrong_finding("PartitionNotLed", text, to_do)
