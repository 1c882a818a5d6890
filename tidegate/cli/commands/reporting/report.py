"""``tidegate report``: the SQL reports, their rows and their statements."""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

from store.views.texts import TEXTS
from tidegate.cli.ledger.narrowing import Row, Span, group_rows, time_filter
from tidegate.cli.ledger.partitions import PartitionOption
from tidegate.cli.ledger.reader import lag_us
from tidegate.cli.ledger.reading import AsOfOption, LedgerOption, Reader, open_reader
from tidegate.cli.output import Column, Output, print_message, print_records
from tidegate.cli.times import duration_text as duration
from tidegate.errors import NotSupportedError

_LIST = (Column("NAME", "name"), Column("WHAT IT TELLS", "about"))
_CHARGEBACK = "chargeback"
_PRICED = ("day", "flavor", "resource", "per_unit_hour")
"""What tells which days have no price."""
_ROWS_MAX = 20_000
_DIGITS = 6
_NAMES = ("workload", "cluster_queue")
"""Columns that name what a row is about; of a report without them its first column does."""
_LAG_SHOWN_US = 10_000_000
"""The lag behind the clock from which the newest event's time is printed."""
Rows = Sequence[Mapping[str, Any]]
_NUMBER = re.compile(r"[-+]?[0-9]+(\.[0-9]+)?", re.ASCII)
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
"""A text that begins so is a formula in a spreadsheet: who creates a job may write its author."""


class Form(StrEnum):
    """The forms that ``--output`` takes here: files of columns besides."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"
    CSV = "csv"
    PARQUET = "parquet"


def report(  # noqa: PLR0913 - each is an option
    view: Annotated[str, typer.Argument(help="The report; default: list all reports.")] = "",
    *,
    sql: Annotated[bool, typer.Option("--sql", help="Print its SQL instead of rows.")] = False,
    since: Annotated[
        str, typer.Option(metavar="TIME", help="Only rows from this time (UTC) or age on: 2h.")
    ] = "",
    until: Annotated[str, typer.Option(metavar="TIME", help="Only rows before this time.")] = "",
    queue: Annotated[str, typer.Option(help="Only this ClusterQueue.")] = "",
    namespace: Annotated[str, typer.Option("--namespace", "-n", help="Only this namespace.")] = "",
    group_by: Annotated[
        str, typer.Option(help="Sum up rows that are equal in these columns: namespace,day.")
    ] = "",
    limit: Annotated[
        int,
        typer.Option(
            min=0, max=1_000_000_000, help="Refuse to print more rows than this; 0: print all."
        ),
    ] = _ROWS_MAX,
    partition: PartitionOption = None,
    as_of: AsOfOption = "",
    ledger: LedgerOption = "",
    output: Annotated[
        Form, typer.Option("--output", "-o", help="The format of the output.")
    ] = Form.TABLE,
) -> None:
    """Print a SQL report: the rows of the SQL view with that name.

    --since and --until select an hour or a day by its start, and an interval if any part of it is
    in between. The command refuses to print more rows than --limit, so that output is never
    incomplete.

    Examples:
      tidegate report

      tidegate report usage_hourly -o json

      tidegate report chargeback --sql

      tidegate report chargeback --since 2026-03-01 --until 2026-04-01 --group-by namespace,currency

      tidegate report quota_hourly --queue team-a --since 7d -o csv > team-a.csv
    """
    with open_reader(ledger, as_of, partition) as reader:
        if not view:
            _print_list(_record_output(output))
        elif sql:
            typer.echo(reader.statement(view))
        else:
            only = {"cluster_queue": queue, "namespace": namespace}
            filters = {column: value for column, value in only.items() if value}
            columns = [name.strip() for name in group_by.split(",") if name]
            more = _PRICED if columns and view == _CHARGEBACK else ()
            by = list(dict.fromkeys((*columns, *more)))
            span = time_filter(_parse_span(reader, since, until))
            rows = reader._replace(rows_max=limit or None).report(view, filters, span, by)
            print_rows(group_rows(rows, columns, TEXTS[view].sums) if by else rows, output)
            if view == _CHARGEBACK:
                _print_unpriced(rows)
            if not reader.past:
                _print_report_end(max(map(lag_us, reader.partition_readers())))


def _parse_span(reader: Reader, since: str, until: str) -> Span:
    since_us = reader.moment_us(since, "--since") if since else 0
    until_us = reader.moment_us(until, "--until") if until else None
    if until_us is not None and until_us < since_us:
        raise typer.BadParameter(f"--until {until} is before --since {since}.")
    return Span(since_us, until_us)


def _record_output(form: Form) -> Output:
    if form in {Form.CSV, Form.PARQUET}:
        raise typer.BadParameter("Name a report to use this format.")
    return Output(form)


def _print_unpriced(rows: Sequence[Row]) -> None:
    """Print the rows without a price, which a sum over ``cost`` would omit silently."""
    days: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row["per_unit_hour"] is None:
            days.setdefault((row["flavor"], row["resource"]), []).append(row["day"])
    for (flavor, resource), missing in sorted(days.items()):
        first, last = min(missing), max(missing)
        span = f"on {first}" if first == last else f"from {first} to {last}"
        print_message(f"No price for {resource} of {flavor} {span}: its rows have no cost.")


def _print_report_end(behind_us: int) -> None:
    """Say that the rows of a ledger that goes on end before now."""
    if behind_us >= _LAG_SHOWN_US:
        ago = duration(behind_us / 1_000_000)
        print_message(f"What has not ended is counted up to the ledger's newest event, {ago} ago.")


def _print_list(output: Output) -> None:
    records = [{"name": name, "about": view.about} for name, view in TEXTS.items()]
    print_records(records, _LIST, output)


def print_rows(rows: Sequence[Row], form: Form) -> None:
    """Print a report's rows, or write them to standard output as a file of columns."""
    if form is Form.CSV:
        print_csv(rows)
        return
    if form is Form.PARQUET:
        print_parquet(rows)
        return
    names = list(rows[0]) if rows else []
    columns = [
        Column(
            name.upper().replace("_", " "),
            name,
            right=any(isinstance(row[name], int | float) for row in rows),
            show=_cell_text,
        )
        for name in names
    ]
    name = next((name for name in (*_NAMES, *names) if name in names), "")
    print_records(rows, columns, _record_output(form), name=name, nothing="There are no rows.")


def _cell_text(value: object) -> str:
    return f"{value:.{_DIGITS}g}" if isinstance(value, float) else str(value)


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
