"""``tidegate why-not``: what would have to change for a pending workload to start now."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tidegate.cli.ledger.name_lookup import (
    WithinOption,
    WorkloadArgument,
    find_workload_key,
    reader_of_workload,
)
from tidegate.cli.ledger.partitions import PartitionOption
from tidegate.cli.ledger.reading import AsOfOption, LedgerOption, open_reader
from tidegate.cli.output import Output, OutputOption, print_message, print_record
from tidegate.cli.progress import progress_counter
from tidegate.cli.times import utc
from tidegate.model.quantity import format_quantity
from tidegate.replay.whynot_search.ending_search import TRIALS_MAX
from tidegate.replay.whynot_search.quota_search import QuotaChange
from tidegate.replay.whynot_search.whynot import WhyNot
from tidegate.replay.whynot_search.whynot import why_not as answered


def why_not(  # noqa: PLR0913 - each is an option
    name: WorkloadArgument,
    *,
    namespace: WithinOption = "",
    trials: Annotated[
        int,
        typer.Option(min=0, help="Search for the smallest set with at most this many trials."),
    ] = TRIALS_MAX,
    partition: PartitionOption = None,
    as_of: AsOfOption = "",
    ledger: LedgerOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Show which change would let a pending workload start now.

    Prints the smallest increase of its ClusterQueue's own quota, for each choice of flavors, and
    the smallest set of running workloads that would have to end. Each answer is tested: the
    scheduler's own code decides on a changed copy of the state, in which workloads ahead in the
    queue start first.

    Examples:
      tidegate why-not job/huge -n a

      tidegate why-not job/sweep --as-of 2026-03-02T08:50:00Z

      tidegate why-not a/job-huge-d526e -o json | jq .quota
    """
    with open_reader(ledger, as_of, partition, reports=False) as every:
        key = find_workload_key(every, f"{namespace}/{name}" if namespace else name)
        reader = reader_of_workload(every, key)
        state = reader.state()
    print_message(f"Testing changes that would let it start, as of seq {reader.end}.")
    with progress_counter("trials") as tick:
        answer = answered(state, key, trials, tick)
    if output in {Output.TABLE, Output.WIDE}:
        print_answer(answer)
    else:
        print_record(answer_record(answer), output, name="workload")


def print_answer(answer: WhyNot) -> None:
    """Print an answer for people."""
    pending = f", reason {answer.reason}" if answer.reason else ""
    typer.echo(f"{answer.workload} waits in {answer.cluster_queue or 'no ClusterQueue'}{pending}.")
    if answer.now.starts:
        leaving = ", ".join(answer.now.preempts)
        typer.echo("It starts in the next turn" + (f", preempting {leaving}." if leaving else "."))
    else:
        print_needs(answer)


def print_needs(answer: WhyNot) -> None:
    """Print what would let a workload start that does not."""
    for obstacle in answer.obstacles:
        since = f" Since {utc(obstacle.since_us)}." if obstacle.since_us else ""
        until = f" Until {utc(obstacle.until_us)}." if obstacle.until_us else ""
        typer.echo(f"Obstacle: {obstacle.text}{since}{until}")
    if answer.trials:
        _print_quota(answer)
        _print_endings(answer)


def answer_record(answer: WhyNot) -> dict[str, Any]:
    """Return an answer for programs."""
    return {
        "workload": answer.workload,
        "clusterQueue": answer.cluster_queue,
        "reason": answer.reason,
        "obstacles": [
            {
                "code": obstacle.code,
                "text": obstacle.text,
                "since": utc(obstacle.since_us) if obstacle.since_us else None,
                "until": utc(obstacle.until_us) if obstacle.until_us else None,
            }
            for obstacle in answer.obstacles
        ],
        "startsNow": answer.now.starts,
        "preempts": answer.now.preempts,
        "quota": [_quota_record(change) for change in answer.quota],
        "endings": None
        if answer.endings is None
        else {
            "workloads": answer.endings.workloads,
            "smallest": answer.endings.smallest,
            "preempts": answer.endings.preempts,
        },
        "trials": answer.trials,
    }


def _quota_record(change: QuotaChange) -> dict[str, Any]:
    return {
        "clusterQueue": change.cluster_queue,
        "raises": [
            {
                "flavor": increase.flavor,
                "resource": increase.resource,
                "nominal": format_quantity(increase.resource, increase.nominal),
                "needed": format_quantity(increase.resource, increase.needed),
                "more": format_quantity(increase.resource, increase.needed - increase.nominal),
            }
            for increase in change.raises
        ],
        "preempts": change.preempts,
    }


def _print_quota(answer: WhyNot) -> None:
    if not answer.quota:
        typer.echo("It would not start with any nominal quota of its ClusterQueue, however large.")
    for change in answer.quota:
        raises = " and ".join(
            f"{raised.resource} of {raised.flavor} from "
            f"{format_quantity(raised.resource, raised.nominal)} to "
            f"{format_quantity(raised.resource, raised.needed)} "
            f"(+{format_quantity(raised.resource, raised.needed - raised.nominal)})"
            for raised in change.raises
        )
        leaving = f", preempting {', '.join(change.preempts)}" if change.preempts else ""
        typer.echo(f"It would start if {change.cluster_queue} had {raises}{leaving}.")


def _print_endings(answer: WhyNot) -> None:
    endings = answer.endings
    if endings is None:
        typer.echo("It would not start even if all workloads with quota in its cohort ended.")
        return
    words = "the smallest set" if endings.smallest else "each of them is needed"
    leaving = f", preempting {', '.join(endings.preempts)}" if endings.preempts else ""
    typer.echo(f"It would start if these ended ({words}): {', '.join(endings.workloads)}{leaving}.")
