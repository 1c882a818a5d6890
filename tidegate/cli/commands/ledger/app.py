"""``tidegate ledger``: audit it, look at it, make one to try things on, bring its schema on."""

from __future__ import annotations

from tidegate.cli.lazy import Command, command_group

app = command_group(
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
