"""``tidegate report``: the SQL reports, their rows and their statements."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from store.views.texts import TEXTS
from tidegate.cli.ledger.reading import AsOfOption, LedgerOption, open_reader
from tidegate.cli.output import Column, Output, OutputOption, print_records, say

_LIST = (Column("NAME", "name"), Column("WHAT IT TELLS", "about"))
_CHARGEBACK = "chargeback"
_DIGITS = 6


def report(
    view: Annotated[str, typer.Argument(help="The report; without one all are listed.")] = "",
    *,
    sql: Annotated[bool, typer.Option("--sql", help="Print its SQL instead of rows.")] = False,
    as_of: AsOfOption = "",
    ledger: LedgerOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Print a SQL report: the same rows that any SQL client sees in the view of its name.

    Examples:
      tidegate report

      tidegate report usage_hourly -o json

      tidegate report chargeback --sql
    """
    with open_reader(ledger, as_of) as reader:
        if not view:
            _print_list(output)
        elif sql:
            typer.echo(reader.statement(view))
        else:
            rows = reader.report(view)
            _print_rows(rows, output)
            if view == _CHARGEBACK:
                _tell_unpriced(rows)


def _tell_unpriced(rows: list[dict[str, Any]]) -> None:
    """Say what has no price, since a sum over ``cost`` would pass it over in silence."""
    days: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row["per_unit_hour"] is None:
            days.setdefault((row["flavor"], row["resource"]), []).append(row["day"])
    for (flavor, resource), missing in sorted(days.items()):
        first, last = min(missing), max(missing)
        span = f"on {first}" if first == last else f"from {first} to {last}"
        say(f"No price for {resource} of {flavor} {span}: its rows cost nothing here.")


def _print_list(output: Output) -> None:
    records = [{"name": name, "about": view.about} for name, view in TEXTS.items()]
    print_records(records, _LIST, output)


def _print_rows(rows: list[dict[str, Any]], output: Output) -> None:
    names = list(rows[0]) if rows else []
    columns = [
        Column(
            name.upper().replace("_", " "),
            name,
            right=any(isinstance(row[name], int | float) for row in rows),
            show=_cell,
        )
        for name in names
    ]
    print_records(
        rows, columns, output, name=names[0] if names else "", nothing="The report has no rows."
    )


def _cell(value: object) -> str:
    return f"{value:.{_DIGITS}g}" if isinstance(value, float) else str(value)
