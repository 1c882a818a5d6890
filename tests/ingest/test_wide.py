"""One write that changes thousands of jobs: others have their turn, no deleted one returns.

Of what it may change no more is observed than what does change.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from prometheus_client import CollectorRegistry

from ingest.jobs.ownership import ResourceObservation
from ingest.metrics import Metrics
from ingest.pods.referred_objects import Described
from ingest.resources import watched
from ingest.watched_resource import SLICE, Reducer, WatchedResource
from tests.parts.foreign import pods_template
from tests.parts.stage import Object
from tidegate.contracts.observations import JobObserved
from tidegate.jobs.batch import batch_job as jobs
from tidegate.jobs.batch import jobset as jobsets
from tidegate.jobs.registry import JOB_KINDS
from tidegate.jobs.training.train_job import KIND
from tidegate.kinds.decode import read
from tidegate.kinds.kueue_api.workloads.workload import Workload

WORKLOADS = "workloads.kueue.x-k8s.io"
RUNTIMES = "described-trainingruntimes.trainer.kubeflow.org"
JOBS, CREATED = 100, "2026-03-01T08:00:00Z"


def meta(name: str, version: int) -> Object:
    queue = {"kueue.x-k8s.io/queue-name": "main"}
    metadata = {"namespace": "team", "name": name, "uid": name, "resourceVersion": str(version)}
    return {**metadata, "generation": version, "creationTimestamp": CREATED, "labels": queue}


def job(name: str) -> Object:
    reference = {"kind": "TrainingRuntime", "name": "torch"}
    return {"metadata": meta(name, 7), "spec": {"suspend": True, "runtimeRef": reference}}


def runtime(version: int) -> Object:
    replicated = {"name": "node", "template": {"spec": {"template": pods_template()}}}
    spec = {
        "mlPolicy": {"numNodes": version},
        "template": {"spec": {"replicatedJobs": [replicated]}},
    }
    return {"metadata": meta("torch", version), "spec": spec}


def rows() -> dict[str, WatchedResource]:
    """Return the rows of an ingest that knows a runtime and many jobs of it."""
    mapping = {row.resource: row for row in watched(list(JOB_KINDS.values()))}
    list(mapping[RUNTIMES].observe(read(runtime(1), Described)))
    for number in range(JOBS):
        list(mapping[KIND.resource].observe(read(job(f"j{number}"), KIND.object_type)))
    return mapping


def test_what_a_deletion_changes_is_reduced_slice_by_slice_as_well() -> None:
    reducer = Reducer(rows()[RUNTIMES], Metrics(CollectorRegistry()))
    sizes = [
        len(few)
        for few in reducer.reduce_deletion(read(runtime(2), Described).metadata, pytest.fail)
    ]
    assert sum(sizes) == JOBS
    assert max(sizes) == SLICE


def slices(rows: dict[str, WatchedResource]) -> Iterator[list[ResourceObservation]]:
    reducer = Reducer(rows[RUNTIMES], Metrics(CollectorRegistry()))
    return reducer.reduce(read(runtime(2), Described))


def test_a_write_that_changes_many_jobs_is_reduced_slice_by_slice() -> None:
    sizes = [len(few) for few in slices(rows())]
    assert sum(sizes) == JOBS
    assert max(sizes) == SLICE


def test_a_job_that_is_deleted_between_two_slices_is_not_reported_again() -> None:
    mapping = rows()
    remaining = slices(mapping)
    first = {result.uid for _, result in next(remaining)}
    gone = f"j{JOBS - 1}"
    assert gone not in first
    list(mapping[KIND.resource].gone(gone, 9))
    later = {result.uid for few in remaining for _, result in few}
    assert len(first | later) == JOBS - 1
    assert gone not in later


def batch_job(name: str, owner: str = "", **labels: str) -> Object:
    """Return a Job, a JobSet's if it has an owner."""
    metadata = meta(name, 7)
    metadata["labels"] = labels if owner else metadata["labels"] | labels
    if owner:
        reference = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": owner}
        metadata["ownerReferences"] = [{**reference, "uid": owner, "controller": True}]
    return {"metadata": metadata, "spec": {"suspend": True, "template": pods_template()}}


