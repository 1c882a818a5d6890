"""``tidegate drift``: where Kubernetes is not as the ledger says."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, NamedTuple

import typer
from msgspec.structs import fields

from tidegate.cli.doctor.comparing import (
    COMPARED,
    REMEDIES,
    Difference,
    compare_jobs,
    compare_objects,
    compare_unwatched,
    job_names,
    object_names,
)
from tidegate.cli.ledger.reading import LedgerOption, open_reader
from tidegate.cli.objects.api_client import ApiClient, ContextOption, KubeconfigOption, open_api
from tidegate.cli.objects.patching import with_kind
from tidegate.cli.output import Column, Output, OutputOption, print_records
from tidegate.cli.times import finite
from tidegate.core.state.state import Objects, State
from tidegate.errors import UnknownNameError
from tidegate.jobs.registry import JOB_KINDS
from tidegate.kinds.kueue_api.v1beta2 import KINDS
from tidegate.kinds.names import GROUP, VERSIONS


def _red(_code: str) -> str:
    return "red"


_COLUMNS = (
    Column("CODE", "code", colour=_red),
    Column("OBJECT", "object"),
    Column("LEDGER", "ledger"),
    Column("KUBERNETES", "kubernetes"),
    Column("TO DO", "toDo", wide=True),
)


def drift(  # noqa: PLR0913, PLR0917 - each is an option of the command line
    subject: Annotated[
        str,
        typer.Argument(
            help="Only this kind or object: clusterqueue, or job/train; default: all.",
            metavar="[KIND[/NAME]]",
        ),
    ] = "",
    ledger: LedgerOption = "",
    kubeconfig: KubeconfigOption = "",
    context: ContextOption = "",
    settle: Annotated[
        float,
        typer.Option(
            "--settle",
            help="Seconds until both are read again, if they differ.",
            metavar="SECONDS",
            min=0,
            callback=finite,
        ),
    ] = 2,
    output: OutputOption = Output.TABLE,
) -> None:
    """Compare queues, flavors and jobs in the cluster with the ledger.

    The first word of a line is one of MissingInKubernetes, MissingInLedger, SpecDiffers,
    Unreadable, StillSuspended, RunsWithoutQuota and NotWatched. If anything differs, both are read
    again two seconds later, and only what still differs is printed: a change on its way is none.
    The exit code is 1 if anything differs, or if neither side has the named object.

    Examples:
      tidegate drift

      tidegate drift job/train -o wide

      tidegate drift --settle 30

      tidegate drift -o json | jq -r '.[].object'
    """

    def compare() -> list[Difference]:
        with open_reader(ledger, reports=False) as reader:
            state = merge_states([each.state() for each in reader.partition_readers()])
        with open_api(kubeconfig, context) as api:
            return _differences(subject, list(_compare_kinds(state, api)))

    differences = lasting_differences(compare, settle)
    records = [
        {
            "code": difference.code,
            "object": difference.object,
            "ledger": difference.ledger,
            "kubernetes": difference.kubernetes,
            "toDo": REMEDIES[difference.code],
        }
        for difference in differences
    ]
    print_records(records, _COLUMNS, output, name="object", nothing="NoDrift: both say the same.")
    if records:
        raise typer.Exit(1)


def lasting_differences(
    compare: Callable[[], list[Difference]],
    settle_s: float,
    pause: Callable[[float], None] = time.sleep,
) -> list[Difference]:
    """Return the differences that a second comparison, ``settle_s`` seconds later, finds again.

    The ledger and the cluster are read one after the other, so a job that is admitted in between
    differs for a moment.
    """
    first = compare()
    if not first or not settle_s:
        return first
    pause(settle_s)
    found_before = {(difference.code, difference.object) for difference in first}
    return [each for each in compare() if (each.code, each.object) in found_before]


class _Group(NamedTuple):
    """The objects of one kind."""

    kind: str  # as differences name it: "clusterqueue", "jobs.batch"
    names: list[str]  # of the ledger's and the cluster's, and the kind itself
    differences: list[Difference]


def _differences(subject: str, groups: list[_Group]) -> list[Difference]:
    if not any(_matches_subject(subject, name) for group in groups for name in group.names):
        raise UnknownNameError(
            f"Neither the ledger nor the cluster knows {subject!r}: name KIND, KIND/NAME or "
            f"KIND/NAMESPACE/NAME, of {', '.join(group.kind for group in groups)}."
        )
    return [
        difference
        for group in groups
        for difference in group.differences
        if _matches_subject(subject, difference.object)
    ]


def _compare_kinds(state: State, api: ApiClient) -> Iterator[_Group]:
    version = f"{GROUP}/{VERSIONS[0]}"
    for kind in KINDS:
        if kind.name in COMPARED:
            listed = with_kind(api.list_all(f"/apis/{version}/{kind.plural}"), version, kind.name)
            names = [kind.name.lower(), *object_names(state, kind.name, listed)]
            yield _Group(names[0], names, list(compare_objects(state, kind.name, listed)))
    for job in JOB_KINDS.values():
        if job.members is None and job.resource in (state.expected or ()):
            listed = with_kind(api.list_all(job.path()), job.api_version, job.kind)
            if job.kind != "Workload":  # one of its own has no job behind it, or is one of ours
                names = [job.resource, *job_names(state, job, listed)]
                yield _Group(names[0], names, list(compare_jobs(state, job, listed)))

    missing = list(compare_unwatched(state))
    for resource in dict.fromkeys(difference.object.partition("/")[0] for difference in missing):
        differences = [
            difference for difference in missing if difference.object.partition("/")[0] == resource
        ]
        yield _Group(
            resource, [resource, *(difference.object for difference in differences)], differences
        )


def _matches_subject(subject: str, text: str) -> bool:
    """Return whether ``job/train`` or ``clusterqueue`` means ``jobs.batch/a/train``."""
    kind, _, name = subject.lower().partition("/")
    resource, _, rest = text.partition("/")
    word = resource.partition(".")[0]
    alike = kind in {"", resource, word, word.removesuffix("s")}
    return alike and (not name or name in {rest, rest.rpartition("/")[2]})


def merge_states(states: Sequence[State]) -> State:
    """Return a state with the workloads and definitions of all partitions.

    Of what all know, as LocalQueues and flavors, that of the first counts. Of a job that changes
    the partition it is the workload that was submitted last.
    """
    if len(states) == 1:
        return states[0]
    first, objects = states[0], Objects()
    for field in fields(Objects):
        merged = getattr(objects, field.name)
        for state in reversed(states):
            merged.update(getattr(state.objects, field.name))
    objects.elsewhere.clear()
    union = State(
        ledger_id=first.ledger_id,
        cluster=first.cluster,
        policy=first.policy,
        objects=objects,
        expected=first.expected,
        rounds=first.rounds,
        now_us=max(state.now_us for state in states),
    )
    for state in sorted(states, key=lambda each: each.now_us):
        union.workloads.update(state.workloads)
        union.by_uid.update(state.by_uid)
    return union
