"""``tidegate events``: what was observed and decided, as it is written to the ledger."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from heapq import merge
from itertools import islice
from typing import Annotated, Any

import typer

from store.archive.archive_ranges import parts
from store.reading.entries import PAGE_ROWS, Narrow
from tidegate.cli.commands.decisions.why import COLOURS
from tidegate.cli.interrupts import until_interrupted
from tidegate.cli.ledger.moments import seq_in
from tidegate.cli.ledger.name_lookup import find, naming
from tidegate.cli.ledger.reading import AsOfOption, Entries, LedgerOption, Reader, open_reader
from tidegate.cli.nats_options import BusCaOption, BusCredentialsOption, ClusterOption
from tidegate.cli.output import Output, OutputOption, coloured, json_line, print_records, print_yaml
from tidegate.cli.times import utc
from tidegate.contracts.codec import TYPES, decode
from tidegate.contracts.decision_kinds.budgets import BudgetReached, BudgetRenewed
from tidegate.contracts.entry import Entry
from tidegate.contracts.messages.subjects import place_of, token
from tidegate.errors import UnknownNameError
from tidegate.model.texts import INT64_MAX
from tidegate.replay.story.budgets import budget_text
from tidegate.replay.story.definitions import definition_text
from tidegate.replay.story.sentences import StoryEvent, sentence
from tidegate.subscribe import DEFINING, LedgerEvent, Wish, subscribe

POLL_S = 0.5
SHOWN = 100
_TYPE_WIDTH = 22


def events(  # noqa: PLR0913 - each is an option
    workload: Annotated[
        str,
        typer.Argument(
            help="Only events of this workload: job/NAME, its own name, or NAMESPACE/NAME.",
            metavar="[WORKLOAD|job/NAME]",
        ),
    ] = "",
    *,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Wait for new events and print them.")
    ] = False,
    since: Annotated[
        str,
        typer.Option(
            metavar="SEQ|TIME",
            help="Start at this seq, time or age: 41, 2026-03-02T08:30:00Z, 2h.",
            show_default=False,
        ),
    ] = "",
    tail: Annotated[
        int,
        typer.Option(
            help="Without --since: start with this many of the newest events.", min=0, max=INT64_MAX
        ),
    ] = SHOWN,
    type_: Annotated[
        str, typer.Option("--type", help="Only these types: WorkloadAdmitted,WorkloadEvicted.")
    ] = "",
    queue: Annotated[
        str,
        typer.Option(
            help="Only events about this ClusterQueue: its workloads, its own changes and those of "
            "its LocalQueues."
        ),
    ] = "",
    namespace: Annotated[
        str,
        typer.Option("--namespace", "-n", help="Only events about workloads of this namespace."),
    ] = "",
    bus: Annotated[
        str,
        typer.Option(
            help=(
                "Read the stream EVENTS at this nats:// URL; with --ledger, read older "
                "events from the ledger."
            )
        ),
    ] = "",
    cluster: ClusterOption = "local",
    bus_credentials: BusCredentialsOption = None,
    bus_ca: BusCaOption = None,
    as_of: AsOfOption = "",
    ledger: LedgerOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Print events of the ledger: facts and decisions.

    With --follow and --output json each event is one line of JSON. Every event is printed exactly
    once: the command reads the ledger, or with --bus the stream and the ledger together. With
    --as-of it ends at that event, or at the last event up to that time.

    Examples:
      tidegate events

      tidegate events --follow --type WorkloadAdmitted,WorkloadPreempted --queue team-a

      tidegate events --bus nats://127.0.0.1:4222 --since 1 --ledger ledger.db -o json

      tidegate events --since 2h job/train

      tidegate events --tail 20 --as-of 2026-03-02T08:30:00Z

      tidegate events --since 1 -o json | jq -r '.[].type' | sort | uniq -c
    """
    if as_of and (follow or bus):
        raise typer.BadParameter("--as-of cannot be combined with --follow or --bus.")
    wish = Wish(event_types(type_), queue, namespace)
    if workload and (follow or bus):
        raise typer.BadParameter("A WORKLOAD cannot be combined with --follow or --bus.")
    if bus:
        if since and not since.isdecimal():
            raise typer.BadParameter("With --bus, --since has to be a seq: --since 41.")
        messages = subscribe(
            bus,
            ledger=ledger,
            since=seq_in(since, "--since") if since else None,
            cluster=cluster,
            credentials=str(bus_credentials or ""),
            ca=str(bus_ca or ""),
            **wish._asdict(),
        )
        with until_interrupted():
            asyncio.run(_listen(messages, output))
        return
    with open_reader(ledger, as_of, reports=False) as reader:
        first = reader.first_seq(since, "--since") if since else None
        if workload:
            entries = _about(reader, workload, wish, first)
        else:
            entries = _past(reader, wish, first, tail)
        if not follow:
            _print_all(entries, output)
            return
        with until_interrupted():
            for entry in filter(wish.takes, _following(reader.ledger, reader.end, entries)):
                _print_one(entry, output)


