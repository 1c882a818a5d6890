"""``tidegate reports``: what keeps the SQL reports right."""

from __future__ import annotations

import typer

from tidegate.cli.output import say
from tidegate.cli.reading import LedgerOption

app = typer.Typer(help="The SQL reports' rows: make them again.", no_args_is_help=True)


@app.callback()
def reports() -> None:
    """Keep a group, though it has one command: `tidegate report` prints them."""


@app.command("rebuild")
def rebuild(ledger: LedgerOption = "") -> None:
    """Make the rows of the SQL reports again from the events; the writer waits meanwhile.

    They are the same as before, unless somebody changed them by hand.

    Examples:
      tidegate reports rebuild --ledger sqlite:////var/lib/tidegate/ledger.db
    """
    from store.migrate import rebuild_reports  # noqa: PLC0415 - SQL may be absent

    if not ledger:
        raise typer.BadParameter("Name the ledger to change with --ledger.")
    rebuild_reports(ledger)
    say("The reports are made again.")
