"""Kubernetes as it is beside the ledger: what differs, each with a fixed code and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from tidegate.cli.objects.manifests import KINDS
from tidegate.contracts.phases import HOLDING
from tidegate.core.queueing.siblings import acting_variant
from tidegate.core.state.state import State, Workload
from tidegate.errors import UndecodableError
from tidegate.jobs.kind import JobKind
from tidegate.kinds.decode import read
from tidegate.kinds.names import QUEUE_NAME

REMEDIES = {
    "MissingInKubernetes": (
        "it was deleted and ingest has not published that: see `tidegate doctor`"
    ),
    "MissingInLedger": "ingest has not published it yet: see `tidegate doctor`",
    "SpecDiffers": "ingest has not published the change yet: see `tidegate doctor`",
    "Unreadable": "correct the field that the message names",
    "StillSuspended": (
        "the actuator has not started it yet: see `tidegate why` and the actuator's log"
    ),
    "NotWatched": "enable its kind in integrations.frameworks, or install its CRD; otherwise its "
    "quota is released 10 s after ingest started without the kind",
    "RunsWithoutQuota": "a user resumed it, or it is not stopped yet: see the actuator's log",
}
"""The differences, each with its remedy; a short lag looks the same: run the command again."""

COMPARED = {
    "ClusterQueue": "cluster_queues",
    "Cohort": "cohorts",
    "LocalQueue": "local_queues",
    "ResourceFlavor": "flavors",
    "WorkloadPriorityClass": "workload_priority_classes",
}
"""Kinds of objects that are compared, and where the state has them."""
_FIELDS = ("spec", "value", "deleting")


class Difference(NamedTuple):
    """One thing that is not the same in both."""

    code: str
    object: str  # "clusterqueue/team-a", "jobs.batch/a/train"
    ledger: str
    kubernetes: str


def compare_objects(
    state: State, kind: str, objects: Iterable[dict[str, Any]]
) -> Iterator[Difference]:
    """Yield how the objects of a kind differ from those that the ledger knows."""
    definitions: dict[str, Any] = dict(getattr(state.objects, COMPARED[kind]))
    for raw in objects:
        key = _object_key(raw)
        subject, mine = f"{kind.lower()}/{key}", definitions.pop(key, None)
        if mine is None:
            yield Difference("MissingInLedger", subject, "", "there")
        else:
            yield from _compare_specs(kind, subject, mine, raw)
    for key in sorted(definitions):
        yield Difference("MissingInKubernetes", f"{kind.lower()}/{key}", "there", "")


def object_names(state: State, kind: str, objects: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Yield what differences call the objects of a kind, those of the ledger and those found."""
    for key in (*getattr(state.objects, COMPARED[kind]), *map(_object_key, objects)):
        yield f"{kind.lower()}/{key}"