def _about(reader: Reader, text: str, wish: Wish, first: int | None) -> list[Entry]:
    """Return the events that name a workload."""
    named = naming(reader, find(reader, _narrowed(text, wish.namespace)))
    return [entry for entry in named if entry.seq >= (first or 1) and wish.takes(entry)]


def _narrowed(text: str, namespace: str) -> str:
    return f"{namespace}/{text}" if namespace else text


def _past(reader: Reader, wish: Wish, since: int | None, tail: int) -> list[Entry]:
    """Return the events from one on, or the newest: what is looked for is read from the end."""
    after = 0 if since is None else since - 1
    if since is not None and (reader.database is None or not any(wish)):
        return list(filter(wish.takes, reader.ledger.read(after, reader.end)))
    rows = min(max(tail, 1), PAGE_ROWS) if since is None else PAGE_ROWS
    newest = filter(wish.takes, _back(reader, wish, rows, after))
    return list(islice(newest, tail if since is None else None))[::-1]


def _back(reader: Reader, wish: Wish, rows: int, after: int) -> Iterator[Entry]:
    """Yield what may be wanted, newest first.

    What defines a ClusterQueue is indexed, and no other event names the ClusterQueue before. Of
    what was archived nothing is: that is read whole, and only if it is come to.
    """
    ledger, types, database = reader.ledger, frozenset(wish.types), reader.database
    if not wish.cluster_queue or database is None:
        yield from ledger.back(reader.end, rows, Narrow(types, _pattern(wish), after=after))
        return
    archived = max((part.seq for part in parts(database.select, 0)), default=0)
    indexed = Narrow(DEFINING, text=f'"{wish.cluster_queue}"', after=archived)
    defining = list(ledger.back(reader.end, PAGE_ROWS, indexed))
    first = defining[-1].seq if defining else reader.end + 1
    narrow = Narrow(types, _pattern(wish), after=after if archived else max(after, first - 1))
    entries = merge(defining, ledger.back(reader.end, rows, narrow), key=lambda entry: -entry.seq)
    yield from (entry for entry in entries if entry.seq > after)


def _pattern(wish: Wish) -> str:
    """Return what the subjects of such events are like, in SQL; a few others may be like it."""
    if not wish.cluster_queue and not wish.namespace:
        return ""
    place = (wish.cluster_queue, wish.namespace)
    return "%." + ".".join(token(part) if part else "%" for part in place) + ".%"


def event_types(text: str) -> set[str]:
    """Return the types that a text names, comma between them.

    Raises:
        UnknownNameError: there is no such type.
    """
    types = set(filter(None, text.split(",")))
    if unknown := sorted(types.difference(TYPES)):
        raise UnknownNameError(
            f"There is no event type {', '.join(unknown)}. There are: {', '.join(sorted(TYPES))}."
        )
    return types


async def _listen(messages: AsyncGenerator[LedgerEvent, None], output: Output) -> None:
    async with aclosing(messages):
        async for message in messages:
            _print_one(message.entry, output)


def _following(ledger: Entries, end: int, entries: list[Entry]) -> Iterator[Entry]:
    yield from entries
    while True:
        for entry in ledger.read(end):
            end = entry.seq
            yield entry
        time.sleep(POLL_S)


def _print_all(entries: list[Entry], output: Output) -> None:
    if output in {Output.TABLE, Output.WIDE}:
        for entry in entries:
            _print_one(entry, output)
    else:
        print_records([record(entry) for entry in entries], (), output, name="seq")


def _print_one(entry: Entry, output: Output) -> None:
    match output:
        case Output.JSON:
            typer.echo(json_line(record(entry)))
        case Output.YAML:
            typer.echo("---")
            print_yaml(record(entry))
        case Output.NAME:
            typer.echo(str(entry.seq))
        case Output.TABLE | Output.WIDE:
            typer.echo(_line(entry, wide=output is Output.WIDE))


def _line(entry: Entry, *, wide: bool) -> str:
    label = coloured(entry.type.ljust(_TYPE_WIDTH), COLOURS.get(entry.type))
    queue, namespace, name = place_of(entry.subject)
    about = f"{namespace}/{name}" if name else queue
    text = entry.payload if wide else _said(entry)
    return f"{entry.seq:>7}  {utc(entry.at_us)}  {label}  {about}  {text}".rstrip()


def _said(entry: Entry) -> str:
    event = decode(entry.payload)
    if isinstance(event, StoryEvent) and (workload := getattr(event, "workload", "")):
        return sentence(event, workload)
    if isinstance(event, BudgetReached | BudgetRenewed):
        return budget_text(event)
    return definition_text(event)


def record(entry: Entry) -> dict[str, Any]:
    """Return an event for programs."""
    queue, namespace, name = place_of(entry.subject)
    return {
        "seq": entry.seq,
        "at": utc(entry.at_us),
        "type": entry.type,
        "turn": entry.turn,
        "clusterQueue": queue,
        "workload": f"{namespace}/{name}" if name else "",
        "event": decode(entry.payload),
    }
