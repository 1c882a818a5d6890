"""Look up a name that a user gave: a ClusterQueue, a Cohort, or a workload by its job."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer

from tidegate.cli.ledger.partitions import merge_by_time, time_order_key
from tidegate.cli.ledger.reader import Reader
from tidegate.contracts.codec import decode
from tidegate.contracts.decisions import VariantCreated
from tidegate.contracts.entry import Entry
from tidegate.core.state.state import State, Workload
from tidegate.errors import NotSupportedError, UnknownNameError, existing
from tidegate.replay.names import resolve_workloads

WorkloadArgument = Annotated[
    str,
    typer.Argument(
        help="job/NAME as kubectl writes it, a Workload's name, or NAMESPACE/NAME.",
        metavar="WORKLOAD|job/NAME",
    ),
]
WithinOption = Annotated[
    str, typer.Option("--namespace", "-n", help="Look in this namespace only.")
]
SubjectArgument = Annotated[
    str,
    typer.Argument(
        help="Only the tree of this ClusterQueue, Cohort or job/NAME; default: all.",
        metavar="[QUEUE|COHORT|job/NAME]",
    ),
]


def require_known_queue(reader: Reader, name: str) -> None:
    """Refuse the name of a ClusterQueue that the ledger does not know; empty means all.

    Raises:
        UnknownNameError: there is none, as of the time that is asked about.
    """
    if name:
        require_known_name(name, (row["cluster_queue"] for row in reader.report("queues")))


def require_known_name(name: str, known_names: Iterable[str]) -> None:
    """Refuse the name of a ClusterQueue that is none of those known.

    Raises:
        UnknownNameError: it is none of them.
    """
    names = sorted({*known_names} - {""})
    if name not in names:
        raise UnknownNameError(f"There is no ClusterQueue {name!r}. {existing(', '.join(names))}")


def find_workload_key(reader: Reader, text: str) -> str:
    """Return the key of the workload that a text means, the newest of its name.

    Raises:
        UnknownNameError: the ledger has none.
    """
    name = text.rpartition("/")[2]
    results = resolve_workloads(
        merge_by_time(*(each.submissions(name) for each in reader.partition_readers())), text
    )
    spaces = sorted({key.partition("/")[0] for key in results})
    if not results:
        raise UnknownNameError(
            f"The ledger {reader.url} has no workload {text!r}: "
            "see `tidegate show workloads --all`."
        )
    if len(spaces) > 1:
        raise typer.BadParameter(
            f"{text!r} exists in several namespaces: choose one with -n ({', '.join(spaces)})."
        )
    return results[-1]


def readers_of_workload(reader: Reader, key: str) -> list[Reader]:
    """Return the readers of the partitions in which a workload was submitted, the newest last.

    A job that changes the partition has a history in both.
    """
    if not reader.others:
        return [reader]
    namespace, _, name = key.partition("/")
    newest = dict[tuple[int, int, int], Reader]()
    for each in reader.partition_readers():
        places = [
            time_order_key(entry)
            for entry in each.submissions(name, namespace)
            if resolve_workloads([entry], key)
        ]
        if places:
            newest[places[-1]] = each
    return [newest[place] for place in sorted(newest)] or [reader.partition_readers()[0]]


def reader_of_workload(reader: Reader, key: str) -> Reader:
    """Return the reader of the partition in which a workload was submitted last."""
    return readers_of_workload(reader, key)[-1]


def entries_naming(reader: Reader, key: str) -> list[Entry]:
    """Return the entries that name a workload or one of its variants, in order."""
    keys = [key]
    while True:
        texts = [f'"{name}"' for name in keys]
        entries = [
            entry
            for first, last in reader.seq_ranges(keys)
            for entry in reader.ledger.naming(texts, first - 1, last)
        ]
        variants = [
            variant for variant in map(_created_variant, entries) if variant not in {*keys, ""}
        ]
        if not variants:
            return entries
        keys += dict.fromkeys(variants)


def _created_variant(entry: Entry) -> str:
    event = decode(entry.payload) if entry.type == VariantCreated.__name__ else None
    return event.workload if isinstance(event, VariantCreated) else ""


def find_workload(reader: Reader, text: str) -> tuple[State, Workload]:
    """Return the workload that a text means, and its partition's state.

    ``text`` is job/NAME, a Workload's name or NAMESPACE/NAME.

    Raises:
        UnknownNameError: the ledger has none.
        BadParameter: there are some in several namespaces.
        NotSupportedError: it is gone by now.
    """
    key = find_workload_key(reader, text)
    state = reader_of_workload(reader, key).state()
    workload = state.workloads.get(key)
    if workload is None:
        raise NotSupportedError(
            f"The workload {key} is gone: `tidegate why {key}` tells what became of it, and "
            "--as-of asks of the time before."
        )
    return state, workload


def states_with_node(reader: Reader, text: str) -> tuple[list[State], str]:
    """Return the states in which a text means a node of the cohort trees, and the node's name.

    A workload, with a slash, means its ClusterQueue.
    """
    if "/" not in text:
        return [each.state() for each in reader.partition_readers()], text
    state, workload = find_workload(reader, text)
    return [state], workload.cluster_queue