def job_names(state: State, kind: JobKind[Any], objects: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Yield what differences call the jobs of a kind, those of the ledger and those found."""
    for raw in objects:
        yield f"{kind.resource}/{_object_key(raw)}"
    for key, workload in state.workloads.items():
        if workload.resource == kind.resource:
            yield f"{kind.resource}/{key.partition('/')[0]}/{workload.job.name}"


def compare_jobs(
    state: State, kind: JobKind[Any], objects: Iterable[dict[str, Any]]
) -> Iterator[Difference]:
    """Yield how the jobs of a kind differ from what was decided about them."""
    uids = set[str]()
    for raw in objects:
        metadata, subject = raw["metadata"], f"{kind.resource}/{_object_key(raw)}"
        uids.add(metadata["uid"])
        mine = state.workloads.get(state.by_uid.get(metadata["uid"], ""))
        if mine is not None:
            yield from _compare_job(kind, subject, acting_variant(state, mine), raw)
        elif QUEUE_NAME in (metadata.get("labels") or {}) and not _is_finished(kind, raw):
            yield Difference("MissingInLedger", subject, "", "names a queue")
    for key, workload in sorted(state.workloads.items()):
        stands = (
            workload.resource == kind.resource and state.by_uid.get(workload.job.uid, key) == key
        )
        if stands and workload.phase != "finished" and workload.job.uid not in uids:
            subject = f"{kind.resource}/{key.partition('/')[0]}/{workload.job.name}"
            yield Difference("MissingInKubernetes", subject, workload.phase, "")


def unwatched_workloads(state: State) -> Iterator[Workload]:
    """Yield the unfinished workloads whose jobs no ingest watches."""
    if state.expected is None:
        return
    for key, workload in sorted(state.workloads.items()):
        stands = workload.phase != "finished" and state.by_uid.get(workload.job.uid, key) == key
        if stands and workload.resource and workload.resource not in state.expected:
            yield workload


def compare_unwatched(state: State) -> Iterator[Difference]:
    """Yield the workloads that the cluster is not asked about any more."""
    for workload in unwatched_workloads(state):
        subject = f"{workload.resource}/{workload.key.partition('/')[0]}/{workload.job.name}"
        yield Difference("NotWatched", subject, workload.phase, "not watched")


def _compare_specs(
    kind: str, subject: str, mine: object, raw: dict[str, Any]
) -> Iterator[Difference]:
    row = KINDS[kind]
    try:
        observation = row.observe(read(raw, row.seen))
    except UndecodableError as error:
        yield Difference("Unreadable", subject, "there", str(error))
        return
    for field in _FIELDS:
        ledger_value, cluster_value = getattr(mine, field, None), getattr(observation, field, None)
        if hasattr(mine, field) and ledger_value != cluster_value:
            yield Difference(
                "SpecDiffers", subject, *_first_difference(ledger_value, cluster_value)
            )


def _first_difference(ledger_value: Any, cluster_value: Any, path: str = "") -> tuple[str, str]:  # noqa: ANN401 - specs of any kind
    """Return the first place at which two values differ, as text of both."""
    for name, mine, cluster_part in _child_values(ledger_value, cluster_value):
        if mine != cluster_part:
            return _first_difference(mine, cluster_part, f"{path}.{name}" if path else name)
    return f"{path} {ledger_value}".strip(), f"{path} {cluster_value}".strip()


def _child_values(ledger_value: Any, cluster_value: Any) -> Iterator[tuple[str, Any, Any]]:  # noqa: ANN401 - see above
    """Yield the parts of two values of one form, none if they have no parts in common."""
    if isinstance(ledger_value, dict) and isinstance(cluster_value, dict):
        for key in dict.fromkeys((*ledger_value, *cluster_value)):
            yield str(key), ledger_value.get(key), cluster_value.get(key)
    elif (
        isinstance(ledger_value, tuple)
        and isinstance(cluster_value, tuple)
        and len(ledger_value) == len(cluster_value)
    ):
        for place, (mine, cluster_part) in enumerate(zip(ledger_value, cluster_value, strict=True)):
            yield str(place), mine, cluster_part
    elif type(ledger_value) is type(cluster_value):
        for field in getattr(ledger_value, "__struct_fields__", ()):
            yield field, getattr(ledger_value, field), getattr(cluster_value, field)


def _compare_job(
    kind: JobKind[Any], subject: str, mine: Workload, raw: dict[str, Any]
) -> Iterator[Difference]:
    try:
        job = kind.observe(read(raw, kind.object_type))
    except UndecodableError as error:
        yield Difference("Unreadable", subject, mine.phase, str(error))
        return
    if job.finished or job.state.deleting:
        return
    ordered = mine.order is not None and mine.order.kind == "start"
    if mine.phase == "admitted" and ordered and job.state.suspended:
        yield Difference("StillSuspended", subject, "admitted", "suspended")
    if mine.phase not in {*HOLDING, "finished"} and not job.state.suspended:
        yield Difference("RunsWithoutQuota", subject, mine.phase, "runs")


def _is_finished(kind: JobKind[Any], raw: dict[str, Any]) -> bool:
    try:
        return bool(kind.observe(read(raw, kind.object_type)).finished)
    except UndecodableError:
        return False


def _object_key(raw: dict[str, Any]) -> str:
    namespace = raw["metadata"].get("namespace", "")
    name = raw["metadata"]["name"]
    return f"{namespace}/{name}" if namespace else str(name)
