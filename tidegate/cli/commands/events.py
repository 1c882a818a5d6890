"""``tidegate events``: what was observed and decided, as it is written to the ledger."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Any

import typer

from tidegate.cli.commands.decisions.why import COLOURS
from tidegate.cli.ledger.partitions import PartitionOption, seq_text
from tidegate.cli.ledger.reading import AsOfOption, LedgerOption, open_reader
from tidegate.cli.live.listing import (
    first_seqs,
    follow_entries,
    newest_entries,
    past_events,
    workload_events,
)
from tidegate.cli.nats_options import BusCaOption, BusCredentialsOption, ClusterOption
from tidegate.cli.output import (
    Output,
    OutputOption,
    coloured,
    json_line,
    print_message,
    print_records,
    print_yaml,
)
from tidegate.cli.progress import until_interrupted
from tidegate.cli.times import parse_seq, utc
from tidegate.contracts.codec import TYPES, decode
from tidegate.contracts.decision_kinds.queues import BudgetReached, BudgetRenewed
from tidegate.contracts.entry import Entry
from tidegate.contracts.subjects import parse_event_subject
from tidegate.errors import UnknownNameError
from tidegate.model.texts import INT64_MAX
from tidegate.replay.story.budgets import budget_text
from tidegate.replay.story.definitions import definition_text
from tidegate.replay.story.sentences import StoryEvent, sentence
from tidegate.subscribe import LedgerEvent, SubscriptionFilter, subscribe

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
        int | None,
        typer.Option(
            help=f"Print at most this many of the newest events; default: {SHOWN}, with --since or "
            "a WORKLOAD all.",
            min=0,
            max=INT64_MAX,
            show_default=False,
        ),
    ] = None,
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
    partition: PartitionOption = None,
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
    selection = SubscriptionFilter(event_types(type_), queue, namespace)
    if workload and (follow or bus):
        raise typer.BadParameter("A WORKLOAD cannot be combined with --follow or --bus.")
    if bus:
        if since and not since.isdecimal():
            raise typer.BadParameter("With --bus, --since has to be a seq: --since 41.")
        messages = subscribe(
            bus,
            ledger=ledger,
            since=parse_seq(since, "--since") if since else None,
            cluster=cluster,
            credentials=str(bus_credentials or ""),
            ca=str(bus_ca or ""),
            partition=partition,
            **selection._asdict(),
        )
        with until_interrupted():
            asyncio.run(_print_stream(messages, output, partition))
        return
    with open_reader(ledger, as_of, partition, reports=False) as reader:
        begun = first_seqs(reader, since)
        if workload:
            entries = newest_entries(workload_events(reader, workload, selection, begun), tail)
        else:
            most = SHOWN if tail is None and not since else tail
            entries = past_events(reader, selection, begun, most)
        several = bool(reader.others)
        if not follow:
            _print_all(entries, output, several=several)
            return
        with until_interrupted():
            for entry in filter(selection.matches, follow_entries(reader, entries)):
                _print_one(entry, output, several=several)


def event_types(text: str) -> set[str]:
    """Return the types that a text names, comma between them.

    Raises:
        UnknownNameError: there is no such type.
    """
    types = set(filter(None, text.split(",")))
    if unknown := sorted(types.difference(TYPES)):
        near = sorted({name for each in unknown for name in _similar_types(each)})
        hint = (
            f"Did you mean {' or '.join(near)}?"
            if near
            else f"There are: {', '.join(sorted(TYPES))}."
        )
        raise UnknownNameError(f"There is no event type {', '.join(unknown)}. {hint}")
    return types


def _similar_types(text: str) -> list[str]:
    """Return the types that resemble a text, or have it in their names."""
    from difflib import get_close_matches  # noqa: PLC0415 - only after an error

    types = {name.lower(): name for name in sorted(TYPES)}
    near = get_close_matches(text.lower(), types) or [key for key in types if text.lower() in key]
    return [types[key] for key in near]


async def _print_stream(
    messages: AsyncGenerator[LedgerEvent, None], output: Output, partition: int | None
) -> None:
    """Print events as they come; from the first of another partition on, each with its own."""
    several = False
    async with aclosing(messages):
        async for message in messages:
            several = several or (partition is None and message.partition != 0)
            _print_one(message.entry, output, several=several)


def _print_all(entries: list[Entry], output: Output, *, several: bool) -> None:
    if output in {Output.JSON, Output.YAML}:
        print_records([event_record(entry) for entry in entries], (), output)
        return
    for entry in entries:
        _print_one(entry, output, several=several)
    if not entries and output is not Output.NAME:
        print_message("No event matches.")


def _print_one(entry: Entry, output: Output, *, several: bool) -> None:
    match output:
        case Output.JSON:
            typer.echo(json_line(event_record(entry)))
        case Output.YAML:
            typer.echo("---")
            print_yaml(event_record(entry))
        case Output.NAME:
            typer.echo(seq_text(entry, several=several))
        case Output.TABLE | Output.WIDE:
            typer.echo(_event_line(entry, wide=output is Output.WIDE, several=several))


def _event_line(entry: Entry, *, wide: bool, several: bool) -> str:
    label = coloured(entry.type.ljust(_TYPE_WIDTH), COLOURS.get(entry.type))
    queue, namespace, name = parse_event_subject(entry.subject)
    about = f"{namespace}/{name}" if name else queue
    text = entry.payload if wide else _event_text(entry)
    seq = seq_text(entry, several=several)
    return f"{seq:>7}  {utc(entry.at_us)}  {label}  {about}  {text}".rstrip()


def _event_text(entry: Entry) -> str:
    event = decode(entry.payload)
    if isinstance(event, StoryEvent) and (workload := getattr(event, "workload", "")):
        return sentence(event, workload)
    if isinstance(event, BudgetReached | BudgetRenewed):
        return budget_text(event)
    return definition_text(event)


def event_record(entry: Entry) -> dict[str, Any]:
    """Return an event for programs."""
    queue, namespace, name = parse_event_subject(entry.subject)
    return {
        "partition": entry.partition,
        "seq": entry.seq,
        "at": utc(entry.at_us),
        "type": entry.type,
        "turn": entry.turn,
        "clusterQueue": queue,
        "workload": f"{namespace}/{name}" if name else "",
        "event": decode(entry.payload),
    }
