"""One act a job kind: how an object of it is made, and what is to be seen of its life."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.e2e.operators import Operator, count
from tests.parts.foreign import JOBSETS, foreign_crd, jobset, pods_template

Object = dict[str, Any]
JOBS = "/apis/batch/v1/namespaces/{}/jobs"


@dataclass(frozen=True)
class Act:
    """What the life of a job needs to know of its kind."""

    namespace: str
    framework: str
    path: str
    make: Callable[[str, str, float], Object]  # name, queue, seconds; it asks for 2 CPUs
    templates: Callable[[Object], list[Object]]
    finished: Callable[[Object], bool]
    active: Callable[[Object], bool]
    suspend: str = "suspend"  # the field of its spec
    crd: Object | None = None
    operator: Operator | None = None
    declared: Object | None = None  # how the configuration declares it

    @property
    def collection(self) -> str:
        """Return the path of the objects in the test's namespace."""
        return self.path.format(self.namespace)

    def is_suspended(self, found: Object) -> bool:
        """Tell whether an object may not run."""
        return found["spec"].get(self.suspend) is True


def has_condition(found: Object, *kinds: str) -> bool:
    """Tell whether a condition of one of these types is true."""
    told = found.get("status", {}).get("conditions", ())
    return any(one["type"] in kinds and one["status"] == "True" for one in told)


def condition(kind: str) -> Object:
    """Return a condition that is true."""
    at = "2026-01-01T00:00:00Z"
    return {"type": kind, "status": "True", "reason": "R", "message": "m", "lastTransitionTime": at}


def batch_job(name: str, queue: str, seconds: float) -> Object:
    """Return a Job of two pods, not suspended."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": {"kueue.x-k8s.io/queue-name": queue}},
        "spec": {"parallelism": 2, "completions": 2, "template": pods_template("1", seconds)},
    }


def jobset_children(parent: Object) -> list[tuple[str, Object]]:
    """Return the Jobs of a JobSet that may run."""
    if parent["spec"].get("suspend"):
        return []
    name, replicated = parent["metadata"]["name"], parent["spec"]["replicatedJobs"]
    return [(f"{name}-{one['name']}-0", one["template"]) for one in replicated]


def jobset_status(parent: Object, jobs: list[Object]) -> Object:
    """Return the status of a JobSet, as its Jobs stand."""
    statuses = [
        {
            "name": one["name"],
            "active": int(count(_of(jobs, one["name"]), "active") > 0),
            "ready": int(count(_of(jobs, one["name"]), "ready") > 0),
            "succeeded": sum(has_condition(job, "Complete") for job in _of(jobs, one["name"])),
            "failed": 0,
            "suspended": 0,
        }
        for one in parent["spec"]["replicatedJobs"]
    ]
    told: Object = {**parent.get("status", {}), "replicatedJobsStatus": statuses}
    if all(one["succeeded"] for one in statuses):
        told["conditions"] = [condition("Completed")]
    return told


def _of(jobs: list[Object], role: str) -> list[Object]:
    return [job for job in jobs if job["metadata"]["name"].endswith(f"-{role}-0")]


def jobset_is_active(found: Object) -> bool:
    """Tell whether every replicatedJob has active Jobs."""
    statuses = found.get("status", {}).get("replicatedJobsStatus", [])
    return bool(statuses) and all(one["active"] for one in statuses)


def jobset_templates(found: Object) -> list[Object]:
    """Return the pod templates of a JobSet."""
    return [one["template"]["spec"]["template"] for one in found["spec"]["replicatedJobs"]]


ACTS = (
    Act(
        namespace="life-job",
        framework="batch/job",
        path=JOBS,
        make=batch_job,
        templates=lambda found: [found["spec"]["template"]],
        finished=lambda found: has_condition(found, "Complete"),
        active=lambda found: found.get("status", {}).get("active", 0) == 2,
    ),
    Act(
        namespace="life-jobset",
        framework="jobset.x-k8s.io/jobset",
        path=JOBSETS,
        make=lambda name, queue, seconds: jobset(name, queue, seconds=seconds),
        templates=jobset_templates,
        finished=lambda found: has_condition(found, "Completed"),
        active=jobset_is_active,
        crd=foreign_crd("jobset"),
        operator=Operator(JOBSETS.format("life-jobset"), jobset_children, jobset_status),
    ),
)
