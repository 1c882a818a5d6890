"""``tidegate partitions list``: each partition's cohort trees, leader and progress."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tidegate.cli.instance import is_running, read_instance
from tidegate.cli.ledger.partitions import PartitionOption
from tidegate.cli.ledger.reading import LedgerOption, Reader, open_reader
from tidegate.cli.moves.state import Move, moves_of, since_us
from tidegate.cli.nats_options import (
    BusCaOption,
    BusCredentialsOption,
    ClusterOption,
    NatsOptions,
    nats_options,
)
from tidegate.cli.output import Column, Output, OutputOption, print_records
from tidegate.cli.times import utc
from tidegate.core.queueing.usage import queue_usage
from tidegate.core.quota.partition_moves import abbreviate_names, objects_by_root
from tidegate.core.state.state import State
from tidegate.errors import BusUnreachableError
from tidegate.urls import redacted

if TYPE_CHECKING:
    from tidegate.bus.witness import Witness

_COLUMNS = (
    Column("PARTITION", "partition", right=True),
    Column("LEADER", "leader", colour={"": "red"}.get),
    Column("TERM", "term", right=True, wide=True),
    Column("TREES", "treesText"),
    Column("QUEUES", "queues", right=True),
    Column("PENDING", "pending", right=True),
    Column("ADMITTED", "admitted", right=True),
    Column("EVENTS", "headSeq", right=True),
    Column("UNPUBLISHED", "unpublished", right=True),
    Column("OBSERVATIONS", "observationsSeq", right=True),
    Column("BEHIND", "behind", right=True, wide=True),
    Column("LAST EVENT", "headAt", wide=True),
    Column("MOVES", "movesText"),
)


def list_partitions(  # noqa: PLR0913 - each is an option
    *,
    bus: Annotated[
        str,
        typer.Option(
            help="The nats:// URL, for how far EVENTS is; default: the running instance's."
        ),
    ] = "",
    cluster: ClusterOption = "local",
    bus_credentials: BusCredentialsOption = None,
    bus_ca: BusCaOption = None,
    partition: PartitionOption = None,
    ledger: LedgerOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """List partitions with their trees of cohorts, workloads, leaders, positions and moves.

    A tree is named by its topmost Cohort, or by its ClusterQueue if that is in no cohort. EVENTS is
    the newest seq of the ledger, UNPUBLISHED how many events the stream EVENTS lacks, BEHIND how
    many observations another partition has read more.

    Examples:
      tidegate partitions list

      tidegate partitions list -o wide --bus nats://127.0.0.1:4222
    """
    how = nats_options(cluster, bus_credentials, bus_ca)
    instance = None if bus or ledger else read_instance()
    url = bus or (instance.nats_url if instance is not None and is_running(instance) else "")
    with open_reader(ledger, partition=partition, reports=False) as reader:
        states = [(each, each.state()) for each in reader.partition_readers()]
        records = [_partition_record(each, state, url, how) for each, state in states]
        if partition is None:
            records += _partitions_without_ledger([state for _, state in states], records)
    furthest = max(record["observationsSeq"] for record in records)
    for record in records:
        record["behind"] = furthest - record["observationsSeq"]
    print_records(records, _COLUMNS, output, name="partition")


def _partition_record(reader: Reader, state: State, url: str, nats: NatsOptions) -> dict[str, Any]:
    info, moves = reader.info(), moves_of(state)
    parts = list(_tree_records(state))
    head = info.get("headSeq", reader.end)
    published = _newest_published(url, nats, reader.partition, state.ledger_id) if url else None
    return {
        "partition": reader.partition,
        "leader": info.get("writer", ""),
        "term": info.get("term", 0),
        "ledgerId": state.ledger_id,
        "trees": parts,
        "treesText": abbreviate_names([tree["name"] for tree in parts]),
        "queues": len(state.objects.cluster_queues),
        "pending": sum(tree["pending"] for tree in parts),
        "admitted": sum(tree["admitted"] for tree in parts),
        "headSeq": head,
        "headAt": info.get("headAt"),
        "published": published,
        "unpublished": None if published is None else max(0, head - published),
        "observationsSeq": info.get("observationsSeq", 0),
        "moves": [_move_record(reader, move) for move in moves],
        "movesText": "; ".join(move.text() for move in moves),
    }


def _tree_records(state: State) -> Iterator[dict[str, Any]]:
    """Yield the trees of a partition with their workloads, by name."""
    for root, (queues, cohorts) in sorted(objects_by_root(state).items()):
        kind, _, name = root.partition("/")
        usages = [queue_usage(state, queue) for queue in queues]
        yield {
            "kind": kind,
            "name": name,
            "clusterQueues": sorted(queues),
            "cohorts": sorted(cohorts),
            "pending": sum(usage.pending for usage in usages),
            "admitted": sum(usage.admitting for usage in usages),
        }


def _move_record(reader: Reader, move: Move) -> dict[str, Any]:
    at_us = since_us(reader, move)
    return {
        "tree": move.tree,
        "from": move.giver,
        "to": move.to,
        "stage": move.stage,
        "since": utc(at_us) if at_us else "",
        "why": move.why,
    }


def _newest_published(url: str, nats: NatsOptions, partition: int, ledger_id: str) -> int | None:
    """Return the newest seq of a ledger that EVENTS holds; 0: of none; None: of another one.

    Raises:
        BusUnreachableError: NATS does not answer.
        BusRefusedError: it refuses to say.
    """
    from tidegate.bus.client import connect  # noqa: PLC0415 - loads the client of NATS

    async def fetch_witness() -> Witness | None:
        async with connect(url, partition=partition, **nats._asdict()) as events:
            return await events.witness()

    try:
        witness = asyncio.run(fetch_witness())
    except OSError as error:
        raise BusUnreachableError(f"NATS at {redacted(url)} does not answer: {error}") from error
    if witness is None:
        return 0
    return None if witness.forged or witness.ledger_id != ledger_id else witness.seq


def _partitions_without_ledger(
    states: Sequence[State], records: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return the partitions that ClusterQueues name and that have no ledger."""
    numbers_listed = {record["partition"] for record in records}
    named_queues = [queue for state in states for queue in state.objects.elsewhere.values()]
    numbers = {queue.partition for queue in named_queues} - numbers_listed
    return [
        {
            **dict.fromkeys(("ledgerId", "headAt", "published", "unpublished")),
            **dict.fromkeys(("term", "pending", "admitted", "headSeq", "observationsSeq"), 0),
            "partition": number,
            "leader": "",
            "trees": [],
            "treesText": "",
            "queues": len({queue.name for queue in named_queues if queue.partition == number}),
            "moves": [],
            "movesText": "",
        }
        for number in sorted(numbers)
    ]
