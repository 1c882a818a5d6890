"""What a batch Job, and a job of another kind, shows here of the status of its copy.

Source: multikueue.md 3.1, 3.2.
"""

from __future__ import annotations

import pytest

from dispatcher.adapters.jobs import DEFERRED, status_patch, suspended_patch
from tidegate.jobs.kind import Object
from tidegate.jobs.registry import JOB_KINDS

AT = "2026-01-01T00:00:05Z"


def job(*, suspend: bool, **status: object) -> Object:
    return {"metadata": {"name": "j"}, "spec": {"suspend": suspend}, "status": status}


COMPLETE = [{"type": "Complete", "status": "True"}]


@pytest.mark.parametrize(
    ("local", "remote", "patch"),
    [
        (job(suspend=False), job(suspend=False, active=1), {"status": {"active": 1}}),
        (job(suspend=True, active=1), job(suspend=True), {"status": {"active": None}}),
        (
            job(suspend=True, active=1),
            job(suspend=True, ready=0),
            {"status": {"active": None, "ready": 0}},
        ),
        (job(suspend=True), job(suspend=False, active=1), DEFERRED),
        (
            job(suspend=True),
            job(suspend=False, conditions=COMPLETE),
            {"status": {"conditions": COMPLETE}},
        ),
        (  # another copy ran before: the API server refuses a job that runs another startTime
            job(suspend=False, startTime="10:00"),
            job(suspend=False, startTime="10:05", active=1),
            {"status": {"active": 1}},
        ),
        (job(suspend=True), job(suspend=False), DEFERRED),
        (  # and lower counters
            job(suspend=True, failed=2, succeeded=3, active=1),
            job(suspend=True, succeeded=1, ready=0),
            {"status": {"active": None, "ready": 0}},
        ),
        (
            job(suspend=False, failed=1, succeeded=1),
            job(suspend=False, failed=2, succeeded=4),
            {"status": {"failed": 2, "succeeded": 4}},
        ),
        (  # what makes no sense is for the API server here to refuse
            job(suspend=False, failed=1),
            job(suspend=False, failed="many", active=[1]),
            {"status": {"active": [1]}},
        ),
        (
            job(suspend=False, active=1),
            {**job(suspend=False), "status": "so"},
            {"status": {"active": None}},
        ),
    ],
)
def test_a_jobs_status_is_copied_when_it_makes_sense_here(
    local: Object, remote: Object, patch: object
) -> None:
    assert status_patch(JOB_KINDS["batch/job"], local, remote) == patch


@pytest.mark.parametrize(
    ("completions", "mode", "patch"),
    [
        (3, "Indexed", {"status": {"succeeded": 1}}),
        (4, "Indexed", None),
        (3, "NonIndexed", None),
    ],
)
def test_completions_that_are_scaled_with_the_pods_may_become_fewer(
    completions: int, mode: str, patch: object
) -> None:
    local, remote = job(suspend=False, succeeded=2), job(suspend=False, succeeded=1)
    local["spec"] |= {"parallelism": 3, "completions": completions, "completionMode": mode}
    assert status_patch(JOB_KINDS["batch/job"], local, remote) == patch


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        ("jobset.x-k8s.io/jobset", {"status": {"active": None}}),
        ("ray.io/rayjob", {"status": {"active": None}}),
        ("kubeflow.org/mpijob", {"status": {"active": None}}),
        ("pod", None),
        ("statefulset", None),
    ],
)
def test_an_empty_status_takes_the_place_of_one_of_before(kind: str, patch: object) -> None:
    local, remote = job(suspend=False, active=1), job(suspend=False)
    assert status_patch(JOB_KINDS[kind], local, remote) == patch


def test_a_job_whose_copy_runs_is_shown_as_suspended_until_it_runs_here() -> None:
    other = {"type": "FailureTarget", "status": "False"}
    waits = job(suspend=True, conditions=[other, {"type": "Suspended", "status": "False"}])
    patch = suspended_patch(waits, job(suspend=False, startTime=AT))
    assert patch is not None
    conditions = patch["status"]["conditions"]
    assert conditions[0] == other
    assert conditions[1] == {
        "type": "Suspended",
        "status": "True",
        "reason": "MultiKueueAdapter",
        "message": "Set by MultiKueue adapter",
        "lastProbeTime": AT,
        "lastTransitionTime": AT,
    }
    assert suspended_patch(job(suspend=True, **patch["status"]), job(suspend=False)) is None
