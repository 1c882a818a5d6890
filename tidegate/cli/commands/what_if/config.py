"""``tidegate what-if config``: the recorded jobs under other quotas, priorities or policies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import replace

from tidegate.cli.figures.comparison import SECOND_US, Comparison, pending_notes
from tidegate.cli.figures.printing import FileOption, Form, FormOption, print_comparison
from tidegate.cli.ledger.partitions import OnePartitionOption, single_partition
from tidegate.cli.ledger.reading import LedgerOption, Reader, open_reader
from tidegate.cli.objects.manifests import read_manifests
from tidegate.cli.progress import with_progress
from tidegate.cli.times import duration_text
from tidegate.contracts.facts import FactEvent, PolicyConfigured, WatchesExpected
from tidegate.core.folding.snapshot import decode
from tidegate.errors import SettingsError, TidegateError
from tidegate.model.policy import Policy
from tidegate.replay.simulator.changes import (
    POLICY,
    Changes,
    Setting,
    Target,
    definitions_of,
    requests_of,
    target_of,
    with_changes,
)
from tidegate.replay.simulator.field_paths import fields_of, read_setting
from tidegate.replay.simulator.scenario import Scenario, recorded_scenario
from tidegate.replay.simulator.whatif import Progress, recorded_result, simulate

SetOption = Annotated[
    list[str],
    typer.Option(
        "--set",
        metavar="KIND/NAME.FIELD=VALUE",
        help="Set one field: clusterqueue/team-a.cpu=40, cohort/all.gpu.lendingLimit=2, "
        "workloadpriorityclass/low.value=5, workload/a/job-x.priority=9, policy.fairSharing=true.",
    ),
]


def config(  # noqa: PLR0913 - each is an option
    settings: SetOption = [],  # noqa: B006 - typer copies it
    manifest: Annotated[
        list[Path],
        typer.Option("--manifest", "-f", help="YAML of objects that replace the recorded ones."),
    ] = [],  # noqa: B006
    *,
    since: Annotated[
        str,
        typer.Option(
            "--from", metavar="SEQ|TIME", help="Apply the changes from this event or time on."
        ),
    ] = "",
    to: Annotated[
        str,
        typer.Option("--to", metavar="SEQ|TIME", help="End the simulation at this event or time."),
    ] = "",
    file: FileOption = None,
    partition: OnePartitionOption = None,
    ledger: LedgerOption = "",
    output: FormOption = Form.TABLE,
) -> None:
    """Replay the recorded submissions and run times under another configuration.

    Prints three sides. "recorded" is what really happened. "unchanged" and "changed" are simulated
    by the scheduler's own code, with the same jobs, run times and stop times: compare these two. If
    "unchanged" differs from "recorded", the ledger has events that the simulation does not model,
    such as slow starts, outages and manual changes.

    Examples:
      tidegate what-if config --set clusterqueue/team-a.cpu=40

      tidegate what-if config --manifest changed.yaml --from 2026-03-02T08:30:00Z -o json

      tidegate what-if config --set policy.fairSharing=true -o html --file report.html
    """
    if not settings and not manifest:
        raise typer.BadParameter("Give at least one change: --set or --manifest.")
    with open_reader(ledger, partition=partition, reports=False) as every:
        reader = single_partition(_reader_with_object(every, settings), "what-if config")
        comparison = compare_replays(
            reader_until(reader, to), since, settings, manifest, replay_progress
        )
    print_comparison(comparison, output, file)


def _reader_with_object(reader: Reader, settings: list[str]) -> Reader:
    """Return the reader of the partition that has the first object of the settings, if one has."""
    names = {text.partition(".")[0].rpartition("/")[2] for text in settings}
    for each in reader.partition_readers() if reader.others else ():
        if any({row["cluster_queue"], row["cohort"]} & names for row in each.report("queues")):
            return each
    return reader


def reader_until(reader: Reader, to: str) -> Reader:
    """Return a reader that looks no further than a moment; empty: to its end."""
    return reader._replace(end=reader.seq_of(to, "--to") if to else reader.end)


def compare_replays(
    reader: Reader,
    since: str,
    settings: list[str],
    manifests: list[Path],
    progressing: Callable[[str], Progress],
) -> Comparison:
    """Return what was recorded beside two replays of it, as it was and as it is asked to be.

    Args:
        reader: of the history.
        since: the moment from which on it is otherwise; empty: from the beginning.
        settings: as ``--set`` takes them.
        manifests: files of objects in place of the recorded ones.
        progressing: from a side's name to what its moments pass through.

    Raises:
        SettingsError: a setting or a manifest cannot be read, or changes nothing.
        TidegateError: nothing was decided in this part of the history.
    """
    first = reader.seq_of(since, "--from", onwards=True) - 1 if since else 0
    begun = reader._replace(end=first).state("going back") if first else None
    scenario = recorded_scenario(reader.entries("reading", first), begun)
    before = recorded_result(reader.entries("measuring", first), begun)
    _refuse_unlisted(scenario)
    other, changes = apply_changes(scenario, settings, manifests)
    sides = {
        "recorded": before,
        "unchanged": simulate(scenario, progressing("unchanged")),
        "changed": simulate(other, progressing("changed")),
    }
    notes = (_SIDES, *simulation_notes(scenario), *pending_notes(sides))
    return Comparison(title=f"What if: {reader.url}", sides=sides, changes=changes, notes=notes)


def apply_changes(
    scenario: Scenario, texts: list[str], manifests: list[Path]
) -> tuple[Scenario, tuple[str, ...]]:
    """Return a scenario as it is asked to be, and what was changed in words.

    Raises:
        SettingsError: a setting or a manifest cannot be read, or changes nothing.
    """
    definitions = _known_targets(scenario)
    objects = read_manifests(manifests)
    settings = [read_setting(text, definitions) for text in texts]
    if objects.policy is not None:
        settings.append(_policy_setting(objects.policy.policy))
    other, hits = with_changes(scenario, Changes(settings=tuple(settings), objects=objects.objects))
    for setting in settings:
        if setting.text not in hits:
            fields = _field_names(scenario, setting.target)
            raise SettingsError(
                f"{setting.text} changes nothing: the field already has this value or "
                "does not exist. "
                f"Fields: {fields}."
            )
    targets = [
        target for definition in objects.objects if (target := target_of(definition)) is not None
    ]
    replaced = [f"{kind}/{name} as given" for kind, name in targets]
    return other, (*(setting.text for setting in settings), *replaced)


def simulation_notes(scenario: Scenario) -> tuple[str, ...]:
    """Return in sentences what a replay in virtual time rests on."""
    stop = duration_text(scenario.stop_us / SECOND_US)
    notes = [
        f"{len(scenario.runs)} jobs; a stop takes {stop}; a stopped job starts from the beginning."
    ]
    if scenario.endless:
        notes.append(f"Jobs that had not ended and run on: {scenario.endless}.")
    if scenario.assumed:
        notes.append(
            "Jobs that never started, and would run as long as the median of their LocalQueue, "
            f"or forever if no job of the queue ever finished: {scenario.assumed}."
        )
    return tuple(notes)


def replay_progress(title: str) -> Progress:
    """Return what shows how far a replay in virtual time got."""
    return lambda moments: with_progress(moments, title, None)


def _refuse_unlisted(scenario: Scenario) -> None:
    has_watches = decode(scenario.start).expected is not None
    if not has_watches and not any(isinstance(fact, WatchesExpected) for fact in scenario.facts):
        raise TidegateError(
            "This part of the ledger has no decisions, because ingest had not listed the cluster "
            "yet. End later with --to, or begin later with --from."
        )


def _known_targets(scenario: Scenario) -> set[Target]:
    return {target for fact in _facts(scenario) if (target := target_of(fact)) is not None}


def _facts(scenario: Scenario) -> Iterator[FactEvent]:
    state = decode(scenario.start)
    if state.seq:
        yield from definitions_of(state)
        yield from requests_of(state)
    yield from scenario.facts


def _field_names(scenario: Scenario, target: Target) -> str:
    matching = [fact for fact in _facts(scenario) if target_of(fact) == target]
    return fields_of(matching[-1]) if matching else "none"


def _policy_setting(policy: Policy) -> Setting:
    def change(fact: FactEvent) -> FactEvent:
        same = not isinstance(fact, PolicyConfigured) or fact.policy == policy
        return fact if same else replace(fact, policy=policy)

    return Setting(target=POLICY, text="the Configuration", change=change)


_SIDES = (
    'Compare "unchanged" with "changed": both are simulated; "recorded" is what really happened.'
)
