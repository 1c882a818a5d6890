"""``tidegate what-if load``: jobs on a cluster that does not exist, or not yet."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import replace

from tidegate.cli.commands.what_if.config import (
    SetOption,
    apply_changes,
    replay_progress,
    simulation_notes,
)
from tidegate.cli.figures.comparison import Comparison, pending_notes
from tidegate.cli.figures.printing import FileOption, Form, FormOption, print_comparison
from tidegate.cli.loads.rows import parse_seconds_or_duration, read_csv, read_yaml
from tidegate.cli.loads.traces import QueueTemplate, read_sacct, read_swf
from tidegate.cli.objects.manifests import read_manifests
from tidegate.cli.times import parse_utc
from tidegate.errors import SettingsError, UndecodableError
from tidegate.model.policy import Policy
from tidegate.replay.simulator.loads import Job, scenario_of_load
from tidegate.replay.simulator.scenario import Scenario
from tidegate.replay.simulator.whatif import simulate

BEGIN = "2026-01-01T00:00:00Z"


class Kind(StrEnum):
    """The forms of a file of jobs."""

    YAML = "yaml"
    CSV = "csv"
    SWF = "swf"
    SACCT = "sacct"


_SUFFIXES = {".yaml": Kind.YAML, ".yml": Kind.YAML, ".csv": Kind.CSV, ".swf": Kind.SWF}


def load(  # noqa: PLR0913 - each is an option
    manifests: Annotated[Path, typer.Argument(help="YAML of queues, flavors, cohorts, classes.")],
    workloads: Annotated[Path, typer.Argument(help="Jobs: YAML, CSV, SWF, or sacct's output.")],
    settings: SetOption = [],  # noqa: B006 - typer copies it
    manifest: Annotated[
        list[Path],
        typer.Option(
            "--manifest",
            "-f",
            help="YAML of objects that replace those of MANIFESTS, for comparison.",
        ),
    ] = [],  # noqa: B006
    *,
    kind: Annotated[
        Kind | None,
        typer.Option("--format", help="The format of the jobs; default: from the file's name."),
    ] = None,
    local_queue: Annotated[
        str,
        typer.Option(help="For traces: NAMESPACE/LOCALQUEUE, e.g. hpc/{queue} or {account}/main."),
    ] = "default/{partition}",
    begin: Annotated[
        str, typer.Option(metavar="TIME", help="The time at which durations start.")
    ] = BEGIN,
    until: Annotated[
        str,
        typer.Option(
            metavar="DURATION", help="End at this time; default: when nothing more happens."
        ),
    ] = "",
    file: FileOption = None,
    output: FormOption = Form.TABLE,
) -> None:
    """Simulate jobs on queues from files with the scheduler's own code.

    The manifests are Kueue's and may include a Configuration. Jobs are rows of YAML or CSV, a trace
    in the Standard Workload Format, or the output of `sacct --allocations --parsable2`. With --set
    or --manifest the command also simulates the changed queues, for comparison.

    Examples:
      tidegate what-if load queues.yaml jobs.csv

      tidegate what-if load queues.yaml jobs.yaml --set cq/team-a.cpu=40 -o html --file x.html

      tidegate what-if load queues.yaml trace.swf --local-queue 'hpc/{queue}' --until 720h
    """
    begin_us = _parse_begin(begin)
    jobs = _read_jobs(
        workloads, kind or _kind_of_file(workloads), begin_us, QueueTemplate(local_queue)
    )
    if not jobs:
        raise SettingsError(f"{workloads} holds no job that ran: there is nothing to simulate.")
    objects = read_manifests([manifests])
    policy = objects.policy.policy if objects.policy is not None else Policy()
    first_us = min(job.at_us for job in jobs)
    scenario = _limit_duration(scenario_of_load(objects.objects, policy, jobs, first_us), until)
    changes: tuple[str, ...] = ()
    scenarios = {"simulated": scenario}
    if settings or manifest:
        other, changes = apply_changes(scenario, settings, manifest)
        scenarios = {"unchanged": scenario, "changed": other}
    sides = {
        name: simulate(scenario, replay_progress(name)) for name, scenario in scenarios.items()
    }
    compared = Comparison(
        title=f"Simulation: {workloads.name} on {manifests.name}",
        sides=sides,
        changes=changes,
        notes=(*simulation_notes(scenario), *pending_notes(sides)),
    )
    print_comparison(compared, output, file)


def _read_jobs(path: Path, kind: Kind, begin_us: int, place: QueueTemplate) -> list[Job]:
    match kind:
        case Kind.YAML:
            return list(read_yaml(path, begin_us))
        case Kind.CSV:
            return list(read_csv(path, begin_us))
        case Kind.SWF:
            return list(read_swf(path, begin_us, place))
        case Kind.SACCT:
            return list(read_sacct(path, place))


def _kind_of_file(path: Path) -> Kind:
    kind = _SUFFIXES.get(path.suffix)
    if kind is None:
        raise SettingsError(f"{path}: say with --format what it is: {', '.join(Kind)}.")
    return kind


def _parse_begin(text: str) -> int:
    try:
        return parse_utc(text)
    except ValueError:
        raise typer.BadParameter(f"--begin {text!r} is not a time such as {BEGIN}.") from None


def _limit_duration(scenario: Scenario, text: str) -> Scenario:
    if not text:
        return scenario
    try:
        return replace(scenario, to_us=scenario.from_us + parse_seconds_or_duration(text))
    except UndecodableError:
        raise typer.BadParameter(f"--until {text!r} is not a duration such as 720h.") from None
