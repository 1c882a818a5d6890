"""``tidegate ledger migrate`` and ``downgrade``: the tables, to another version and back."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tidegate.cli.ledger.reading import LedgerOption
from tidegate.cli.output import print_message
from tidegate.errors import NotSupportedError

HOLDER, LEASE_US = "ledger downgrade", 60_000_000


def migrate(ledger: LedgerOption = "") -> None:
    """Create a ledger's tables, or migrate them to this version; the events do not change.

    The scheduler does this at its start.

    Examples:
      tidegate ledger migrate --ledger postgresql://tidegate@db/tidegate
    """
    from store.schema.migrate import upgrade  # noqa: PLC0415 - SQL may be absent

    if not ledger:
        raise typer.BadParameter("Name the ledger to migrate with --ledger.")
    upgrade(ledger)
    print_message("The schema is up to date.")


def downgrade(
    to: Annotated[str, typer.Option(help="The revision that the older version needs.")],
    ledger: LedgerOption = "",
    *,
    dry_run: Annotated[
        bool, typer.Option(help="Only print the migrations that would be undone.")
    ] = False,
) -> None:
    """Migrate a ledger's tables back to an older version; the events do not change.

    To roll back: stop the scheduler, run this command of the newer version, start the older
    scheduler. The older scheduler's error names the revision that it needs. The command refuses
    while a scheduler leads, and if a migration cannot be undone without losing events.

    Examples:
      tidegate ledger downgrade --to 0001 --dry-run --ledger ledger.db

      tidegate ledger downgrade --to 0001 --ledger postgresql://tidegate@db/tidegate
    """
    from store.access.engine import open_engine  # noqa: PLC0415 - SQL may be absent
    from store.schema.migrate import downgrade_steps  # noqa: PLC0415

    if not ledger:
        raise typer.BadParameter("Name the ledger to downgrade with --ledger.")
    engine = open_engine(ledger)
    try:
        steps = downgrade_steps(engine, to)
        if not dry_run:
            _undo_migrations(engine, to)
    finally:
        engine.dispose()
    for revision, purpose in steps:
        print_message(f"{'would undo' if dry_run else 'undone'}: {revision} {purpose}")


def _undo_migrations(engine: Any, to: str) -> None:  # noqa: ANN401 - SQL's
    """Undo the migrations while no scheduler leads."""
    from store.ledger import SqlLedger  # noqa: PLC0415
    from store.schema.migrate import downgrade as undo  # noqa: PLC0415

    ledger = SqlLedger(engine)
    term = ledger.begin_term(HOLDER, LEASE_US)
    if term is None:
        raise NotSupportedError("A scheduler leads on this ledger: stop it first.")
    try:
        undo(engine, to)
    finally:
        ledger.renew_term(term.epoch, 0)
