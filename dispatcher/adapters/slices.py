"""An elastic job on a worker cluster: its copy shrinks in place, and its job follows the slices.

The job there asks for as many pods as the Workload here that it is one with, whatever the job here
asks for by now: what that wants beyond is a slice that has no quota yet.

Pure. Source: multikueue.md 2.5, 2.11, 3.2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from dispatcher.adapters.copies import PRIORITY, comparable_spec, prebuilt_of
from dispatcher.adapters.equivalence import is_equivalent
from tidegate.jobs.batch.numbers import PODSET
from tidegate.jobs.job_metadata import is_elastic
from tidegate.jobs.kind import Object
from tidegate.jobs.ray.cluster_pods import cluster_podsets
from tidegate.jobs.templates.paths import Path, merge_patch, value_at, with_value
from tidegate.kinds import names

Counts: TypeAlias = Mapping[str, int]
"""How many pods of each podset."""


def with_counts(workload: Object, counts: Counts, *, at_most: bool = False) -> Object:
    """Return a Workload as the ledger has the number of its pods: its object may show that late.

    Args:
        workload: as it is here.
        counts: what the ledger says; podsets that it does not have stay as they are.
        at_most: a number may become lower and never higher.
    """
    podsets = [
        {**podset, "count": _granted_count(podset, counts, at_most=at_most)}
        for podset in workload["spec"]["podSets"]
    ]
    return {**workload, "spec": {**workload["spec"], "podSets": podsets}}


def _granted_count(podset: Object, counts: Counts, *, at_most: bool) -> int:
    before: int = podset.get("count", 1)
    count = counts.get(podset["name"], before)
    return min(count, before) if at_most else count


def scale_down_patch(local: Object, remote: Object) -> Object | None:
    """Return the patch that makes a copy as small as the Workload here; None: more differs.

    Another priority goes with it.
    """
    if not is_elastic(local["metadata"].get("annotations") or {}):
        return None
    mine, other = comparable_spec(local), comparable_spec(remote)
    before, after = counts_of(remote), counts_of(local)
    if before == after or before.keys() != after.keys():
        return None
    if any(after[name] > count for name, count in before.items()):
        return None
    podsets = with_counts(remote, after)["spec"]["podSets"]
    rest = {"podSets": podsets, **{field: mine.get(field) for field in PRIORITY}}
    if not is_equivalent(
        {**other, **rest}, {**mine, **{field: mine.get(field) for field in PRIORITY}}
    ):
        return None
    return {"spec": rest}


def counts_of(workload: Object) -> dict[str, int]:
    """Return how many pods of each podset a Workload asks for."""
    return {podset["name"]: podset.get("count", 1) for podset in workload["spec"]["podSets"]}


def with_size(kind: str, job: Object, asks: Object, counts: Counts) -> Object:
    """Return an elastic job with as many pods as are granted; ``asks``: how its owner wants it.

    Jobs that are not elastic, and those of other kinds, stay as they are.
    """
    size = _SIZES.get(kind)
    if size is None or not is_elastic(asks["metadata"].get("annotations") or {}):
        return job
    return size(job, asks, counts)


def without_start_gates(kind: str, copied: Object) -> Object:
    """Return the copy of an elastic job without what its start here put in for its pods to wait."""
    find = _TEMPLATES.get(kind)
    for path in () if find is None else find(copied):
        copied = _without_gate(copied, path)
    return copied


def _without_gate(copied: Object, path: Path) -> Object:
    labels = value_at(copied, (*path, "metadata", "labels")) or {}
    gates = value_at(copied, (*path, "spec", "schedulingGates")) or []
    if names.ELASTIC_POD in labels:
        others = {key: text for key, text in labels.items() if key != names.ELASTIC_POD}
        copied = with_value(copied, (*path, "metadata", "labels"), others)
    if {"name": names.ELASTIC_JOB} in gates:
        waits = [gate for gate in gates if gate != {"name": names.ELASTIC_JOB}]
        copied = with_value(copied, (*path, "spec", "schedulingGates"), waits or None)
    return copied


def joining_patch(
    kind: str, local: Object, remote: Object, workload: str, counts: Counts
) -> Object | None:
    """Return the patch by which the job there is one with another slice, and of its size.

    None: it is. It holds for the job as it was looked at alone: else an older slice's would count
    after a newer one's.
    """
    after = with_size(kind, remote, local, counts)
    if after is remote:
        return None
    spec = merge_patch(remote["spec"], after["spec"])
    notes = {} if prebuilt_of(remote) == workload else {names.PREBUILT_WORKLOAD: workload}
    if not spec and not notes:
        return None
    version = {"resourceVersion": remote["metadata"]["resourceVersion"]}
    patch: Object = {"metadata": {**version, **({"annotations": notes} if notes else {})}}
    return {**patch, "spec": spec} if spec else patch


def _sized_job(job: Object, asks: Object, counts: Counts) -> Object:
    spec, owner_spec = job["spec"], asks["spec"]
    parallelism: int = owner_spec.get("parallelism", 1)
    count = counts.get(PODSET, parallelism)
    as_many = owner_spec.get("completionMode") == "Indexed"
    as_many = as_many and owner_spec.get("completions") == parallelism
    if min(parallelism, owner_spec.get("completions", parallelism)) == count:
        count = parallelism  # the number of completions may keep it from running more
    sizes = {"parallelism": count, **({"completions": count} if as_many else {})}
    return {**job, "spec": {**spec, **sizes}}


def _sized_cluster(job: Object, asks: Object, counts: Counts) -> Object:
    owner_groups = {
        group["groupName"]: group for group in asks["spec"].get("workerGroupSpecs") or ()
    }
    places = {place.name: place.count for place in cluster_podsets(asks, ("spec",), elastic=True)}
    groups = [
        _sized_group(group, owner_groups.get(group["groupName"], group), places, counts)
        for group in job["spec"].get("workerGroupSpecs") or ()
    ]
    return {**job, "spec": {**job["spec"], "workerGroupSpecs": groups}}


def _sized_group(group: Object, owner_group: Object, places: Counts, counts: Counts) -> Object:
    """Return a group of workers of the size that is granted; pods of one replica stay together."""
    name, hosts = group["groupName"].lower(), max(group.get("numOfHosts", 1), 1)
    if counts.get(name) == places.get(name):
        both = ("replicas", "numOfHosts")
        sizes: Object = {field: owner_group[field] for field in both if field in owner_group}
        if "numOfHosts" not in sizes and hosts != 1:
            sizes["numOfHosts"] = 1  # one host where none is named
        return {**group, **sizes}
    return {**group, "replicas": counts.get(name, group.get("replicas", 1) * hosts) // hosts}


_SIZES: dict[str, Callable[[Object, Object, Counts], Object]] = {
    "batch/job": _sized_job,
    "ray.io/raycluster": _sized_cluster,
}
"""Kinds whose jobs may grow and shrink where they were sent."""


def _template_paths(job: Object) -> list[Path]:
    groups = range(len(job["spec"].get("workerGroupSpecs") or ()))
    workers: list[Path] = [("spec", "workerGroupSpecs", at, "template") for at in groups]
    return [("spec", "headGroupSpec", "template"), *workers]


_TEMPLATES: dict[str, Callable[[Object], list[Path]]] = {
    "batch/job": lambda _: [("spec", "template")],
    "ray.io/raycluster": _template_paths,
}
