"""``tidegate partitions``: who decides about which trees of cohorts, and how a tree moves."""

from __future__ import annotations

from tidegate.cli.lazy import Command, app_of

app = app_of(
    "partitions",
    "Show who decides about which trees of cohorts, and move a tree.",
    Command("list", "partitions.listing", "list_partitions"),
    Command("move", "partitions.moving", "move"),
)
