"""``tidegate why``: the life of one workload, with the numbers that decided it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, NamedTuple

import msgspec
import typer

from tidegate.cli.commands.decisions.why_records import Notes, story_record
from tidegate.cli.ledger.name_lookup import (
    WithinOption,
    WorkloadArgument,
    entries_naming,
    find_workload_key,
    readers_of_workload,
)
from tidegate.cli.ledger.partitions import PartitionOption
from tidegate.cli.ledger.reading import AsOfOption, LedgerOption, Reader, ledger_url, open_reader
from tidegate.cli.objects.serving import (
    ServerOption,
    fetch_why,
    is_server_absent,
    parse_workload_name,
)
from tidegate.cli.output import Output, OutputOption, coloured, print_message, print_record
from tidegate.cli.times import duration_text, utc
from tidegate.errors import (
    ApiStatusError,
    ApiUnreachableError,
    LedgerUnreachableError,
    NotSupportedError,
)
from tidegate.replay.story.context import event_contexts
from tidegate.replay.story.placements import placement_lines
from tidegate.replay.story.waits import Wait, annotated_lines, freed_text, needed_text, waits
from tidegate.replay.story.why import Line, Story, story_of

COLOURS = {
    "WorkloadAdmitted": "green",
    "WorkloadFinished": "cyan",
    "WorkloadPreempted": "magenta",
    "WorkloadEvicted": "magenta",
    "WorkloadPending": "yellow",
    "ActuationFailed": "red",
}
FOLDED = 10_000
"""How many events before the newest of a story are folded for what stood around it, or a few more:
back to the next state that is kept."""
_SECOND_US = 1_000_000


def why(  # noqa: PLR0913 - each is an option
    name: WorkloadArgument,
    namespace: WithinOption = "",
    *,
    brief: Annotated[
        bool,
        typer.Option(
            "--brief",
            help="Print only the workload's own events: faster, because no other events are read.",
        ),
    ] = False,
    whole: Annotated[
        bool,
        typer.Option(
            "--whole",
            help="Read a long history completely, for reasons in other workloads' events.",
        ),
    ] = False,
    partition: PartitionOption = None,
    as_of: AsOfOption = "",
    ledger: LedgerOption = "",
    server: ServerOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Show why a workload waits, runs or was stopped.

    Prints the workload's events since its submission: each wait with its reason in numbers and the
    workloads ahead, its admission and the event that freed the quota, each preemption with the
    preemptor and the borrowed quota. Each line starts with the seq of its event in the ledger. If
    pods found no nodes, a tree lists for each level of the topology how many domains could take how
    many pods. Without a ledger, why asks a `tidegate serve`: that of --server, or else the
    cluster's (docs/serve.md). A job whose queue changed the partition has a history in both: first
    that of the earlier one, then the other.

    Examples:
      tidegate why job/train -n team-a

      tidegate why team-a/job-train-5f2c9 -o json

      tidegate why job/train --ledger postgresql://reader@db/tidegate

      kubectl tidegate why job/train -n team-a
    """
    detail = "brief" if brief else "whole" if whole else "usual"
    if server or (not ledger and partition is None):
        answered = _print_served_story(name, namespace, server, detail, as_of, output)
        if answered:
            return
    with open_reader(ledger, as_of, partition, reports=False) as reader:
        key = find_workload_key(reader, f"{namespace}/{name}" if namespace else name)
        stories = [_read_story(each, key, detail) for each in readers_of_workload(reader, key)]
        several = bool(reader.others)
    for _, context in stories:
        if context.left_out:
            print_message(left_out_text(context))
    if output in {Output.TABLE, Output.WIDE}:
        for story, context in stories:
            for line in story_lines(
                story, context.notes, wide=output is Output.WIDE, several=several
            ):
                typer.echo(line)
    else:
        print_record(_record_of_all(stories, several=several), output, name="workload")


def _read_story(reader: Reader, key: str, detail: str) -> tuple[Story, StoryContext]:
    """Return the story of a workload in one partition, and what stood around it."""
    story = story_of(entries_naming(reader, key), key)
    if detail == "brief":
        return story, StoryContext({})
    return story, story_context(reader, story, whole=detail == "whole")


def _record_of_all(
    stories: Sequence[tuple[Story, StoryContext]], *, several: bool
) -> dict[str, Any]:
    """Return the newest story for programs, and the earlier ones of other partitions in it."""
    *earlier, newest = [story_record(story, context.notes) for story, context in stories]
    if several:
        for each, (story, _) in zip((*earlier, newest), stories, strict=True):
            each["partition"] = story.partition
        newest["earlier"] = earlier
    return newest


