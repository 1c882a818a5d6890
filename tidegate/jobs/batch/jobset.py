"""JobSet: a podset for each replicatedJob, suspended by ``spec.suspend``.

Its controller makes the Jobs and takes what was put into the templates over into them.

Podsets: one a replicatedJob, under its name: replicas times min(parallelism, completions) pods
Topology: by ``jobset.sigs.k8s.io/job-index`` and ``batch.kubernetes.io/job-completion-index``

Source: behaviour.md 16, JobSet.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from tidegate.errors import UndecodableError
from tidegate.jobs.job_status import JobStatus, Layout, PodSetLocation
from tidegate.jobs.kind import Object
from tidegate.jobs.suspended_kind import suspended_kind
from tidegate.jobs.templates.paths import list_at, number_at, outcome, text_at
from tidegate.kinds.kueue_api.workloads.topologies import PodIndex, check_groups
from tidegate.kinds.policies.frameworks import framework

_JOBS = ("spec", "replicatedJobs")
_STATUSES = ("status", "replicatedJobsStatus")
_OUTCOMES = {"Completed": "Succeeded", "Failed": "Failed"}


def podset_locations(obj: Object) -> tuple[PodSetLocation, ...]:
    """Return the podsets, one a replicatedJob, in their order."""
    return tuple(
        PodSetLocation(
            name=_replicated_job_name(replicated),
            count=number_at(replicated, ("replicas",), 1) * _pods_per_job(replicated),
            template=(*_JOBS, at, "template", "spec", "template"),
            index=PodIndex(
                label="batch.kubernetes.io/job-completion-index",
                group_label="jobset.sigs.k8s.io/job-index",
                groups=number_at(replicated, ("replicas",), 1),
            ),
        )
        for at, replicated in enumerate(list_at(obj, _JOBS))
    )


def status_of(obj: Object) -> JobStatus:
    """Return how a JobSet stands; its status counts Jobs, not pods."""
    finished, message = terminal_condition(obj, _OUTCOMES)
    jobs = {
        _replicated_job_name(replicated): number_at(replicated, ("replicas",), 1)
        for replicated in list_at(obj, _JOBS)
    }
    pods = {
        _replicated_job_name(replicated): _pods_per_job(replicated)
        for replicated in list_at(obj, _JOBS)
    }
    status = status_of_jobs(list_at(obj, _STATUSES), jobs, pods)
    return replace(status, finished=finished, message=message)


def status_of_jobs(
    statuses: list[Object], jobs: Mapping[str, int], pods: Mapping[str, int]
) -> JobStatus:
    """Return how Jobs stand, from the status of each podset's Jobs.

    ``jobs`` are the Jobs of each podset, ``pods`` the pods of one of them.
    """
    done = sum(
        number_at(status, (field,)) for status in statuses for field in ("ready", "succeeded")
    )
    succeeded = {
        text_at(status, ("name",)): number_at(status, ("succeeded",)) for status in statuses
    }
    return JobStatus(
        active=sum(number_at(status, ("active",)) for status in statuses),
        ready=0 < sum(jobs.values()) == done,
        reclaimable={
            name: count * pods[name]
            for name, count in succeeded.items()
            if pods.get(name) and 0 < count <= jobs[name]
        },
    )


def terminal_condition(obj: Object, outcomes: Mapping[str, str]) -> tuple[str, str]:
    """Return how a job ended; of several conditions the first of ``outcomes`` counts."""
    ends = (outcome(obj, {kind: phase}) for kind, phase in outcomes.items())
    return next((pair for pair in ends if pair[0]), ("", ""))


def _pods_per_job(replicated: Object) -> int:
    """Return the pods that one of its Jobs runs at once."""
    job = ("template", "spec")
    parallelism = number_at(replicated, (*job, "parallelism"), 1)
    return min(parallelism, number_at(replicated, (*job, "completions"), parallelism))


def _replicated_job_name(replicated: Object) -> str:
    name = text_at(replicated, ("name",))
    if not name:
        raise UndecodableError("spec.replicatedJobs: each has a name.")
    return name


KIND = suspended_kind(
    framework("jobset.x-k8s.io/jobset"),
    Layout(podset_locations=podset_locations, status_of=status_of, check=check_groups),
)
