"""Where workloads stand in their queues: the ledger says it, since the API server does not."""

from __future__ import annotations

from tidegate.cli.reading import open_reader
from tidegate.errors import LedgerUnreachableError, NotSupportedError


def positions(ledger: str) -> dict[str, int]:
    """Return each waiting workload's position in its ClusterQueue, from 1.

    Empty where no ledger was named and none is near: lists of the cluster do not need one.

    Raises:
        LedgerUnreachableError: one was named, and cannot be read.
    """
    try:
        with open_reader(ledger) as reader:
            return {
                row["workload"]: row["position"]
                for row in reader.report("queue_now")
                if row["position"]
            }
    except (LedgerUnreachableError, NotSupportedError):
        if ledger:
            raise
        return {}
