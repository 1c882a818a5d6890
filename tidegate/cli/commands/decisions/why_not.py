"""``tidegate why-not``: what would have to change for a pending workload to start now."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tidegate.cli.ledger.name_lookup import WithinOption, WorkloadArgument, find
from tidegate.cli.ledger.reading import AsOfOption, LedgerOption, open_reader
from tidegate.cli.output import Output, OutputOption, print_record, say
from tidegate.cli.progress import counted
from tidegate.cli.times import utc
from tidegate.model.quantity import render
from tidegate.replay.whynot_search.ending_search import TRIALS_MAX
from tidegate.replay.whynot_search.quota_search import QuotaChange
from tidegate.replay.whynot_search.whynot import WhyNot
from tidegate.replay.whynot_search.whynot import why_not as answered


def why_not(  # noqa: PLR0913 - each is an option
    name: WorkloadArgument,
    *,
    namespace: WithinOption = "",
    trials: Annotated[
        int, typer.Option(min=0, help="Look for fewer workloads with at most so many trials.")
    ] = TRIALS_MAX,
    as_of: AsOfOption = "",
    ledger: LedgerOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Show what would have to change for a pending workload to start now.

    Either by the smallest raise of its ClusterQueue's own quota, for each choice of flavors, or by
    the end of the fewest workloads. Each answer was tried: the scheduler's own core decided again
    on a copy of the state, with those ahead in the queue taking what is theirs first.

    Examples:
      tidegate why-not job/huge -n a

      tidegate why-not job/sweep --as-of 2026-03-02T08:50:00Z

      tidegate why-not a/job-huge-d526e -o json | jq .quota
    """
    with open_reader(ledger, as_of, reports=False) as reader:
        key = find(reader, f"{namespace}/{name}" if namespace else name)
        state = reader.state()
    say(f"Trying what would let it start, as of seq {reader.end}.")
    with counted("trials") as tick:
        answer = answered(state, key, trials, tick)
    if output in {Output.TABLE, Output.WIDE}:
        tell(answer)
    else:
        print_record(record(answer), output, name="workload")


def tell(answer: WhyNot) -> None:
    """Print an answer for people."""
    pending = f", held for {answer.reason}" if answer.reason else ""
    typer.echo(f"{answer.workload} waits in {answer.cluster_queue or 'no ClusterQueue'}{pending}.")
    if answer.now.starts:
        leaving = ", ".join(answer.now.preempts)
        typer.echo(
            "It starts with the next turn" + (f", preempting {leaving}." if leaving else ".")
        )
    else:
        tell_needs(answer)


def tell_needs(answer: WhyNot) -> None:
    """Print what would let a workload start that does not."""
    for obstacle in answer.obstacles:
        since = f" Since {utc(obstacle.since_us)}." if obstacle.since_us else ""
        until = f" Over at {utc(obstacle.until_us)}." if obstacle.until_us else ""
        typer.echo(f"In the way: {obstacle.text}{since}{until}")
    if answer.trials:
        _tell_quota(answer)
        _tell_endings(answer)


def record(answer: WhyNot) -> dict[str, Any]:
    """Return an answer for programs."""
    return {
        "workload": answer.workload,
        "clusterQueue": answer.cluster_queue,
        "reason": answer.reason,
        "obstacles": [
            {
                "what": obstacle.what,
                "text": obstacle.text,
                "since": utc(obstacle.since_us) if obstacle.since_us else None,
                "until": utc(obstacle.until_us) if obstacle.until_us else None,
            }
            for obstacle in answer.obstacles
        ],
        "startsNow": answer.now.starts,
        "preempts": answer.now.preempts,
        "quota": [_quota(change) for change in answer.quota],
        "endings": None
        if answer.endings is None
        else {
            "workloads": answer.endings.workloads,
            "smallest": answer.endings.smallest,
            "preempts": answer.endings.preempts,
        },
        "trials": answer.trials,
    }


def _quota(change: QuotaChange) -> dict[str, Any]:
    return {
        "clusterQueue": change.cluster_queue,
        "raises": [
            {
                "flavor": increase.flavor,
                "resource": increase.resource,
                "nominal": render(increase.resource, increase.nominal),
                "needed": render(increase.resource, increase.needed),
                "more": render(increase.resource, increase.needed - increase.nominal),
            }
            for increase in change.raises
        ],
        "preempts": change.preempts,
    }


def _tell_quota(answer: WhyNot) -> None:
    if not answer.quota:
        typer.echo("No nominal quota of its ClusterQueue, however large, would let it start.")
    for change in answer.quota:
        raises = " and ".join(
            f"{raised.resource} of {raised.flavor} from "
            f"{render(raised.resource, raised.nominal)} to "
            f"{render(raised.resource, raised.needed)} "
            f"(+{render(raised.resource, raised.needed - raised.nominal)})"
            for raised in change.raises
        )
        leaving = f", preempting {', '.join(change.preempts)}" if change.preempts else ""
        typer.echo(f"It would start if {change.cluster_queue} had {raises}{leaving}.")


def _tell_endings(answer: WhyNot) -> None:
    endings = answer.endings
    if endings is None:
        typer.echo("It would not start if all that hold quota in its cohort ended.")
        return
    words = "the fewest that do" if endings.smallest else "none of them can be left out"
    leaving = f", preempting {', '.join(endings.preempts)}" if endings.preempts else ""
    typer.echo(f"It would start if these ended ({words}): {', '.join(endings.workloads)}{leaving}.")