def jobset(*, queued: bool = True, suspended: bool = False, version: int = 7) -> Object:
    template = {"spec": {"template": pods_template()}}
    replicated = {"name": "workers", "replicas": JOBS, "template": template}
    metadata = meta("set", version)
    metadata["labels"] = metadata["labels"] if queued else {}
    return {"metadata": metadata, "spec": {"suspend": suspended, "replicatedJobs": [replicated]}}


def owning() -> WatchedResource:
    """Return the row of JobSets of an ingest that knows a running one and its many Jobs."""
    mapping = {row.resource: row for row in watched(list(JOB_KINDS.values()))}
    list(mapping[jobsets.KIND.resource].observe(read(jobset(), jobsets.KIND.object_type)))
    for number in range(JOBS):
        child = read(batch_job(f"j{number}", "set"), jobs.KIND.object_type)
        list(mapping[jobs.KIND.resource].observe(child))
    return mapping[jobsets.KIND.resource]


def test_an_owner_that_goes_on_as_it_was_has_nothing_observed_but_itself() -> None:
    row = owning()
    for version in (8, 9):
        assert len(list(row.observe(read(jobset(version=version), jobsets.KIND.object_type)))) == 1


def test_what_an_owner_changes_is_reduced_slice_by_slice() -> None:
    reducer = Reducer(owning(), Metrics(CollectorRegistry()))
    changed = reducer.reduce(read(jobset(queued=False), jobsets.KIND.object_type))
    sizes = [len(few) for few in changed]
    assert (sum(sizes), max(sizes)) == (1 + JOBS, SLICE)


def test_of_an_owner_that_changes_again_and_again_each_child_is_observed_once() -> None:
    row = owning()
    first = iter(row.observe(read(jobset(queued=False), jobsets.KIND.object_type)))
    assert next(first)[1].uid == "set"
    next(first)  # its first child, and then others have their turn
    again = list(row.observe(read(jobset(version=8), jobsets.KIND.object_type)))
    assert len(again) == 1 + JOBS
    assert list(first) == []


def prebuilt() -> dict[str, WatchedResource]:
    """Return the rows of an ingest that knows a Workload which many Jobs name."""
    mapping = {row.resource: row for row in watched(list(JOB_KINDS.values()))}
    list(mapping[WORKLOADS].listed((), 1))
    list(mapping[WORKLOADS].observe(read(workload(1), Workload)))
    for number in range(JOBS):
        name = {"kueue.x-k8s.io/prebuilt-workload-name": "made"}
        list(
            mapping[jobs.KIND.resource].observe(
                read(batch_job(f"j{number}", **name), jobs.KIND.object_type)
            )
        )
    return mapping


def workload(version: int) -> Object:
    podset = {"name": "main", "count": 1, "template": pods_template()}
    return {"metadata": meta("made", version), "spec": {"podSets": [podset], "priority": version}}


def test_of_many_jobs_that_name_a_workload_the_one_that_has_it_is_observed() -> None:
    mapping = prebuilt()
    [(_, observation)] = mapping[WORKLOADS].observe(read(workload(2), Workload))
    assert observation.uid == "j0"
    assert [[o.uid for _, o in mapping[jobs.KIND.resource].gone(f"j{n}", 8)] for n in (0, 7)] == [
        ["j1"],
        ["j1"],
    ]


def test_a_description_made_anew_while_no_ingest_watched_is_kept() -> None:
    mapping = rows()
    anew = runtime(2)
    anew["metadata"]["uid"] = "anew"
    assert len(list(mapping[RUNTIMES].observe(read(anew, Described)))) == JOBS
    assert list(mapping[RUNTIMES].listed({"anew"}, 9)) == []
    [(_, observation)] = mapping[KIND.resource].observe(read(job("j0"), KIND.object_type))
    assert isinstance(observation, JobObserved)
    assert (observation.gates, len(observation.podsets)) == ((), 1)
