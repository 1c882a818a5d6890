"""``tidegate usage``: the quota of each ClusterQueue, and what becomes of it."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tidegate.cli.output import Column, Output, OutputOption, print_records
from tidegate.cli.reading import AsOfOption, LedgerOption, open_reader
from tidegate.model.quantity import UNLIMITED, render

_COLUMNS = (
    Column("QUEUE", "clusterQueue"),
    Column("COHORT", "cohort", wide=True),
    Column("FLAVOR", "flavor"),
    Column("RESOURCE", "resource"),
    Column("NOMINAL", "nominal", right=True),
    Column("USED", "used", right=True),
    Column("BORROWED", "borrowed", right=True),
    Column("LENT", "lent", right=True),
    Column("BORROW LIMIT", "borrowingLimit", right=True, wide=True),
    Column("LEND LIMIT", "lendingLimit", right=True, wide=True),
    Column("WORKLOADS", "workloads", right=True, wide=True),
)


def usage(
    queue: Annotated[str, typer.Argument(help="Only this ClusterQueue.")] = "",
    as_of: AsOfOption = "",
    ledger: LedgerOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Show nominal, used, borrowed and lent quota of each ClusterQueue, flavor and resource.

    Examples:
      tidegate usage

      tidegate usage team-a -o wide

      tidegate usage -o json | jq '.[] | select(.borrowed != "0")'
    """
    with open_reader(ledger, as_of) as reader:
        rows = reader.report("quota_now")
    records = [_record(row) for row in rows if queue in {"", row["cluster_queue"]}]
    print_records(
        records, _COLUMNS, output, name="clusterQueue", nothing="No ClusterQueue has quota."
    )


def _record(row: dict[str, Any]) -> dict[str, Any]:
    def amount(name: str) -> str | None:
        return None if row[name] is None else _quantity(row["resource"], row[name])

    return {
        "clusterQueue": row["cluster_queue"],
        "cohort": row["cohort"],
        "flavor": row["flavor"],
        "resource": row["resource"],
        "nominal": amount("nominal"),
        "used": amount("used"),
        "borrowed": amount("borrowed"),
        "lent": amount("lent"),
        "borrowingLimit": amount("borrowing_limit"),
        "lendingLimit": amount("lending_limit"),
        "workloads": row["workloads"],
    }


def _quantity(resource: str, shown: float) -> str:
    """Return an amount of a report as Kubernetes writes it."""
    units = round(shown * 1_000) if resource == "cpu" else round(shown)
    return "unlimited" if units >= UNLIMITED else render(resource, units)
