"""``tidegate why``: the life of one workload, with the numbers that decided it."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tidegate.cli.output import (
    Output,
    OutputOption,
    coloured,
    print_record,
    say,
)
from tidegate.cli.reading import AsOfOption, LedgerOption, Reader, open_reader
from tidegate.cli.times import utc
from tidegate.replay.why import Line, Story, names
from tidegate.replay.why import why as story_of

COLOURS = {
    "WorkloadAdmitted": "green",
    "WorkloadFinished": "cyan",
    "WorkloadPreempted": "magenta",
    "WorkloadEvicted": "magenta",
    "WorkloadHeld": "yellow",
    "ActuationFailed": "red",
}


def why(
    name: Annotated[
        str,
        typer.Argument(
            help="job/NAME, a Workload's name, or NAMESPACE/NAME.", metavar="WORKLOAD|job/NAME"
        ),
    ],
    namespace: Annotated[
        str, typer.Option("--namespace", "-n", help="Look in this namespace only.")
    ] = "",
    as_of: AsOfOption = "",
    ledger: LedgerOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Tell why a workload waits, runs or was stopped.

    Prints what happened to it since its submission: each wait with its reason in numbers, its
    admission, who preempted it, and with which event of the ledger.

    Examples:
      tidegate why job/train -n team-a

      tidegate why team-a/job-train-5f2c9 -o json

      tidegate why job/train --ledger postgresql://reader@db/tidegate
    """
    with open_reader(ledger, as_of, reports=False) as reader:
        key = _find(reader, f"{namespace}/{name}" if namespace else name)
        story = story_of(reader.entries("telling"), key)
    if output in {Output.TABLE, Output.WIDE}:
        _tell(story, wide=output is Output.WIDE)
    else:
        print_record(_record(story), output, name="workload")


def _find(reader: Reader, text: str) -> str:
    found = names(reader.entries("looking"), text)
    spaces = sorted({key.partition("/")[0] for key in found})
    if not found:
        say(f"The ledger {reader.url} knows no workload {text!r}: see `tidegate queue pending`.")
        raise typer.Exit(1)
    if len(spaces) > 1:
        raise typer.BadParameter(
            f"{text!r} is in several namespaces: say which with -n ({', '.join(spaces)})."
        )
    return found[-1]


def _tell(story: Story, *, wide: bool) -> None:
    job = f", {story.job.kind} {story.job.name}" if story.job is not None else ""
    queue = f" in {story.cluster_queue}" if story.cluster_queue else ""
    typer.echo(f"{story.workload}{job}: {story.phase}{queue}")
    width = max((len(line.what) for line in story.lines), default=0)
    for line in story.lines:
        what = coloured(line.what.ljust(width), COLOURS.get(line.what))
        typer.echo(f"{line.seq:>7}  {utc(line.at_us)}  {what}  {line.text}".rstrip())
        for numbers in _numbers(line) if wide else ():
            typer.echo(f"{'':>7}  {numbers}")


def _numbers(line: Line) -> list[str]:
    return [
        f"podset {one.podset}, flavor {one.flavor}, {one.resource}: asked {one.asked}, "
        f"free {one.free}, at most {one.allowed}" + (f"; {one.reason}" if one.reason else "")
        for one in line.tried
    ]


def _record(story: Story) -> dict[str, Any]:
    return {
        "workload": story.workload,
        "uid": story.uid,
        "job": story.job,
        "phase": story.phase,
        "clusterQueue": story.cluster_queue,
        "lines": [
            {
                "seq": line.seq,
                "at": utc(line.at_us),
                "type": line.what,
                "text": line.text,
                "reason": line.reason,
                "tried": line.tried,
            }
            for line in story.lines
        ],
    }
