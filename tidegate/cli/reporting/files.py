"""A report's rows as CSV or Parquet, for spreadsheets and tools that read columns."""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import typer

from tidegate.errors import NotSupportedError

Rows = Sequence[Mapping[str, Any]]
_NUMBER = re.compile(r"[-+]?[0-9]+(\.[0-9]+)?", re.ASCII)


_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
"""A text that begins so is a formula in a spreadsheet: who creates a job may write its author."""


def print_csv(rows: Rows) -> None:
    """Print rows with a head, as RFC 4180 has it; NULL is an empty field.

    A text that a spreadsheet would calculate gets an apostrophe before it; numbers stay.
    """
    if rows:
        writer = csv.writer(sys.stdout, lineterminator="\r\n")
        writer.writerow(rows[0])
        writer.writerows(map(_csv_cell, row.values()) for row in rows)


def _csv_cell(value: object) -> object:
    if isinstance(value, str) and value.startswith(_FORMULA) and not _NUMBER.fullmatch(value):
        return f"'{value}"
    return value


def print_parquet(rows: Rows) -> None:
    """Write rows to standard output as one Parquet file.

    Raises:
        BadParameter: standard output is a terminal.
        NotSupportedError: this installation lacks pyarrow.
    """
    if sys.stdout.isatty():
        raise typer.BadParameter("Redirect Parquet to a file: … -o parquet > FILE.parquet")
    try:
        import pyarrow as pa  # noqa: PLC0415 - an optional extra
        import pyarrow.parquet as pq  # noqa: PLC0415
    except ImportError as error:
        raise NotSupportedError(
            f"This installation writes no Parquet ({error}): pip install 'tidegate[parquet]', or "
            "use --output csv."
        ) from error
    pq.write_table(pa.Table.from_pylist(list(map(dict, rows))), sys.stdout.buffer)
