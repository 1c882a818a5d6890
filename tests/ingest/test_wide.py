"""One write that changes thousands of jobs: the others have their turn, and nobody returns."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from prometheus_client import CollectorRegistry

from ingest.jobs.ownership import ResourceObservation
from ingest.metrics import Metrics
from ingest.pods.referred import Described
from ingest.resources import watched
from ingest.watched import SLICE, Reducer, Watched
from tests.parts.foreign import pods_template
from tests.parts.stage import Object
from tidegate.jobs.registry import JOB_KINDS
from tidegate.jobs.training.train_job import KIND
from tidegate.kinds.decode import read

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


def rows() -> dict[str, Watched]:
    """Return the rows of an ingest that knows a runtime and many jobs of it."""
    mapping = {row.resource: row for row in watched(list(JOB_KINDS.values()))}
    list(mapping[RUNTIMES].observe(read(runtime(1), Described)))
    for number in range(JOBS):
        list(mapping[KIND.resource].observe(read(job(f"j{number}"), KIND.seen)))
    return mapping


def test_what_a_deletion_changes_is_reduced_slice_by_slice_as_well() -> None:
    reducer = Reducer(rows()[RUNTIMES], Metrics(CollectorRegistry()))
    sizes = [len(few) for few in reducer.gone(read(runtime(2), Described).metadata, pytest.fail)]
    assert sum(sizes) == JOBS
    assert max(sizes) == SLICE


def slices(rows: dict[str, Watched]) -> Iterator[list[ResourceObservation]]:
    reducer = Reducer(rows[RUNTIMES], Metrics(CollectorRegistry()))
    return reducer.present(read(runtime(2), Described))


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
