"""``tidegate show``: queues, workloads, quota and shares, as the ledger has them."""

from __future__ import annotations

from tidegate.cli.lazy import Command, command_group

app = command_group(
    "show",
    "Show queues, workloads, quota and shares, as the ledger has them.",
    Command("queues", "show.queue", "list_queues"),
    Command("pending", "show.queue", "pending"),
    Command("positions", "show.positions", "positions"),
    Command("workloads", "show.workloads", "workloads"),
    Command("usage", "show.usage", "usage"),
    Command("tree", "show.tree", "tree"),
    Command("shares", "show.tree", "shares"),
    Command("priority", "show.priority", "priority"),
    Command("budgets", "show.budgets", "budgets"),
)
