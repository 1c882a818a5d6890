"""Prints the records of every command: a table for people, JSON, YAML or names for programs."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, NamedTuple

import msgspec
import typer

from tidegate.model.texts import printable


class Output(StrEnum):
    """The forms that ``--output`` takes."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"


OutputOption = Annotated[
    Output,
    typer.Option("--output", "-o", help="table, wide (more columns), json, yaml or name."),
]


class Column(NamedTuple):
    """A column of the table form: its heading, and which field of a record it shows."""

    heading: str
    field: str
    wide: bool = False  # only with --output wide
    right: bool = False  # numbers stand to the right
    show: Callable[[Any], str] = str
    colour: Callable[[Any], str | None] | None = None  # of a value; None: none


def print_records(
    records: Sequence[Mapping[str, Any]],
    columns: Sequence[Column],
    output: Output,
    *,
    name: str = "name",
    nothing: str = "Nothing to show.",
) -> None:
    """Print records in the form that was asked for.

    ``json`` and ``yaml`` print the records whole, ``name`` the field ``name`` of each, one a line.
    ``nothing`` is said on standard error if a table would be empty.
    """
    match output:
        case Output.JSON:
            _print_json(list(records))
        case Output.YAML:
            print_yaml(list(records))
        case Output.NAME:
            for record in records:
                typer.echo(str(record[name]))
        case Output.TABLE | Output.WIDE:
            if records:
                visible = [column for column in columns if output is Output.WIDE or not column.wide]
                typer.echo("\n".join(_table_lines(records, visible)))
            else:
                print_message(nothing)


def print_record(record: Mapping[str, Any], output: Output, *, name: str) -> None:
    """Print one record: whole as JSON or YAML, its field ``name``, or "key: value" lines."""
    match output:
        case Output.JSON:
            _print_json(record)
        case Output.YAML:
            print_yaml(record)
        case Output.NAME:
            typer.echo(str(record[name]))
        case Output.TABLE | Output.WIDE:
            width = max(map(len, record)) + 1
            for key, value in record.items():
                text = "-" if value in {None, ""} else printable(str(value))
                typer.echo(f"{key + ':':<{width}} {text}")


def print_yaml(value: Any) -> None:  # noqa: ANN401 - whatever JSON can say
    """Print a value as YAML."""
    typer.echo(msgspec.yaml.encode(msgspec.to_builtins(value)).decode().rstrip("\n"))


def json_line(value: Any) -> str:  # noqa: ANN401 - whatever JSON can say
    """Return a value as one line of JSON."""
    return msgspec.json.encode(value).decode()


def print_message(text: str) -> None:
    """Print a message that is not part of the answer: on standard error."""
    typer.echo(text, err=True)


def coloured(text: str, colour: str | None) -> str:
    """Colour a text if standard output is a terminal that wants colours."""
    if colour is None or not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return text
    return typer.style(text, fg=colour)


def _print_json(value: Any) -> None:  # noqa: ANN401 - whatever JSON can say
    typer.echo(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def _table_lines(records: Iterable[Mapping[str, Any]], columns: Sequence[Column]) -> list[str]:
    cells = [[_cell_text(record[column.field], column) for column in columns] for record in records]
    headings = [column.heading for column in columns]
    widths = [max(map(len, column)) for column in zip(headings, *cells, strict=True)]
    lines = [_table_line(headings, columns, widths)]
    for record, row in zip(records, cells, strict=True):
        colours = [
            column.colour(record[column.field]) if column.colour else None for column in columns
        ]
        lines.append(_table_line(row, columns, widths, colours))
    return lines


def _table_line(
    cells: Sequence[str],
    columns: Sequence[Column],
    widths: Sequence[int],
    colours: Sequence[str | None] | None = None,
) -> str:
    padded = [
        cell.rjust(width) if column.right else cell.ljust(width)
        for cell, column, width in zip(cells, columns, widths, strict=True)
    ]
    padded[-1] = padded[-1].rstrip()
    colours = colours or [None] * len(padded)
    return "   ".join(map(coloured, padded, colours)).rstrip()


def _cell_text(value: object, column: Column) -> str:
    """Return a cell's text; what a terminal would obey is no part of it: tenants write authors."""
    return "-" if value is None or value == "" else printable(column.show(value))
