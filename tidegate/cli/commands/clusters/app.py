"""``tidegate clusters``: worker and member clusters, what runs there, how one is held."""

from __future__ import annotations

from tidegate.cli.lazy import Command, command_group

app = command_group(
    "clusters",
    "Show worker and member clusters, and hold or drain one.",
    Command("list", "clusters.showing", "list_clusters"),
    Command("why", "clusters.showing", "why"),
    Command("cordon", "clusters.stopping", "cordon"),
    Command("drain", "clusters.stopping", "drain"),
    Command("uncordon", "clusters.stopping", "uncordon"),
)
