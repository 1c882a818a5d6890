"""The partitions of a ledger on the command line: which are asked about, and their order in time.

A partition is a ledger of its own, with its own seqs: see docs/adr/0027. Readers show them as one
history, in the order of time, then partition, then seq.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from store.reading.about import partitions
from tidegate.cli.output import print_message
from tidegate.contracts.entry import Entry

if TYPE_CHECKING:
    from tidegate.cli.ledger.reader import Reader

Row = TypeVar("Row")
PartitionOption = Annotated[
    int | None,
    typer.Option(
        "--partition",
        metavar="N",
        min=0,
        help="Only this partition of the ledger; default: all.",
        show_default=False,
    ),
]
OnePartitionOption = Annotated[
    int | None,
    typer.Option(
        "--partition",
        metavar="N",
        min=0,
        help="This partition of the ledger; default: 0.",
        show_default=False,
    ),
]


def selected_partitions(numbers: Sequence[int], partition: int | None) -> Sequence[int]:
    """Return the partitions that are asked about: one, or all of them."""
    if partition is None:
        return numbers
    if partition not in numbers:
        listed = ", ".join(map(str, numbers))
        raise typer.BadParameter(
            f"--partition {partition}: this ledger has no such partition, but {listed}."
        )
    return (partition,)


def single_partition(reader: Reader, command: str) -> Reader:
    """Return the reader of one partition, and say so where there are more and none was named.

    ``command`` is what reads no more than one.
    """
    if not reader.others:
        return reader
    print_message(
        several_partitions_message(len(reader.partition_readers()), command, reader.partition)
    )
    return reader.partition_readers()[0]


def single_partition_in(engine: Any, partition: int | None, command: str) -> int:  # noqa: ANN401 - SQL's
    """Return the partition that a command writes to, and say which where none was named."""
    from store.access.engine import selecting  # noqa: PLC0415 - SQL may be absent

    if partition is not None:
        return partition  # maybe one of which nothing is left
    with selecting(engine) as select:
        first, *others = partitions(select)
    if others:
        print_message(several_partitions_message(len(others) + 1, command, first))
    return first


def several_partitions_message(count: int, command: str, partition: int) -> str:
    """Return what is said where a command takes one of several partitions, and none was named."""
    return (
        f"This ledger has {count} partitions: `{command}` takes partition {partition}; "
        "use --partition for another."
    )


def merge_rows(
    reader: Reader, rows_of: Callable[[Reader], Iterable[Row]], sort_key: Callable[[Row], Any]
) -> list[Row]:
    """Return the rows of all partitions by their place; of one alone as they come."""
    if not reader.others:
        return list(rows_of(reader))
    return sorted(
        (row for each in reader.partition_readers() for row in rows_of(each)), key=sort_key
    )


def merge_by_time(*histories: Iterable[Entry]) -> Iterator[Entry]:
    """Yield entries of several partitions as one history."""
    from heapq import merge  # noqa: PLC0415 - most commands merge nothing

    return merge(*histories, key=time_order_key)


def time_order_key(entry: Entry) -> tuple[int, int, int]:
    """Return an entry's sort key in the history of all partitions: time never falls in one."""
    return entry.at_us, entry.partition, entry.seq


def seq_text(entry: Entry, *, several: bool) -> str:
    """Return an entry's seq for people: where there are several partitions, with its own."""
    return event_name(entry.partition, entry.seq, several=several)


def event_name(partition: int, seq: int, *, several: bool) -> str:
    """Return an event's name: its seq, with its partition where there are several."""
    return f"{partition}/{seq}" if several else str(seq)
