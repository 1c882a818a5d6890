"""One act a job kind: how an object of it is made, and what is to be seen of its life."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.e2e.operators import Operator, count
from tests.parts.foreign import (
    JOBSETS,
    MINICLUSTERS,
    VOYAGES,
    declarations,
    foreign_crd,
    jobset,
    minicluster,
    pods_template,
    voyage,
)
from tidegate.model.declaration import Declaration

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
    declared: Declaration | None = None
    tolerates: bool = True  # its templates have a place for tolerations

    @property
    def frameworks(self) -> tuple[str, ...]:
        """Return what the configuration enables by Kueue's name; batch Jobs are children here."""
        return tuple(dict.fromkeys(filter(None, ("batch/job", self.framework))))

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


def parallel(found: Object) -> int:
    """Return how many pods a Job runs at once."""
    return int(found["spec"]["parallelism"])


def partial_job(name: str, queue: str, seconds: float) -> Object:
    """Return a Job of four pods at once that can do with two."""
    found = batch_job(name, queue, seconds)
    found["metadata"]["annotations"] = {"kueue.x-k8s.io/job-min-parallelism": "2"}
    found["spec"] |= {"parallelism": 4, "completions": 4}
    return found


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


def voyage_children(parent: Object) -> list[tuple[str, Object]]:
    """Return a Job for the captain, and one for each crew, of a Voyage that is not anchored."""
    spec = parent["spec"]
    if spec.get("anchored"):
        return []
    name, crew = parent["metadata"]["name"], spec["crews"][0]
    hands = {"parallelism": crew["hands"], "completions": crew["hands"]}
    return [
        (f"{name}-captain", {"spec": {"template": spec["captain"]}}),
        (f"{name}-crew", {"spec": {**hands, "template": crew["sailor"]}}),
    ]


def voyage_status(parent: Object, jobs: list[Object]) -> Object:
    """Return how a Voyage goes: in numbers and words of its own."""
    del parent
    aboard = count(jobs, "active")
    home = len(jobs) == 2 and all(has_condition(job, "Complete") for job in jobs)
    told = {"aboard": aboard, "sailing": count(jobs, "ready") == 2}
    return told | ({"phase": "Home", "note": "all safe"} if home else {})


def minicluster_children(parent: Object) -> list[tuple[str, Object]]:
    """Return the indexed Job of a MiniCluster that is not suspended."""
    spec = parent["spec"]
    if spec.get("suspend"):
        return []
    pod = spec.get("pod", {})
    meta = {field: pod[field] for field in ("labels", "annotations") if field in pod}
    pods = {"containers": spec["containers"], "nodeSelector": pod.get("nodeSelector", {})}
    template = {"metadata": meta, "spec": {"restartPolicy": "Never", **pods}}
    size = {"parallelism": spec["size"], "completions": spec["size"]}
    made = {"spec": {**size, "completionMode": "Indexed", "template": template}}
    return [(parent["metadata"]["name"], made)]


def minicluster_status(parent: Object, jobs: list[Object]) -> Object:
    """Return the conditions of a MiniCluster."""
    done = any(has_condition(job, "Complete") for job in jobs)
    told = [condition("JobRunning")] if count(jobs, "active") else []
    told += [condition("JobFinished")] if done else []
    return {**parent.get("status", {}), "conditions": told}


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
        namespace="life-partial",
        framework="batch/job",
        path=JOBS,
        make=partial_job,
        templates=lambda found: [found["spec"]["template"]],
        finished=lambda found: has_condition(found, "Complete"),
        active=lambda found: (found.get("status", {}).get("active"), parallel(found)) == (2, 2),
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
    Act(
        namespace="life-voyage",
        framework="",
        declared=declarations()["voyage"],
        path=VOYAGES,
        make=lambda name, queue, seconds: voyage(name, queue, seconds=seconds),
        templates=lambda found: [found["spec"]["captain"], found["spec"]["crews"][0]["sailor"]],
        finished=lambda found: found.get("status", {}).get("phase") == "Home",
        active=lambda found: found.get("status", {}).get("aboard") == 2,
        suspend="anchored",
        crd=foreign_crd("voyage"),
        operator=Operator(VOYAGES.format("life-voyage"), voyage_children, voyage_status),
    ),
    Act(
        namespace="life-minicluster",
        framework="",
        declared=declarations()["minicluster"],
        path=MINICLUSTERS,
        make=lambda name, queue, seconds: minicluster(name, queue, seconds=seconds),
        templates=lambda found: [{"metadata": found["spec"]["pod"], "spec": found["spec"]["pod"]}],
        finished=lambda found: has_condition(found, "JobFinished"),
        active=lambda found: has_condition(found, "JobRunning"),
        crd=foreign_crd("minicluster"),
        operator=Operator(
            MINICLUSTERS.format("life-minicluster"), minicluster_children, minicluster_status
        ),
        tolerates=False,
    ),
)
