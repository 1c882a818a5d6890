"""``tidegate replay``: the history folded again, and decided again if asked for."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import msgspec
import typer
from msgspec import structs

from tidegate.cli.commands.decisions.why import COLOURS
from tidegate.cli.commands.events import event_types
from tidegate.cli.ledger.partitions import OnePartitionOption, single_partition
from tidegate.cli.ledger.reading import LedgerOption, Reader, open_reader
from tidegate.cli.output import (
    Output,
    OutputOption,
    coloured,
    json_line,
    print_message,
    print_record,
)
from tidegate.cli.progress import with_progress
from tidegate.cli.times import finite, utc
from tidegate.contracts.chain import GENESIS
from tidegate.contracts.entry import Entry
from tidegate.contracts.facts import Event
from tidegate.core.state.state import State
from tidegate.errors import TidegateError
from tidegate.replay.story.sentences import StoryEvent, sentence
from tidegate.replay.turns import Divergence, Turn, play

_SECOND_US = 1_000_000
_SLEEP_MAX_S = 31_536_000.0  # a year: a much longer sleep is an error of the clock's type
_TYPE_WIDTH = 22


class Range(msgspec.Struct, frozen=True, kw_only=True):
    """The entries that are shown, and the seq at which the replay ends."""

    first: int = 1
    last: int
    until: str = ""  # the first of this type, from ``first`` on, ends it

    def is_last_turn(self, turn: Turn) -> bool:
        """Return whether a turn is the last: turns are taken whole."""
        return turn.entries[-1].seq >= self.last or any(
            entry.type == self.until and entry.seq >= self.first for entry in turn.entries
        )

    def entries_to_show(self, turn: Turn) -> Iterator[tuple[Entry, Event]]:
        """Yield the entries of a turn that are asked for."""
        for entry, event in zip(turn.entries, turn.events, strict=True):
            if self.first <= entry.seq <= self.last:
                yield entry, event
                if entry.type == self.until:
                    return


def replay(  # noqa: PLR0913 - each is an option
    *,
    since: Annotated[
        str,
        typer.Option(
            "--from", metavar="SEQ|TIME", help="Count and print events from this seq or time on."
        ),
    ] = "",
    to: Annotated[
        str, typer.Option("--to", metavar="SEQ|TIME", help="End after the turn of this event.")
    ] = "",
    until_event: Annotated[
        str,
        typer.Option(metavar="SEQ|TYPE", help="End after this event, or the first of this type."),
    ] = "",
    verify: Annotated[
        bool, typer.Option("--verify", help="Take every decision again and compare.")
    ] = False,
    speed: Annotated[
        float,
        typer.Option(
            min=0,
            callback=finite,
            help="Print events this many times as fast as they happened; 0: do not print them.",
        ),
    ] = 0.0,
    partition: OnePartitionOption = None,
    ledger: LedgerOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Fold the ledger from its first event; with --verify, take every decision again.

    Needs neither NATS nor Kubernetes and only reads, also while a scheduler writes: it ends where
    the ledger ended when it was opened. The state at an event needs all before it, so folding
    begins with the first one whatever --from says. With --verify the first decision that the core
    takes otherwise today is printed field by field, and the exit code is 1.

    Examples:
      tidegate replay --verify

      tidegate replay --from 2026-03-02T08:30:00Z --to 2026-03-02T09:00:00Z --speed 60

      tidegate replay --verify --until-event WorkloadPreempted --ledger history.jsonl.gz
    """
    with open_reader(ledger, partition=partition, reports=False) as every:
        reader = single_partition(every, "replay")
        span = _parse_range(reader, since, to, until_event)
        record, divergence = _Replay(reader, span, verify=verify).run(_event_printer(speed, output))
    if speed and output is Output.JSON:
        typer.echo(json_line(record))
    else:
        if output in {Output.TABLE, Output.WIDE}:
            record["divergence"] = None if divergence is None else f"seq {divergence.seq}"
        print_record(record, output, name="headHash")
    if divergence is not None:
        raise typer.Exit(1)


