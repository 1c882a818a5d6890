"""Until when the deleted pods of a node that does not answer count."""

from __future__ import annotations

from typing import Any

import pytest

from tidegate.jobs.batch.numbers import Job
from tidegate.jobs.grace_periods import grace_of
from tidegate.jobs.pods.pod_state import is_active
from tidegate.kinds.decode import read
from tidegate.kinds.pods import Pod
from tidegate.kinds.times import micros, rfc3339

Object = dict[str, Any]
DELETED = "2026-03-01T08:00:30Z"
"""When the pod should be gone: it was deleted 30 seconds before."""


def pod(*, node: str = "n1", phase: str = "Running", **meta: object) -> Pod:
    spec = {"nodeName": node, "containers": [{"name": "c"}]} if node else {}
    return read({"metadata": meta, "spec": spec, "status": {"phase": phase}}, Pod)


def job(
    *, suspend: bool = True, deleted: bool = False, grace_s: int | None = None, **status: object
) -> Job:
    spec: Object = {"containers": [{"name": "c"}]}
    if grace_s is not None:
        spec["terminationGracePeriodSeconds"] = grace_s
    body: Object = {"suspend": suspend, "template": {"spec": spec}}
    meta = {"deletionTimestamp": DELETED} if deleted else {}
    return read({"metadata": meta, "spec": body, "status": status}, Job)


def suspended(status: str = "True") -> list[Object]:
    return [{"type": "Suspended", "status": status, "lastTransitionTime": DELETED}]


def test_a_deleted_pod_counts_until_its_grace_period_is_over_a_second_time() -> None:
    deleted = pod(deletionTimestamp=DELETED, deletionGracePeriodSeconds=30)
    grace = grace_of(deleted)
    assert grace is not None
    assert rfc3339(grace.until_us) == "2026-03-01T08:01:00Z"
    assert isinstance(grace.expired, Pod)
    assert (is_active(deleted), is_active(grace.expired)) == (True, False)
    assert grace_of(grace.expired) is None


@pytest.mark.parametrize(
    "other",
    [
        pod(),
        pod(deletionTimestamp=DELETED),
        pod(deletionTimestamp=DELETED, deletionGracePeriodSeconds=0),
        pod(deletionTimestamp=DELETED, deletionGracePeriodSeconds=30, node=""),
        pod(deletionTimestamp=DELETED, deletionGracePeriodSeconds=30, phase="Failed"),
        job(conditions=suspended()),
        job(conditions=suspended(), terminating=1, active=1),
        job(conditions=suspended(), terminating=1, suspend=False),
        job(conditions=suspended("False"), terminating=1),
        job(terminating=1),
        "no job",
    ],
)
def test_what_runs_or_is_gone_has_no_grace_period(other: object) -> None:
    assert grace_of(other) is None


def test_a_deleted_jobs_pods_count_for_twice_their_grace_period() -> None:
    grace = grace_of(job(suspend=False, deleted=True, terminating=2))
    assert grace is not None
    assert grace.until_us == micros(DELETED) + 60 * 1_000_000


@pytest.mark.parametrize(("named", "seconds"), [(None, 60), (0, 0), (300, 600)])
def test_a_suspended_jobs_pods_count_for_twice_their_grace_period(
    named: int | None, seconds: int
) -> None:
    grace = grace_of(job(conditions=suspended(), terminating=2, grace_s=named))
    assert grace is not None
    assert grace.until_us == micros(DELETED) + seconds * 1_000_000
    assert isinstance(grace.expired, Job)
    assert grace.expired.status.terminating == 0
    assert grace_of(grace.expired) is None
