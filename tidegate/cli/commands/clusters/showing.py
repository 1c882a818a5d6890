"""``tidegate clusters list`` and ``why``: how worker clusters stand, as the ledger has it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Annotated, Any

import msgspec
import typer

from store.reading.about import last_received_us
from store.reading.entries import EntryFilter
from tidegate.cli.commands.clusters.members import member_clusters, member_sentences
from tidegate.cli.commands.clusters.workers import (
    Worker,
    change_text,
    worker_clusters,
    worker_sentences,
)
from tidegate.cli.ledger.reading import AsOfOption, LedgerOption, Reader, open_reader
from tidegate.cli.output import Column, Output, OutputOption, print_record, print_records
from tidegate.cli.times import utc
from tidegate.contracts.codec import decode
from tidegate.contracts.entry import Entry
from tidegate.core.members.cluster_status import member_key
from tidegate.core.state.state import State
from tidegate.errors import UnknownNameError, existing

_COLOURS = {
    "Connected": "green",
    "Heard": "green",
    "Lost": "red",
    "Silent": "red",
    "Replaced": "red",
    "Unknown": "yellow",
    "NotListed": "yellow",
}
_COLUMNS = (
    Column("NAME", "name"),
    Column("KIND", "kind"),
    Column("STANDING", "standing", colour=_COLOURS.get),
    Column("SINCE", "lostSince"),
    Column("LAST HEARD", "lastHeard"),
    Column("STOP POLICY", "stopPolicy"),
    Column("RUNS", "runs", right=True),
    Column("ASKED", "asks", right=True),
    Column("LEAVING", "leaves", right=True),
    Column("CHECKS", "usedBy", wide=True),
    Column("FLAVORS", "existing", wide=True),
    Column("REASON", "reason"),
    Column("MESSAGE", "message", wide=True),
)
_TYPES = ("RemoteClusterChanged", "MultiKueueClusterDefined", "MultiKueueClusterRemoved")
_CHANGES_MAX = 10
_NONE = "There is no MultiKueueCluster, and no member cluster."


def list_clusters(
    *, as_of: AsOfOption = "", ledger: LedgerOption = "", output: OutputOption = Output.TABLE
) -> None:
    """List worker and member clusters with their connection, workloads and stop policy.

    Examples:
      tidegate clusters list

      tidegate clusters list --as-of 2026-03-02T09:00:00Z -o wide
    """
    with open_reader(ledger, as_of, reports=False) as reader:
        heard_us = _last_report_us(reader)
        records = [_cluster_record(each, heard_us) for each in _clusters(reader.state())]
    print_records(records, _COLUMNS, output, nothing=_NONE)


def why(
    name: Annotated[str, typer.Argument(help="The MultiKueueCluster's or member's name.")],
    *,
    as_of: AsOfOption = "",
    ledger: LedgerOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Show why a cluster gets workloads or not, its workloads, and its changes.

    Example:
      tidegate clusters why worker-1
    """
    with open_reader(ledger, as_of, reports=False) as reader:
        standing = _cluster(reader.state(), name)
        changes, heard_us = _newest_changes(reader, standing), _last_report_us(reader)
    lines = list(_sentences(standing))
    if output in {Output.TABLE, Output.WIDE}:
        for line in (
            *lines,
            *_workload_lines(standing),
            *(f"{at}  {text}" for at, text in changes),
        ):
            typer.echo(line)
        return
    record = {
        **_cluster_record(standing, heard_us),
        "why": lines,
        "changes": [{"at": at, "text": text} for at, text in changes],
    }
    print_record(record, output, name="name")


def _last_report_us(reader: Reader) -> dict[str, int]:
    """Return when each member cluster last reported, UTC microseconds; empty: not known."""
    if reader.database is None or reader.past:
        return {}
    return last_received_us(reader.database.select)


def _clusters(state: State) -> list[Worker]:
    return [*worker_clusters(state), *member_clusters(state)]


def _cluster(state: State, name: str) -> Worker:
    """Return a cluster by name.

    Raises:
        UnknownNameError: there is none.
    """
    by_name = {each.name: each for each in _clusters(state)}
    if name not in by_name:
        raise UnknownNameError(f"There is no cluster {name!r}. {existing(', '.join(by_name))}")
    return by_name[name]


def _sentences(worker: Worker) -> Iterator[str]:
    if worker.kind == "member":
        return member_sentences(worker)
    return worker_sentences(worker, _time_text(worker.given_up_us))


def _workload_lines(worker: Worker) -> list[str]:
    waits = "waits" if worker.kind == "member" else "asked"
    rows = (("runs", worker.running), (waits, worker.asked), ("leaving", worker.leaving))
    return [f"{title}: {', '.join(keys)}" for title, keys in rows if keys]


def _cluster_record(worker: Worker, heard_us: Mapping[str, int]) -> dict[str, Any]:
    last_us = heard_us.get(worker.name, 0) if worker.kind == "member" else 0
    return {
        **msgspec.to_builtins(
            {
                "name": worker.name,
                "kind": worker.kind,
                "standing": worker.standing,
                "stopPolicy": worker.stop_policy,
                "reason": worker.reason,
                "message": worker.message,
                "running": worker.running,
                "asked": worker.asked,
                "leaving": worker.leaving,
                "configs": worker.configs,
                "checks": worker.checks,
                "flavors": worker.flavors,
                "uid": worker.uid,
            }
        ),
        "lostSince": _time_text(worker.lost_us),
        "lastHeard": _time_text(last_us),
        "runs": len(worker.running),
        "asks": len(worker.asked),
        "leaves": len(worker.leaving),
        "usedBy": ",".join(worker.checks),
        "existing": ",".join(worker.flavors),
    }


def _time_text(at_us: int) -> str:
    return utc(at_us) if at_us else ""


def _newest_changes(reader: Reader, worker: Worker) -> list[tuple[str, str]]:
    """Return the newest facts about a cluster, the oldest of them first."""
    name = member_key(worker.name) if worker.kind == "member" else worker.name
    entries = reader.ledger.back(reader.end, narrow=EntryFilter(frozenset(_TYPES)))
    changes = (
        (utc(entry.at_us), _sentence(entry, name)) for entry in entries if entry.type in _TYPES
    )
    newest = islice((change for change in changes if change[1]), _CHANGES_MAX)
    return list(reversed(list(newest)))


def _sentence(entry: Entry, name: str) -> str:
    event: Any = decode(entry.payload)
    about = event.cluster if entry.type == "RemoteClusterChanged" else event.name
    return change_text(event) if about == name else ""
