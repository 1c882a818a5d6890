"""``tidegate partitions``: which partition schedules which cohort trees, and how one moves."""

from __future__ import annotations

from tidegate.cli.lazy import Command, command_group

app = command_group(
    "partitions",
    "Show which partition schedules which cohort trees, and move a tree.",
    Command("list", "partitions.listing", "list_partitions"),
    Command("move", "partitions.moving", "move"),
)