def _print_served_story(  # noqa: PLR0913, PLR0917 - all that a server is asked
    text: str, namespace: str, server: str, detail: str, as_of: str, output: Output
) -> bool:
    """Print a server's answer; tell whether one was asked: not where a ledger is to be read.

    Raises:
        ApiStatusError: it refused.
        ApiUnreachableError: the server that was named does not answer.
        LedgerUnreachableError: there is neither a ledger nor a server, or the name lacks the
            namespace that a server needs.
    """
    try:
        if not server and ledger_url(""):
            return False
    except LedgerUnreachableError as error:
        missing: Exception | None = error
    else:
        missing = None
    texts = output in {Output.TABLE, Output.WIDE}
    query = {"detail": detail, "asOf": as_of, "format": str(output) if texts else "json"}
    body = _fetch_story(server, text, namespace, query, missing)
    if texts:
        typer.echo(body.decode(), nl=False)
        return True
    document = msgspec.json.decode(body)
    if left_out := document.pop("leftOut", 0):
        print_message(left_out_text(StoryContext({}, left_out)))
    print_record(document, output, name="workload")
    return True


def _fetch_story(
    server: str, text: str, namespace: str, query: dict[str, str], missing: Exception | None
) -> bytes:
    """Return a server's answer; ``missing``: why no ledger can be read instead."""
    try:
        return fetch_why(server, parse_workload_name(text, namespace), query)
    except typer.BadParameter as error:
        if missing is None:
            raise
        message = f"{missing} Or add -n NAMESPACE: then a server is asked."
        raise LedgerUnreachableError(message) from error
    except (ApiStatusError, ApiUnreachableError, NotSupportedError) as error:
        if missing is not None and is_server_absent(error):
            raise missing from error
        raise


class StoryContext(NamedTuple):
    """The context of a story's events, by their seq."""

    notes: Notes
    left_out: int = 0  # what stood around before this seq was not looked at; 0: all was


def story_context(reader: Reader, story: Story, *, whole: bool) -> StoryContext:
    """Return the context of a story's events: of a long one only the newest, unless ``whole``."""
    first, last = story.lines[0].seq - 1, story.lines[-1].seq
    state, head = reader.start_state(first if whole else max(first, last - FOLDED))
    notes = event_contexts(reader.entries("folding", head.seq), story.workload, last, state)
    return StoryContext(notes, head.seq if head.seq > first else 0)


def left_out_text(context: StoryContext) -> str:
    """Say what was not looked at."""
    return (
        f"Reasons from other workloads' events before seq {context.left_out} are left "
        "out: use --whole."
    )


def story_lines(story: Story, notes: Notes, *, wide: bool, several: bool = False) -> Iterator[str]:
    """Yield a story for people, line by line; ``wide`` with every flavor that was tried.

    ``several``: the ledger has more partitions than the story's.
    """
    job = f", {story.job.kind} {story.job.name}" if story.job is not None else ""
    queue = f" in {story.cluster_queue}" if story.cluster_queue else ""
    where = f", partition {story.partition}" if several else ""
    yield f"{story.workload}{job}: {story.phase}{queue}{where}"
    width = max((len(line.what) for line in story.lines), default=0)
    for line, more in annotated_lines(story, notes):
        label = coloured(line.what.ljust(width), COLOURS.get(line.what))
        text = f"{line.text} {more}".rstrip()
        yield f"{line.seq:>7}  {utc(line.at_us)}  {label}  {text}".rstrip()
        for numbers in _quota_numbers(line) if wide else ():
            yield f"{'':>7}  {numbers}"
        for placement in line.placements:
            yield from (f"{'':>7}  {row}" for row in placement_lines(placement))
    yield from map(_wait_text, waits(story, notes))


def _wait_text(wait: Wait) -> str:
    """Say one wait: how long, from which seq to which, for what, and what ended it."""
    if wait.outcome:
        lasted = duration_text((wait.to_us - wait.from_us) / _SECOND_US)
        text = f"Waited {lasted}, seq {wait.from_seq} to {wait.to_seq}, then {wait.outcome}"
    else:
        text = f"Waits since {utc(wait.from_us)}, seq {wait.from_seq}"
    if wait.reason:
        text += f"; reason {wait.reason} (seq {wait.reason_seq}): "
        text += needed_text(wait) or "quota was not tried"
    if wait.freed:
        text += f"; ended when {'; '.join(map(freed_text, wait.freed))}"
    return text + "."


def _quota_numbers(line: Line) -> list[str]:
    return [
        f"podset {tried.podset}, flavor {tried.flavor}, {tried.resource}: "
        f"requested {tried.requested}, unused {tried.unused}, at most {tried.maximum}"
        + (f"; {tried.reason}" if tried.reason else "")
        for tried in line.tried
    ]
