"""``tidegate topology``: racks and nodes, and what runs where."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from tidegate.cli.ledger.racks import TopologyView, domain_rows, topology_views
from tidegate.cli.ledger.reading import AsOfOption, LedgerOption, open_reader
from tidegate.cli.output import Column, Output, print_message, print_records
from tidegate.errors import UnknownNameError

app = typer.Typer(no_args_is_help=True)
COLUMNS = (
    Column("NAME", "name"),
    Column("LEVEL", "level", wide=True),
    Column("NODES", "nodes", right=True),
    Column("RESOURCE", "resource"),
    Column("USAGE", "bar"),
    Column("USED", "used", right=True),
    Column("ALLOCATABLE", "allocatable", right=True),
    Column("OTHER PODS", "others", wide=True),
    Column("STATE", "state"),
    Column("WORKLOADS", "workloads"),
)


class TopologyOutput(StrEnum):
    """The forms that ``--output`` takes."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    SVG = "svg"


@app.callback()
def group() -> None:
    """Show the topologies that pods are placed on."""


@app.command("show")
def show(
    name: Annotated[
        str,
        typer.Argument(help="Only this topology, or the topology of this flavor; default: all."),
    ] = "",
    *,
    level: Annotated[str, typer.Option("--level", help="Stop at this level (a node label).")] = "",
    as_of: AsOfOption = "",
    ledger: LedgerOption = "",
    output: Annotated[
        TopologyOutput, typer.Option("--output", "-o", help="table, wide, json, yaml or svg.")
    ] = TopologyOutput.TABLE,
) -> None:
    """Draw racks and nodes with the workloads on them.

    In a bar, █ is usage by workloads that were placed there, ▒ by other pods, and ░ is free. The
    bar shows the resource with the highest usage. In the SVG a box is a rack, a cell a node, and
    each workload has a colour.

    Examples:
      tidegate topology show

      tidegate topology show racks --level example.com/rack

      tidegate topology show racks -o svg > racks.svg
    """
    with open_reader(ledger, as_of, reports=False) as reader:
        drawings = topology_views(reader.state(), name)  # partition 0's: it alone places pods there
    levels = {label for drawing in drawings for label in drawing.levels}
    if level and level not in levels:
        there_are = f"There are: {', '.join(sorted(levels))}." if levels else "There are none."
        raise UnknownNameError(f"No flavor's topology has a level {level!r}. {there_are}")
    match output:
        case TopologyOutput.SVG:
            from tidegate.cli.figures.racks import topology_svg  # noqa: PLC0415 - only for a drawing

            typer.echo(topology_svg(drawings))
        case TopologyOutput.JSON | TopologyOutput.YAML:
            print_records([_topology_record(drawing) for drawing in drawings], (), Output(output))
        case TopologyOutput.TABLE | TopologyOutput.WIDE:
            _print_tables(drawings, level, Output(output))


def _print_tables(drawings: list[TopologyView], level: str, output: Output) -> None:
    if not drawings:
        print_message("No flavor has a topology.")
    for drawing in drawings:
        levels = " > ".join(drawing.levels)
        typer.echo(f"{drawing.topology}, flavor {drawing.flavor}: {levels}")
        nothing = "No node has a label for each level."
        print_records(list(domain_rows(drawing, level)), COLUMNS, output, nothing=nothing)


def _topology_record(drawing: TopologyView) -> dict[str, object]:
    return {
        "topology": drawing.topology,
        "flavor": drawing.flavor,
        "levels": drawing.levels,
        "domains": drawing.domains,
    }
