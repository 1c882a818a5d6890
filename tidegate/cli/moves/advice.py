"""Advice for a cohort tree whose move to another partition hangs."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from tidegate.cli.moves.state import Stage


def move_remedy(
    stage: Stage | Literal["Unseen", "Moved"], tree: str, source: int, to: int, led: Collection[int]
) -> str:
    """Return the remedy for a move that hangs.

    ``led`` are the partitions that a scheduler leads; ``tree`` is as ``tidegate partitions move``
    takes it.
    """
    calling_off = f", or call it off: `tidegate partitions move {tree} --to {source}`"
    if to not in led:
        return _start_advice(to) + (calling_off if stage == "Requested" else "")
    if source not in led and stage != "Listing":
        return _start_advice(source)
    match stage:
        case "Requested":
            return (
                "end what it waits for, or ask for all of it: "
                f"`tidegate partitions move {tree} --to {to}`{calling_off}"
            )
        case "Released":
            return (
                f"see the logs of partition {source}'s and {to}'s schedulers; "
                "NATS' users need the rights of deploy/nats/partition.conf"
            )
        case "Listing":
            return "see ingest's log: a kind of job may not be listed completely"
        case "Unseen" | "Moved":
            return f"see the logs of ingest and of partition {source}'s scheduler"


def _start_advice(partition: int) -> str:
    return f"start a scheduler and an actuator with --partition {partition}: docs/partitions.md"
