"""``tidegate ledger info``: a ledger's length, its writer, and its head."""

from __future__ import annotations

from tidegate.cli.ledger.partitions import PartitionOption
from tidegate.cli.ledger.reading import LedgerOption, open_reader
from tidegate.cli.output import Column, Output, OutputOption, print_record, print_records
from tidegate.errors import NotSupportedError

_PARTITIONS = (
    Column("PARTITION", "partition", right=True),
    Column("LEDGER ID", "ledgerId"),
    Column("EVENTS", "headSeq", right=True),
    Column("NEWEST", "headAt"),
    Column("TURNS", "turns", right=True),
    Column("WRITER", "writer"),
    Column("TERM", "term", right=True),
    Column("OBSERVATIONS", "observationsSeq", right=True),
    Column("ARCHIVED", "archivedSeq", right=True, wide=True),
    Column("SNAPSHOT", "snapshotSeq", right=True, wide=True),
    Column("HASH", "headHash", wide=True),
)


def info(
    partition: PartitionOption = None,
    ledger: LedgerOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Show a ledger's length, its leading scheduler and its last entry; of each partition.

    Examples:
      tidegate ledger info

      tidegate ledger info -o json
    """
    with open_reader(ledger, partition=partition) as reader:
        if reader.database is None:
            raise NotSupportedError(
                f"{reader.url} is an exported archive, which has no scheduler and no schema:"
                " `tidegate ledger verify` counts its events."
            )
        records = [each.info() for each in reader.partition_readers()]
    if len(records) == 1:
        print_record(records[0], output, name="headHash")
    else:
        print_records(records, _PARTITIONS, output, name="headHash")
