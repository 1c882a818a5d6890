"""Objects that are unreadable or owned by a waiting job are observed with their state."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ingest.jobs.job_index import JobIndex
from ingest.jobs.scope import Scope
from tidegate.contracts.observations import JobObserved
from tidegate.errors import TidegateError
from tidegate.jobs.batch import batch_job, jobset
from tidegate.jobs.kind import JobKind
from tidegate.kinds.decode import decode_object

Object = dict[str, Any]
KIND = batch_job.KIND
TEMPLATE = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}}


def job(name: str, *, runs: bool, owner: Object | None = None, **about: object) -> Object:
    meta: Object = {
        "namespace": "team",
        "name": name,
        "uid": f"uid-{name}",
        "resourceVersion": "7",
        "labels": {"kueue.x-k8s.io/queue-name": "main"},
        **about,
    }
    meta |= {"ownerReferences": [owner]} if owner else {}
    return {"metadata": meta, "spec": {"suspend": not runs, "template": TEMPLATE}}


def owner(name: str, api_version: str = "batch/v1", kind: str = "Job") -> Object:
    uid = f"uid-{name}"
    return {"apiVersion": api_version, "kind": kind, "name": name, "uid": uid, "controller": True}


def observed_jobs(joins: JobIndex, obj: Object) -> dict[str, JobObserved]:
    """Observe a Job; return the observations by name."""
    seen = decode_object(msgspec.json.encode(obj), KIND.object_type)
    observed = (observation for _, observation in joins.job(KIND, seen))
    return {
        observation.name: observation
        for observation in observed
        if isinstance(observation, JobObserved)
    }


@pytest.fixture
def joins() -> JobIndex:
    return JobIndex([KIND, jobset.KIND], Scope())


BAD: dict[str, Object] = {
    "a slice of nonsense": {"kueue.x-k8s.io/podset-slice-size": "9" * 5_000},
    "a Workload elsewhere": {"kueue.x-k8s.io/prebuilt-workload-name": "../../../secrets/key"},
    "a list without end": {"kueue.x-k8s.io/admission-gated-by": "a," * 100_000},
    "an elastic job": {"kueue.x-k8s.io/elastic-job": "true"},
}


@pytest.mark.parametrize("runs", [True, False])
@pytest.mark.parametrize("name", BAD)
def test_a_job_that_cannot_be_read_is_reported_with_how_it_stands(
    joins: JobIndex, name: str, *, runs: bool
) -> None:
    bad = job("bad", runs=runs, annotations=BAD[name])
    bad["spec"]["template"] = {**TEMPLATE, "metadata": {"annotations": BAD[name]}}
    seen = decode_object(msgspec.json.encode(bad), KIND.object_type)
    with pytest.raises(TidegateError) as caught:
        list(joins.job(KIND, seen))
    why = joins.malformed_job(KIND, seen.metadata, bad, str(caught.value))
    assert why is not None
    assert (why.stray, why.queue, why.state.suspended) == ("Unreadable", "", not runs)
    assert len(why.message) <= 1_024


@pytest.mark.parametrize(
    ("kind", "ended"), [(batch_job.KIND, "Complete"), (jobset.KIND, "Completed")]
)
def test_a_job_that_cannot_be_read_and_is_over_is_reported_as_over(
    joins: JobIndex, kind: JobKind[Any], ended: str
) -> None:
    bad = job("bad", runs=True, annotations=BAD["an elastic job"])
    bad["status"] = {"conditions": [{"type": ended, "status": "True"}]}
    seen = decode_object(msgspec.json.encode(bad), kind.object_type)
    why = joins.malformed_job(kind, seen.metadata, bad, "It cannot be read.")
    assert why is not None
    assert (why.stray, why.finished) == (None, "Succeeded")


@pytest.mark.parametrize("status", ["ended", [1], {"conditions": "all"}, None])
def test_a_job_whose_status_makes_no_sense_is_not_over(joins: JobIndex, status: object) -> None:
    bad = job("bad", runs=True) | {"status": status}
    meta = decode_object(msgspec.json.encode(job("bad", runs=True)), KIND.object_type).metadata
    why = joins.malformed_job(KIND, meta, bad, "It cannot be read.")
    assert why is not None
    assert (why.stray, why.finished) == ("Unreadable", "")


def test_the_child_of_a_job_that_waits_must_not_run_until_that_does(joins: JobIndex) -> None:
    observed_jobs(joins, job("above", runs=False))
    below = job("below", runs=True, owner=owner("above"), labels={})
    assert observed_jobs(joins, below)["below"].stray == "OwnerWaits"
    again = observed_jobs(joins, job("above", runs=True, resourceVersion="8"))
    assert again["below"].stray is None


def test_a_job_that_names_a_job_as_its_owner_is_queued_like_any_other(joins: JobIndex) -> None:
    observed_jobs(joins, job("above", runs=True))
    seen = observed_jobs(joins, job("below", runs=False, owner=owner("above")))["below"]
    assert (seen.queue, seen.stray) == ("main", None)


@pytest.mark.parametrize("version", ["batch/v1", "batch/v9", "jobset.x-k8s.io/v1alpha2"])
def test_an_owner_that_does_not_exist_lets_no_job_run(joins: JobIndex, version: str) -> None:
    kind = "JobSet" if "jobset" in version else "Job"
    below = job("below", runs=True, owner=owner("nowhere", version, kind))
    assert observed_jobs(joins, below)["below"].stray is not None


def test_a_job_that_asks_for_nothing_may_have_any_owner(joins: JobIndex) -> None:
    below = job("below", runs=True, owner=owner("nowhere"), labels={})
    assert observed_jobs(joins, below)["below"].stray is None
