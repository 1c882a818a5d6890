"""Jobs of Kubernetes, whose controller is there."""

from __future__ import annotations

from typing import Any

from tests.e2e.act import Act, has_condition
from tests.parts.foreign import pods_template

Object = dict[str, Any]
JOBS = "/apis/batch/v1/namespaces/{}/jobs"


def batch_job(name: str, queue: str, seconds: float) -> Object:
    """Return a Job of two pods, not suspended."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": {"kueue.x-k8s.io/queue-name": queue}},
        "spec": {"parallelism": 2, "completions": 2, "template": pods_template("1", seconds)},
    }


def parallel(obj: Object) -> int:
    """Return how many pods a Job runs at once."""
    return int(obj["spec"]["parallelism"])


def partial_job(name: str, queue: str, seconds: float) -> Object:
    """Return a Job of four pods at once that can do with two."""
    obj = batch_job(name, queue, seconds)
    obj["metadata"]["annotations"] = {"kueue.x-k8s.io/job-min-parallelism": "2"}
    obj["spec"] |= {"parallelism": 4, "completions": 4}
    return obj


ACTS = (
    Act(
        namespace="life-job",
        framework="batch/job",
        path=JOBS,
        make=batch_job,
        templates=lambda obj: [obj["spec"]["template"]],
        finished=lambda obj: has_condition(obj, "Complete"),
        active=lambda obj: obj.get("status", {}).get("active", 0) == 2,
    ),
    Act(
        namespace="life-partial",
        framework="batch/job",
        path=JOBS,
        make=partial_job,
        templates=lambda obj: [obj["spec"]["template"]],
        finished=lambda obj: has_condition(obj, "Complete"),
        active=lambda obj: (obj.get("status", {}).get("active"), parallel(obj)) == (2, 2),
    ),
)
