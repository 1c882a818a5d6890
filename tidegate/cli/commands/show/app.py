"""``tidegate show``: queues, workloads, quota and shares, as the ledger has them."""

from __future__ import annotations

import typer

from tidegate.cli.commands.show.budgets import budgets
from tidegate.cli.commands.show.positions import positions
from tidegate.cli.commands.show.priority import priority
from tidegate.cli.commands.show.queue import list_queues, pending
from tidegate.cli.commands.show.tree import shares, tree
from tidegate.cli.commands.show.usage import usage
from tidegate.cli.commands.show.workloads import workloads

app = typer.Typer(
    help="Show queues, workloads, quota and shares, as the ledger has them.", no_args_is_help=True
)
app.command("queues")(list_queues)
app.command("pending")(pending)
app.command("positions")(positions)
app.command("workloads")(workloads)
app.command("usage")(usage)
app.command("tree")(tree)
app.command("shares")(shares)
app.command("priority")(priority)
app.command("budgets")(budgets)
