"""Kubernetes as it is beside the ledger: what differs, each with a fixed code and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from tidegate.cli.objects.manifests import KINDS
from tidegate.core.queueing.variants import acting
from tidegate.core.quota.forest import HOLDING
from tidegate.core.state.state import State, Workload
from tidegate.errors import UndecodableError
from tidegate.jobs.kind import JobKind
from tidegate.kinds.decode import read
from tidegate.kinds.names import QUEUE_NAME

TO_DO = {
    "MissingInKubernetes": "it was deleted and ingest did not tell: see `tidegate doctor`",
    "MissingInLedger": "ingest did not tell of it yet: see `tidegate doctor`",
    "SpecDiffers": "ingest did not tell of the change yet: see `tidegate doctor`",
    "Unreadable": "correct the object: the message says where",
    "StillSuspended": "the actuator did not start it yet: see `tidegate why`, and its log",
    "NotWatched": "enable its kind in integrations.frameworks, or install its CRD; else it is "
    "released 10 s after ingest began without it",
    "RunsWithoutQuota": "somebody resumed it, or it was not stopped yet: see the actuator's log",
}
"""What may differ, and what to do about it; a moment's lag looks the same: ask again."""

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
    state: State, kind: str, found: Iterable[dict[str, Any]]
) -> Iterator[Difference]:
    """Yield how the objects of a kind differ from those that the ledger knows."""
    known: dict[str, Any] = dict(getattr(state.objects, COMPARED[kind]))
    for raw in found:
        key = _key(raw)
        who, mine = f"{kind.lower()}/{key}", known.pop(key, None)
        if mine is None:
            yield Difference("MissingInLedger", who, "", "there")
        else:
            yield from _compare_specs(kind, who, mine, raw)
    for key in sorted(known):
        yield Difference("MissingInKubernetes", f"{kind.lower()}/{key}", "there", "")


def named_objects(state: State, kind: str, found: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Yield what differences call the objects of a kind, those of the ledger and those found."""
    for key in (*getattr(state.objects, COMPARED[kind]), *map(_key, found)):
        yield f"{kind.lower()}/{key}"


def named_jobs(state: State, kind: JobKind[Any], found: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Yield what differences call the jobs of a kind, those of the ledger and those found."""
    for raw in found:
        yield f"{kind.resource}/{_key(raw)}"
    for key, one in state.workloads.items():
        if one.resource == kind.resource:
            yield f"{kind.resource}/{key.partition('/')[0]}/{one.job.name}"


def compare_jobs(
    state: State, kind: JobKind[Any], found: Iterable[dict[str, Any]]
) -> Iterator[Difference]:
    """Yield how the jobs of a kind differ from what was decided about them."""
    seen = set[str]()
    for raw in found:
        metadata, who = raw["metadata"], f"{kind.resource}/{_key(raw)}"
        seen.add(metadata["uid"])
        mine = state.workloads.get(state.by_uid.get(metadata["uid"], ""))
        if mine is not None:
            yield from _compare_job(kind, who, acting(state, mine), raw)
        elif QUEUE_NAME in (metadata.get("labels") or {}) and not _ended(kind, raw):
            yield Difference("MissingInLedger", who, "", "asks for a queue")
    for key, one in sorted(state.workloads.items()):
        stands = one.resource == kind.resource and state.by_uid.get(one.job.uid, key) == key
        if stands and one.phase != "finished" and one.job.uid not in seen:
            who = f"{kind.resource}/{key.partition('/')[0]}/{one.job.name}"
            yield Difference("MissingInKubernetes", who, one.phase, "")


def unwatched(state: State) -> Iterator[Workload]:
    """Yield the unfinished workloads whose jobs ingest does not watch: nobody tells of them."""
    if state.expected is None:
        return
    for key, one in sorted(state.workloads.items()):
        stands = one.phase != "finished" and state.by_uid.get(one.job.uid, key) == key
        if stands and one.resource and one.resource not in state.expected:
            yield one


def compare_unwatched(state: State) -> Iterator[Difference]:
    """Yield the workloads that the cluster is not asked about any more."""
    for one in unwatched(state):
        who = f"{one.resource}/{one.key.partition('/')[0]}/{one.job.name}"
        yield Difference("NotWatched", who, one.phase, "not watched")


def _compare_specs(kind: str, who: str, mine: object, raw: dict[str, Any]) -> Iterator[Difference]:
    row = KINDS[kind]
    try:
        theirs = row.observe(read(raw, row.seen))
    except UndecodableError as error:
        yield Difference("Unreadable", who, "there", str(error))
        return
    for field in _FIELDS:
        here, there = getattr(mine, field, None), getattr(theirs, field, None)
        if hasattr(mine, field) and here != there:
            yield Difference("SpecDiffers", who, *_first_difference(here, there))


def _first_difference(here: Any, there: Any, path: str = "") -> tuple[str, str]:  # noqa: ANN401 - specs of any kind
    """Return the first place at which two values differ, as text of both."""
    for name, mine, theirs in _parts(here, there):
        if mine != theirs:
            return _first_difference(mine, theirs, f"{path}.{name}" if path else name)
    return f"{path} {here}".strip(), f"{path} {there}".strip()


def _parts(here: Any, there: Any) -> Iterator[tuple[str, Any, Any]]:  # noqa: ANN401 - see above
    """Yield the parts of two values of one form, none if they have no parts in common."""
    if isinstance(here, dict) and isinstance(there, dict):
        for key in dict.fromkeys((*here, *there)):
            yield str(key), here.get(key), there.get(key)
    elif isinstance(here, tuple) and isinstance(there, tuple) and len(here) == len(there):
        for place, (mine, theirs) in enumerate(zip(here, there, strict=True)):
            yield str(place), mine, theirs
    elif type(here) is type(there):
        for field in getattr(here, "__struct_fields__", ()):
            yield field, getattr(here, field), getattr(there, field)


def _compare_job(
    kind: JobKind[Any], who: str, mine: Workload, raw: dict[str, Any]
) -> Iterator[Difference]:
    try:
        job = kind.observe(read(raw, kind.seen))
    except UndecodableError as error:
        yield Difference("Unreadable", who, mine.phase, str(error))
        return
    if job.finished or job.state.deleting:
        return
    ordered = mine.order is not None and mine.order.kind == "start"
    if mine.phase == "admitted" and ordered and job.state.suspended:
        yield Difference("StillSuspended", who, "admitted", "suspended")
    if mine.phase not in {*HOLDING, "finished"} and not job.state.suspended:
        yield Difference("RunsWithoutQuota", who, mine.phase, "runs")


def _ended(kind: JobKind[Any], raw: dict[str, Any]) -> bool:
    try:
        return bool(kind.observe(read(raw, kind.seen)).finished)
    except UndecodableError:
        return False


def _key(raw: dict[str, Any]) -> str:
    namespace = raw["metadata"].get("namespace", "")
    name = raw["metadata"]["name"]
    return f"{namespace}/{name}" if namespace else str(name)
