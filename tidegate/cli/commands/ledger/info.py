"""``tidegate ledger info``: how long a ledger is, who writes it, and where its head is."""

from __future__ import annotations

from tidegate.cli.ledger.reading import LedgerOption, open_reader
from tidegate.cli.output import Output, OutputOption, print_record


def info(ledger: LedgerOption = "", output: OutputOption = Output.TABLE) -> None:
    """Show a ledger's length, its leading scheduler and its last entry.

    Examples:
      tidegate ledger info

      tidegate ledger info -o json
    """
    with open_reader(ledger) as reader:
        print_record(reader.info(), output, name="headHash")
