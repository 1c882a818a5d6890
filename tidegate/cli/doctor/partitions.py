"""What the doctor says of partitions that ClusterQueues name: whether a scheduler leads each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from store.reading.database import Database
from tidegate.cli.doctor.findings import Finding, good, wrong
from tidegate.core.state.state import State

_NAMED_MAX = 5
_WRITERS = "SELECT partition, holder, lease_until_us FROM ledger_writer"


def examine_partitions(state: State, database: Database, now_us: int) -> Iterator[Finding]:
    """Yield a finding for each partition that ClusterQueues name, but the state's own.

    ``now_us`` is the database's time, UTC microseconds.
    """
    named = defaultdict[int, list[str]](list)
    for queue in state.objects.elsewhere.values():
        named[queue.partition].append(queue.name)
    writers = database.select(_WRITERS) if named else []
    led = {number: holder for number, holder, until_us in writers if until_us > now_us}
    for number, queues in sorted(named.items()):
        yield _finding(number, sorted(queues), led.get(number, ""))


def _finding(number: int, queues: list[str], holder: str) -> Finding:
    if holder:
        text = f"partition {number}: {holder} decides for {len(queues)} ClusterQueues"
        return good("PartitionLed", text)
    listed = ", ".join(queues[:_NAMED_MAX])
    more = f" and {len(queues) - _NAMED_MAX} more" if len(queues) > _NAMED_MAX else ""
    text = f"no scheduler leads partition {number}, which these ClusterQueues name: {listed}{more}"
    to_do = f"start a scheduler and an actuator with --partition {number}: docs/partitions.md"
    return wrong("PartitionNotLed", text, to_do)
