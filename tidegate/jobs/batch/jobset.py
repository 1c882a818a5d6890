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
from tidegate.jobs.job_status import JobStatus, Layout, Place
from tidegate.jobs.kind import Object
from tidegate.jobs.suspended_kind import suspended_kind
from tidegate.jobs.templates.paths import listed_at, number_at, outcome, text_at
from tidegate.kinds.kueue_api.workloads.topologies import PodIndex
from tidegate.kinds.policies.frameworks import framework

_JOBS = ("spec", "replicatedJobs")
_STATUSES = ("status", "replicatedJobsStatus")
_OUTCOMES = {"Completed": "Succeeded", "Failed": "Failed"}


def places(obj: Object) -> tuple[Place, ...]:
    """Return the podsets, one a replicatedJob, in their order."""
    return tuple(
        Place(
            name=_named(replicated),
            count=number_at(replicated, ("replicas",), 1) * _pods_of_one(replicated),
            template=(*_JOBS, at, "template", "spec", "template"),
            index=PodIndex(
                label="batch.kubernetes.io/job-completion-index",
                group_label="jobset.sigs.k8s.io/job-index",
                groups=number_at(replicated, ("replicas",), 1),
            ),
        )
        for at, replicated in enumerate(listed_at(obj, _JOBS))
    )


def status_of(obj: Object) -> JobStatus:
    """Return how a JobSet stands; its status counts Jobs, not pods."""
    finished, message = ended(obj)
    jobs = {
        _named(replicated): number_at(replicated, ("replicas",), 1)
        for replicated in listed_at(obj, _JOBS)
    }
    pods = {_named(replicated): _pods_of_one(replicated) for replicated in listed_at(obj, _JOBS)}
    status = counted(listed_at(obj, _STATUSES), jobs, pods)
    return replace(status, finished=finished, message=message)


def counted(statuses: list[Object], jobs: Mapping[str, int], pods: Mapping[str, int]) -> JobStatus:
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


def ended(obj: Object) -> tuple[str, str]:
    """Return how a job ended that has Completed and Failed; Completed counts first."""
    outcomes = (outcome(obj, {kind: description}) for kind, description in _OUTCOMES.items())
    return next((pair for pair in outcomes if pair[0]), ("", ""))


def _pods_of_one(replicated: Object) -> int:
    """Return the pods that one of its Jobs runs at once."""
    job = ("template", "spec")
    parallelism = number_at(replicated, (*job, "parallelism"), 1)
    return min(parallelism, number_at(replicated, (*job, "completions"), parallelism))


def _named(replicated: Object) -> str:
    name = text_at(replicated, ("name",))
    if not name:
        raise UndecodableError("spec.replicatedJobs: each has a name.")
    return name


KIND = suspended_kind(
    framework("jobset.x-k8s.io/jobset"), Layout(places=places, status_of=status_of)
)
