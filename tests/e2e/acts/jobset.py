"""JobSets, which become Jobs."""

from __future__ import annotations

from typing import Any

from tests.e2e.act import Act, condition, has_condition
from tests.e2e.operators import count, put_in
from tests.parts.foreign import JOBSETS, foreign_crd, jobset

Object = dict[str, Any]
INDEX = "jobset.sigs.k8s.io/job-index"


def jobset_children(parent: Object) -> list[tuple[str, Object]]:
    """Return the Jobs of a JobSet that may run, numbered, and their pods within each."""
    if parent["spec"].get("suspend"):
        return []
    name, replicated = parent["metadata"]["name"], parent["spec"]["replicatedJobs"]
    return [
        (f"{name}-{job['name']}-{index}", _numbered(job["template"], index))
        for job in replicated
        for index in range(job.get("replicas", 1))
    ]


def _numbered(job: Object, index: int) -> Object:
    pods = {"parallelism": 1, "completions": 1, "completionMode": "Indexed"}
    template = put_in(job["spec"]["template"], {"metadata": {"labels": {INDEX: str(index)}}})
    return {**job, "spec": {**pods, **job["spec"], "template": template}}


def jobset_status(parent: Object, jobs: list[Object]) -> Object:
    """Return the status of a JobSet, as its Jobs stand."""
    statuses = [
        {
            "name": job["name"],
            "active": int(count(_of(jobs, job["name"]), "active") > 0),
            "ready": int(count(_of(jobs, job["name"]), "ready") > 0),
            "succeeded": sum(has_condition(job, "Complete") for job in _of(jobs, job["name"])),
            "failed": 0,
            "suspended": 0,
        }
        for job in parent["spec"]["replicatedJobs"]
    ]
    fields: Object = {**parent.get("status", {}), "replicatedJobsStatus": statuses}
    if all(status["succeeded"] for status in statuses):  # these have one replica each
        fields["conditions"] = [condition("Completed")]
    return fields


def _of(jobs: list[Object], role: str) -> list[Object]:
    return [job for job in jobs if f"-{role}-" in job["metadata"]["name"]]


def jobset_is_active(obj: Object) -> bool:
    """Tell whether every replicatedJob has active Jobs."""
    statuses = obj.get("status", {}).get("replicatedJobsStatus", [])
    return bool(statuses) and all(status["active"] for status in statuses)


def jobset_templates(obj: Object) -> list[Object]:
    """Return the pod templates of a JobSet."""
    return [job["template"]["spec"]["template"] for job in obj["spec"]["replicatedJobs"]]


ACTS = (
    Act(
        namespace="life-jobset",
        framework="jobset.x-k8s.io/jobset",
        path=JOBSETS,
        make=lambda name, queue, seconds: jobset(name, queue, seconds=seconds),
        templates=jobset_templates,
        finished=lambda obj: has_condition(obj, "Completed"),
        active=jobset_is_active,
        crd=foreign_crd("jobset"),
        children=jobset_children,
        status=jobset_status,
    ),
)