class _Replay:
    """Replays a range of a ledger, and notes where the core decides otherwise."""

    def __init__(self, reader: Reader, span: Range, *, verify: bool) -> None:
        self._reader, self._asked, self._verify = reader, span, verify
        self._state = State()
        self._head = structs.replace(GENESIS, partition=reader.partition)
        self._events = self._turns = self._decisions = 0

    def run(self, show: Callable[[Entry, Event], None]) -> tuple[dict[str, Any], Divergence | None]:
        """Play the range; return what to print, and where the core decides otherwise."""
        title = "deciding again" if self._verify else "replaying"
        entries = with_progress(
            self._reader.ledger.read(until=self._reader.end), title, self._asked.last
        )
        met = not self._asked.until
        for turn in play(entries, self._state, redecide=self._verify):
            for entry, event in self._asked.entries_to_show(turn):
                self._events += 1
                met = met or entry.type == self._asked.until
                show(entry, event)
            self._turns += 1
            self._decisions += turn.decisions
            self._head = turn.entries[-1]
            if turn.divergence is not None:
                _print_divergence(turn.divergence)
                return self._record(turn.divergence), turn.divergence
            if self._asked.is_last_turn(turn):
                break
        if not met:
            raise TidegateError(
                f"No {self._asked.until} from seq {self._asked.first} to {self._asked.last}: see "
                "`tidegate events` for the types in the ledger."
            )
        return self._record(None), None

    def _record(self, divergence: Divergence | None) -> dict[str, Any]:
        phases = Counter(workload.phase for workload in self._state.workloads.values())
        agrees: Any = divergence is None if self._verify else None
        return {
            "ledger": self._reader.url,
            "from": self._asked.first,
            "to": self._head.seq,
            "events": self._events,
            "turns": self._turns,
            "decisionsTakenAgain": self._decisions if self._verify else None,
            "agrees": agrees,
            "headHash": self._head.hash.hex(),
            "headAt": utc(self._head.at_us),
            "workloads": ", ".join(f"{n} {phase}" for phase, n in sorted(phases.items())),
            "divergence": None if divergence is None else _divergence_record(divergence),
        }


def _parse_range(reader: Reader, since: str, to: str, until_event: str) -> Range:
    if reader.end == 0:
        raise TidegateError(f"The ledger {reader.url} is empty: there is nothing to replay.")
    first = reader.seq_of(since, "--from", onwards=True) if since else 1
    last = reader.seq_of(to, "--to") if to else reader.end
    if until_event.isdecimal():
        last, until_event = min(last, reader.seq_of(until_event, "--until-event")), ""
    event_types(until_event)
    if first > last:
        raise typer.BadParameter(f"--from is seq {first}, after the end at {last}.")
    return Range(first=first, last=last, until=until_event)


def _event_printer(speed: float, output: Output) -> Callable[[Entry, Event], None]:
    """Return what prints each event when it is its time."""
    if not speed:
        return lambda _entry, _event: None
    begun = time.monotonic()
    first_us = list[int]()

    def show(entry: Entry, event: Event) -> None:
        if not first_us:
            first_us.append(entry.at_us)
        due_s = begun + (entry.at_us - first_us[0]) / _SECOND_US / speed
        time.sleep(min(max(0.0, due_s - time.monotonic()), _SLEEP_MAX_S))
        typer.echo(
            json_line(_event_record(entry, event))
            if output is Output.JSON
            else _event_line(entry, event)
        )

    return show


def _event_record(entry: Entry, event: Event) -> dict[str, Any]:
    return {"seq": entry.seq, "at": utc(entry.at_us), "type": entry.type, "event": event}


def _event_line(entry: Entry, event: Event) -> str:
    label = coloured(entry.type.ljust(_TYPE_WIDTH), COLOURS.get(entry.type))
    name = getattr(event, "workload", "") or getattr(event, "name", "")
    text = sentence(event, name) if isinstance(event, StoryEvent) and name else ""
    return f"{entry.seq:>7}  {utc(entry.at_us)}  {label}  {name}  {text}".rstrip()


def _print_divergence(divergence: Divergence) -> None:
    """Say on standard error where history and core part."""
    print_message(
        f"The decision at seq {divergence.seq} (turn {divergence.turn}) differs from the record:"
    )
    for label, event in (("recorded", divergence.recorded), ("decided now", divergence.decided)):
        name = getattr(event, "workload", "")
        text = f"{name} {sentence(event, name)}" if isinstance(event, StoryEvent) else "nothing"
        kind = "" if event is None else f"{type(event).__name__} "
        print_message(f"  {label + ':':<13}{kind}{text}")
    for difference in divergence.differences:
        print_message(
            f"  {difference.field}: recorded {difference.recorded}, decided {difference.decided}"
        )


def _divergence_record(divergence: Divergence) -> dict[str, Any]:
    return {
        "seq": divergence.seq,
        "turn": divergence.turn,
        "at": utc(divergence.at_us),
        "recorded": divergence.recorded,
        "decided": divergence.decided,
        "differences": divergence.differences,
    }
