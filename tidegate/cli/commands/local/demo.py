"""``tidegate demo``: all of it once, from nothing to a verified ledger, nothing left running."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tidegate.cli.commands.local.up import end_instance
from tidegate.cli.demo import JOBS, run_command, run_jobs, start_instance
from tidegate.cli.instance import Instance, state_folder
from tidegate.cluster.progress import ProgressLines
from tidegate.errors import TidegateError

_NO, _PIPE_WIDTH = 1, 200


def demo(
    on: Annotated[
        str, typer.Option(help="Local Kubernetes: auto, container, go or embedded.")
    ] = "auto",
    *,
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave everything running and print commands to try.")
    ] = False,
) -> None:
    """Start Kubernetes and Tidegate, run 60 Jobs of three teams, show reports, verify the ledger.

    The exit code is 0 if every Job completed and the ledger was verified. The demo uses its own
    folder and does not touch a running instance.

    Examples:
      tidegate demo

      tidegate demo --on go --keep
    """
    folder, console = _fresh_folder(), Console()
    if not console.is_terminal:
        console = Console(width=_PIPE_WIDTH)  # a log's lines are not cut
    passed, instance = False, None
    try:
        instance = start_instance(on, folder, console)
        done = asyncio.run(run_jobs(instance, console))
        console.print(f"\n{done} of {JOBS} Jobs completed")
        passed = _print_reports(instance, console) and done == JOBS
    except TidegateError as error:
        sys.stderr.write(f"{error}\n")
    if keep and passed and instance is not None:
        console.print("\nIt is still up. To look around, in this shell:", highlight=False)
        for line in commands_to_try(folder, instance, in_path=shutil.which("tidegate") is not None):
            console.print(f"  {line}", highlight=False, soft_wrap=True)
    else:
        end_instance(ProgressLines(sys.stdout))
    raise typer.Exit(0 if passed else _NO)


def closing_commands(instance: Instance) -> tuple[tuple[str, ...], ...]:
    """Return the commands of tidegate that the demo ends with, each as its arguments."""
    return (
        ("show", "usage"),
        ("report", "usage_hourly"),
        ("ledger", "verify", "--witness", instance.nats_url),
    )


def _print_reports(instance: Instance, console: Console) -> bool:
    passed = [run_command(console, *command) for command in closing_commands(instance)]
    return all(passed)


def _fresh_folder() -> Path:
    folder = state_folder() / "demo"
    os.environ["TIDEGATE_STATE"] = str(folder)
    if folder.exists():  # an earlier demo was kept, or was killed
        end_instance(ProgressLines(sys.stdout))
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def commands_to_try(folder: Path, instance: Instance, *, in_path: bool) -> Iterator[str]:
    """Yield lines for a shell to look at a demo that is still up.

    ``in_path`` tells whether a shell finds the command ``tidegate``; else the first line adds its
    folder.
    """
    if not in_path:
        yield f"export PATH={Path(sys.executable).parent}:$PATH"
    yield f"export TIDEGATE_STATE={folder}"
    yield "tidegate show queues; tidegate why job/job-07 -n team-a; tidegate events --follow"
    yield "tidegate serve"
    yield f"kubectl --kubeconfig {instance.kubeconfig} get workloads -A"
    yield "tidegate down"
