"""Commands with sub-commands: ``show``, ``what-if``, ``clusters``, ``partitions``, ``ledger``."""

from __future__ import annotations

from tidegate.cli.lazy import Command, command_group

show = command_group(
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
what_if = command_group(
    "what-if",
    "Simulate another configuration, a load from files, or one more job.",
    Command("config", "what_if.config", "config"),
    Command("load", "what_if.load", "load"),
    Command("submit", "what_if.submit", "submit"),
)
clusters = command_group(
    "clusters",
    "Show worker and member clusters, and hold or drain one.",
    Command("list", "clusters.showing", "list_clusters"),
    Command("why", "clusters.showing", "why"),
    Command("cordon", "clusters.stopping", "cordon"),
    Command("drain", "clusters.stopping", "drain"),
    Command("uncordon", "clusters.stopping", "uncordon"),
)
partitions = command_group(
    "partitions",
    "Show which partition schedules which cohort trees, and move a tree.",
    Command("list", "partitions.listing", "list_partitions"),
    Command("move", "partitions.moving", "move"),
)
ledger = command_group(
    "ledger",
    "The ledger itself: audit it, look at it, try one, bring its schema on.",
    Command("verify", "ledger.auditing", "verify"),
    Command("checkpoint", "ledger.checkpointing", "checkpoint"),
    Command("keygen", "ledger.checkpointing", "keygen"),
    Command("prove", "ledger.checkpointing", "prove"),
    Command("export", "ledger.copying", "export"),
    Command("backup", "ledger.copying", "backup"),
    Command("archive", "ledger.archiving", "archive"),
    Command("recover", "ledger.recover", "recover"),
    Command("migrate", "ledger.schema", "migrate"),
    Command("downgrade", "ledger.schema", "downgrade"),
    Command("info", "ledger.info", "info"),
    Command("sample", "ledger.sample", "sample"),
)
