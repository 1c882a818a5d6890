"""``tidegate show tree`` and ``show shares``: the cohorts, their quota, and each queue's share."""

from __future__ import annotations

from typing import Any

from tidegate.cli.ledger.cohorts import Row, nodes_of_partitions, share_rows, tree_rows
from tidegate.cli.ledger.name_lookup import SubjectArgument, states_with_node
from tidegate.cli.ledger.partitions import PartitionOption
from tidegate.cli.ledger.reading import AsOfOption, LedgerOption, open_reader
from tidegate.cli.output import Column, Output, OutputOption, print_records

TREE = (
    Column("NAME", "name"),
    Column("KIND", "kind", wide=True),
    Column("FLAVOR", "flavor"),
    Column("RESOURCE", "resource"),
    Column("QUOTA", "bar"),
    Column("NOMINAL", "nominal", right=True),
    Column("WITH BELOW", "quota", right=True, wide=True),
    Column("USED", "used", right=True),
    Column("BORROWED", "borrowed", right=True),
    Column("LENT", "lent", right=True),
)
SHARES = (
    Column("NAME", "name"),
    Column("KIND", "kind"),
    Column("WEIGHT", "weight", right=True),
    Column("SHARE", "share", right=True),
    Column("PRECISE", "precise", right=True, wide=True),
    Column("RESOURCE", "resource"),
    Column("BORROWING", "borrowing"),
)


def tree(
    subject: SubjectArgument = "",
    partition: PartitionOption = None,
    as_of: AsOfOption = "",
    ledger: LedgerOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Draw the cohort trees with nominal, used, borrowed and lent quota.

    In a bar, █ is used own quota, ▒ quota lent to others, ░ free quota, and ▓ quota borrowed from
    others.

    Examples:
      tidegate show tree

      tidegate show tree job/train

      tidegate show tree research -o json --as-of 2026-03-02T08:30:00Z
    """
    with open_reader(ledger, as_of, partition, reports=False) as reader:
        placed = nodes_of_partitions(*states_with_node(reader, subject))
    print_nodes(tree_rows(placed), TREE, output)


def shares(
    subject: SubjectArgument = "",
    partition: PartitionOption = None,
    as_of: AsOfOption = "",
    ledger: LedgerOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Show the fair share of each ClusterQueue and Cohort, by its weight.

    The share is Kueue's weightedShare in thousandths: borrowed quota divided by the lendable quota
    of the tree and by the weight, for the resource with the largest quotient. The lowest share goes
    first. A root Cohort has no share.

    Examples:
      tidegate show shares

      tidegate show shares job/train -o wide

      tidegate show shares research -o json
    """
    with open_reader(ledger, as_of, partition, reports=False) as reader:
        placed = nodes_of_partitions(*states_with_node(reader, subject))
    print_nodes(share_rows(placed), SHARES, output)


def print_nodes(rows: list[Row], columns: tuple[Column, ...], output: Output) -> None:
    """Print rows of a tree: a table indents the names, programs get the bare records."""
    if output in {Output.TABLE, Output.WIDE}:
        rows = [{**row, "name": "  " * row["depth"] + str(row["name"])} for row in rows]
    else:
        rows = [_without_bar(row) for row in rows]
        if output is Output.NAME:
            rows = list({row["name"]: row for row in rows}.values())
    print_records(rows, columns, output, nothing="The ledger knows no quota.")


def _without_bar(row: Row) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "bar"}
