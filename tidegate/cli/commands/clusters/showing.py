"""``tidegate clusters list`` and ``why``: how worker clusters stand, as the ledger has it."""

from __future__ import annotations

from itertools import islice
from typing import Annotated, Any

import msgspec
import typer

from store.reading.entries import Narrow
from tidegate.cli.commands.clusters.workers import (
    Worker,
    change_text,
    sentences,
    worker,
    workers,
)
from tidegate.cli.ledger.name_lookup import draft_of
from tidegate.cli.ledger.reading import AsOfOption, LedgerOption, Reader, open_reader
from tidegate.cli.output import Column, Output, OutputOption, print_record, print_records
from tidegate.cli.times import utc
from tidegate.contracts.codec import decode
from tidegate.contracts.entry import Entry

_COLOURS = {"Connected": "green", "Lost": "red", "Unknown": "yellow"}
_COLUMNS = (
    Column("NAME", "name"),
    Column("STANDING", "standing", colour=_COLOURS.get),
    Column("SINCE", "lostSince"),
    Column("STOP POLICY", "stopPolicy"),
    Column("RUNS", "runs", right=True),
    Column("ASKED", "asks", right=True),
    Column("LEAVING", "leaves", right=True),
    Column("CHECKS", "usedBy", wide=True),
    Column("REASON", "reason"),
    Column("MESSAGE", "message", wide=True),
)
_TYPES = ("RemoteClusterChanged", "MultiKueueClusterDefined", "MultiKueueClusterRemoved")
_CHANGES_MAX = 10


def list_clusters(
    *,
    as_of: AsOfOption = "",
    ledger: LedgerOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """List worker clusters with their connection, their workloads and their stop policy.

    Examples:
      tidegate clusters list

      tidegate clusters list --as-of 2026-03-02T09:00:00Z -o wide
    """
    with open_reader(ledger, as_of, reports=False) as reader:
        records = [_record(each) for each in workers(draft_of(reader))]
    print_records(records, _COLUMNS, output, nothing="There is no MultiKueueCluster.")


def why(
    name: Annotated[str, typer.Argument(help="The MultiKueueCluster's name.")],
    *,
    as_of: AsOfOption = "",
    ledger: LedgerOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Show why a worker cluster gets workloads or not, its workloads, and its changes.

    Example:
      tidegate clusters why worker-1
    """
    with open_reader(ledger, as_of, reports=False) as reader:
        standing = worker(draft_of(reader), name)
        changes = _changes(reader, name)
    lines = list(sentences(standing, _time(standing.given_up_us)))
    if output in {Output.TABLE, Output.WIDE}:
        for line in (*lines, *_lines(standing), *(f"{at}  {text}" for at, text in changes)):
            typer.echo(line)
        return
    record = {
        **_record(standing),
        "why": lines,
        "changes": [{"at": at, "what": text} for at, text in changes],
    }
    print_record(record, output, name="name")


def _lines(standing: Worker) -> list[str]:
    rows = (("runs", standing.running), ("asked", standing.asked), ("leaving", standing.leaving))
    return [f"{title}: {', '.join(keys)}" for title, keys in rows if keys]


def _record(standing: Worker) -> dict[str, Any]:
    return {
        **msgspec.to_builtins(
            {
                "name": standing.name,
                "standing": standing.standing,
                "stopPolicy": standing.stop_policy,
                "reason": standing.reason,
                "message": standing.message,
                "running": standing.running,
                "asked": standing.asked,
                "leaving": standing.leaving,
                "configs": standing.configs,
                "checks": standing.checks,
            }
        ),
        "lostSince": _time(standing.lost_us),
        "runs": len(standing.running),
        "asks": len(standing.asked),
        "leaves": len(standing.leaving),
        "usedBy": ",".join(standing.checks),
    }


def _time(at_us: int) -> str:
    return utc(at_us) if at_us else ""


def _changes(reader: Reader, name: str) -> list[tuple[str, str]]:
    """Return the newest facts about a cluster, the oldest of them first."""
    entries = reader.ledger.back(reader.end, narrow=Narrow(frozenset(_TYPES)))
    changes = ((utc(entry.at_us), _told(entry, name)) for entry in entries if entry.type in _TYPES)
    newest = islice((change for change in changes if change[1]), _CHANGES_MAX)
    return list(reversed(list(newest)))


def _told(entry: Entry, name: str) -> str:
    event: Any = decode(entry.payload)
    about = event.cluster if entry.type == "RemoteClusterChanged" else event.name
    return change_text(event) if about == name else ""
