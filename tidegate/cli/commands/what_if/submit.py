"""``tidegate what-if submit``: whether a job would start now if it were submitted."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from msgspec.structs import replace

from tidegate.cli.commands.decisions.why_not import answer_record as why_not_record
from tidegate.cli.commands.decisions.why_not import print_needs
from tidegate.cli.ledger.partitions import PartitionOption
from tidegate.cli.ledger.reading import AsOfOption, LedgerOption, Reader, open_reader
from tidegate.cli.objects.manifests import read_documents
from tidegate.cli.output import Output, OutputOption, print_record
from tidegate.cli.progress import progress_counter
from tidegate.contracts.observations import JobObserved
from tidegate.core.state.state import State
from tidegate.errors import SettingsError, UndecodableError
from tidegate.jobs.kind import JobKind
from tidegate.jobs.registry import JOB_KINDS
from tidegate.kinds.decode import read
from tidegate.replay.story.sentences import assignments_text
from tidegate.replay.whynot_search.whynot import WhyNot, dry_run

UID = "dry-run"


def submit(  # noqa: PLR0913 - each is an option
    file: Annotated[Path, typer.Argument(help="A manifest of one job.")],
    *,
    namespace: Annotated[
        str, typer.Option("--namespace", "-n", help="The namespace of a manifest without one.")
    ] = "default",
    partition: PartitionOption = None,
    as_of: AsOfOption = "",
    ledger: LedgerOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Show whether a job would start now and on which flavors, or why it would wait.

    The scheduler's own code decides on a copy of the ledger's state; nothing is submitted. The
    command does not contact the API server: defaults of the namespace's LimitRanges count, changes
    by webhooks do not. The exit code is 1 if the job would wait.

    Examples:
      tidegate what-if submit job.yaml

      tidegate what-if submit job.yaml -n team-a -o json
    """
    results = list(read_documents(file))
    if len(results) != 1:
        raise SettingsError(f"{file} holds {len(results)} objects: give a file with one job.")
    where, raw = results[0]
    kind, job = observed_job(raw, where, namespace)
    with open_reader(ledger, as_of, partition, reports=False) as reader:
        state = _deciding_state(reader, f"{job.namespace}/{job.queue}")
    with progress_counter("trials") as tick:
        answer = dry_run(state, job, kind.resource, tick=tick)
    if output in {Output.TABLE, Output.WIDE}:
        _print_answer(answer)
    else:
        print_record(answer_record(answer), output, name="workload")
    if not answer.now.starts:
        raise typer.Exit(1)


def _deciding_state(reader: Reader, local_queue: str) -> State:
    """Return the state of the partition that decides about a LocalQueue; of none, the first."""
    first, *others = (each.state() for each in reader.partition_readers())
    for state in others:
        defined = state.objects.local_queues.get(local_queue)
        if defined is not None and defined.spec.cluster_queue in state.objects.cluster_queues:
            return state
    return first


def _print_answer(answer: WhyNot) -> None:
    queue = answer.cluster_queue or "no ClusterQueue"
    if answer.now.starts:
        leaving = ", ".join(answer.now.preempts)
        preempting = f", preempting {leaving}" if leaving else ""
        assigned = assignments_text(answer.now.assignment)
        typer.echo(f"It would start now in {queue}{preempting}: {assigned}.")
    else:
        typer.echo(f"It would wait in {queue}. {answer.now.message}".rstrip())
        print_needs(answer)


def answer_record(answer: WhyNot) -> dict[str, Any]:
    """Return an answer for programs."""
    return {
        **why_not_record(answer),
        "message": answer.now.message,
        "assignment": msgspec.to_builtins(answer.now.assignment),
    }


def observed_job(
    raw: dict[str, Any], where: str, namespace: str
) -> tuple[JobKind[Any], JobObserved]:
    """Return a job as it would be observed, and its kind; ``namespace`` if it names none.

    Raises:
        SettingsError: it is of no kind of job, or asks for less than nothing; the message names
            ``where`` it stands.
        UndecodableError: it cannot be read; the message names where, too.
    """
    group = str(raw.get("apiVersion", "")).rpartition("/")[0]
    kinds = [
        job_kind
        for job_kind in JOB_KINDS.values()
        if (job_kind.group, job_kind.kind) == (group, raw.get("kind"))
    ]
    if not kinds:
        known_kinds = ", ".join(
            dict.fromkeys(
                f"{job_kind.kind} of {job_kind.group or 'core'}" for job_kind in JOB_KINDS.values()
            )
        )
        kind = f"{raw.get('kind') or '(no kind)'} of {group or 'core'}"
        raise SettingsError(f"{where}: {kind} is no kind of job; known: {known_kinds}.")
    meta = raw.get("metadata", {})
    if isinstance(meta, dict):  # else reading it says what is wrong
        generated = f"{meta.get('generateName', '')}{UID}"
        raw = {**raw, "metadata": {"namespace": namespace, "name": generated, **meta, "uid": UID}}
    try:
        job = kinds[0].observe(read(raw, kinds[0].object_type))
    except UndecodableError as error:
        raise UndecodableError(f"{where}: {error}") from error
    _refuse_negative_amounts(job, where)
    return kinds[0], replace(job, finished="")


def _refuse_negative_amounts(job: JobObserved, where: str) -> None:
    """Refuse amounts as the API server does: the scheduler, which never sees them, counts none."""
    for podset in job.podsets:
        for container in (*podset.containers, *podset.init_containers):
            for name, text in (*container.requests.items(), *container.limits.items()):
                if text.startswith("-"):
                    raise SettingsError(f"{where}: {name}: {text!r} is less than nothing.")
