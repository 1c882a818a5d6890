"""Prints a comparison in the forms of ``--output``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from tidegate.cli.figures.comparison import (
    Comparison,
    comparison_columns,
    comparison_record,
    comparison_rows,
)
from tidegate.cli.figures.page import html_page
from tidegate.cli.output import Output, print_message, print_record, print_records
from tidegate.errors import SettingsError


class Form(StrEnum):
    """The forms of a comparison."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    HTML = "html"


FormOption = Annotated[
    Form, typer.Option("--output", "-o", help="table, wide, json, yaml, or html with plots.")
]
FileOption = Annotated[
    Path | None,
    typer.Option(
        "--file", help="Write the output to this file instead of standard output.", dir_okay=False
    ),
]


def print_comparison(compared: Comparison, form: Form, file: Path | None) -> None:
    """Print a comparison, or write it to a file.

    Raises:
        SettingsError: a file is named for a form that is only printed, or cannot be written.
    """
    if file is not None:
        _write_comparison(compared, form, file)
        return
    match form:
        case Form.HTML:
            typer.echo(html_page(compared), nl=False)
        case Form.JSON | Form.YAML:
            print_record(comparison_record(compared), Output(form.value), name="title")
        case Form.TABLE | Form.WIDE:
            print_records(
                comparison_rows(compared), comparison_columns(compared.resource), Output(form.value)
            )
            for note in compared.notes:
                print_message(note)


def _write_comparison(compared: Comparison, form: Form, file: Path) -> None:
    match form:
        case Form.HTML:
            text = html_page(compared)
        case Form.JSON:
            text = (
                msgspec.json.format(msgspec.json.encode(comparison_record(compared))).decode()
                + "\n"
            )
        case _:
            raise SettingsError("--file takes --output html or json.")
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"{file} cannot be written: {error}") from error
    print_message(f"Written: {file}")
