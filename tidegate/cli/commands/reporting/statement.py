"""``tidegate statement``: a team's month, closed: signed, named by the ledger, never other."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tidegate.cli.commands.ledger.copying import refuse_existing
from tidegate.cli.commands.reporting.report import Form, print_rows
from tidegate.cli.ledger.partitions import event_name
from tidegate.cli.ledger.reading import LedgerOption, open_reader
from tidegate.cli.output import Output, OutputOption, print_message, print_record
from tidegate.cli.proving.claims import make_claim
from tidegate.cli.statements.closing import (
    Closing,
    closing_events,
    first_event_us,
    make_statement,
    reader_as_of_statement,
    reader_of_queue,
    require_matching_ledger,
)
from tidegate.cli.statements.document import (
    Statement,
    StatementError,
    read_statement,
    signed_statement_file,
    verify_statement,
)
from tidegate.cli.times import utc

app = typer.Typer(
    help="A team's month: what it used and what that costs, closed so that it stays so.",
    no_args_is_help=True,
)
File = Annotated[Path, typer.Argument(help="The statement's file.")]


@app.command("close")
def close(
    month: Annotated[str, typer.Argument(help="The month, such as 2026-03; it must be over.")],
    queue: Annotated[str, typer.Option(help="The team's ClusterQueue.")],
    key: Annotated[Path, typer.Option(help="The private key, from `tidegate ledger keygen`.")],
    out: Annotated[Path, typer.Option(help="The new file for the statement.")],
    ledger: LedgerOption = "",
) -> None:
    """Write a ClusterQueue's statement of a month, and print how to record it in the ledger.

    The statement has the seq of the newest event that it includes, a signed checkpoint of that
    event, and each row of the report `chargeback` in the columns of FOCUS, with its price. To close
    the month, write the statement's digest into an annotation of the ClusterQueue, which becomes an
    event of the ledger; the command prints the kubectl command. Only the first such event of a
    month counts.

    Examples:
      tidegate statement close 2026-03 --queue team-a --key audit.key --out team-a-2026-03.json
    """
    refuse_existing(out)
    with open_reader(ledger) as every:
        reader, several = reader_of_queue(every, queue), bool(every.others)
        claim = make_claim(reader)
        statement = make_statement(reader, claim, month, queue)
        earlier, begun = closing_events(reader, month, queue), utc(first_event_us(reader))
    out.write_bytes(signed_statement_file(statement, claim, key))
    digest = read_statement(out).digest
    for flavor_resource in statement.unpriced:
        print_message(f"No price for {flavor_resource} on some day: its rows have no cost.")
    if begun > statement.begin:
        print_message(f"This ledger began at {begun}: the time before is not in the statement.")
    print_message(
        f"{out}: {len(statement.rows)} rows as of seq {_event_seq(statement, several=several)}."
    )
    if earlier:
        seq = _event_seq(earlier[0], several=several)
        print_message(f"{month} was closed by seq {seq} already: that statement counts.")
        return
    annotation = f"tidegate.dev/statement={month}={digest}"
    print_message(
        f"To close the month:\n  kubectl annotate --overwrite clusterqueue {queue} {annotation}"
    )


@app.command("verify")
def verify(
    file: File,
    public_key: Annotated[Path, typer.Option(help="The public key of the signer.")],
    ledger: LedgerOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Verify that a statement is the closed one and matches the ledger.

    The command checks the signatures, computes the usage again from the events up to the
    statement's seq, and looks for the event that closed the month. The exit code is 1 if a check
    fails or the month is not closed. `tidegate ledger verify` checks the ledger's hash chain.

    Examples:
      tidegate statement verify team-a-2026-03.json --public-key audit.key.pub
    """
    signed = verify_statement(file, public_key)
    statement = signed.statement
    with open_reader(ledger, reports=False) as every:
        reader, several = reader_of_queue(every, statement.cluster_queue), bool(every.others)
        with reader_as_of_statement(reader, statement) as then:
            require_matching_ledger(then, statement, several=several)
        closed = closing_events(reader, statement.month, statement.cluster_queue)
    if not closed:
        raise StatementError(
            f"{file} is what the ledger gives, but {statement.month} is not closed: no event of "
            "the ledger names a statement of it."
        )
    first = closed[0]
    if first.digest != signed.digest:
        seq = _event_seq(first, several=several)
        raise StatementError(
            f"Seq {seq} of the ledger closed {statement.month} with another statement: "
            f"{first.digest}."
        )
    record: dict[str, Any] = {
        "holds": True,
        "clusterQueue": statement.cluster_queue,
        "month": statement.month,
        "asOfSeq": statement.seq,
        "digest": signed.digest,
        "closedSeq": first.seq,
        "closedAt": first.at,
        "closedBy": first.author or None,
    }
    if several:
        record |= {"asOfPartition": statement.partition, "closedPartition": first.partition}
    print_record(record, output, name="digest")
    for later in closed[1:]:
        seq = _event_seq(later, several=several)
        print_message(f"Seq {seq} names another statement of {statement.month}, which is ignored.")


def _event_seq(event: Statement | Closing, *, several: bool) -> str:
    """Return an event's seq for people."""
    return event_name(event.partition, event.seq, several=several)


@app.command("show")
def show(
    file: File,
    output: Annotated[
        Form, typer.Option("--output", "-o", help="The format of the output.")
    ] = Form.TABLE,
) -> None:
    """Print a statement's rows; `-o csv` and `-o parquet` write them in FOCUS columns.

    Examples:
      tidegate statement show team-a-2026-03.json -o csv > team-a-2026-03.csv
    """
    statement = read_statement(file).statement
    rows = [dict(row) for row in statement.rows]
    if output in {Form.TABLE, Form.WIDE}:
        rows = [{name: row[name] for name in _SHOWN} for row in rows]
    print_rows(rows, output)
    if output in {Form.TABLE, Form.WIDE}:
        for total in statement.totals:
            print_message(f"{total.cost} {total.currency} in {statement.month}.")


_SHOWN = (
    "ChargePeriodStart",
    "SubAccountId",
    "x_Author",
    "SkuId",
    "ConsumedQuantity",
    "ConsumedUnit",
    "ListUnitPrice",
    "BilledCost",
    "BillingCurrency",
)
"""What a terminal has room for."""
