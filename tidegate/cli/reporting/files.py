"""A report's rows as CSV or Parquet, for spreadsheets and tools that read columns."""

from __future__ import annotations

import csv
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import typer

from tidegate.errors import NotSupportedError

Rows = Sequence[Mapping[str, Any]]


def print_csv(rows: Rows) -> None:
    """Print rows with a head, as RFC 4180 has it; NULL is an empty field."""
    if rows:
        writer = csv.writer(sys.stdout, lineterminator="\r\n")
        writer.writerow(rows[0])
        writer.writerows(row.values() for row in rows)


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
