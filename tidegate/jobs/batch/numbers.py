"""A batch/v1 Job as it is read: its requests, its state, and the meaning of its numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, TypeAlias

import msgspec

from tidegate.errors import UndecodableError
from tidegate.jobs.job_metadata import positive_int32
from tidegate.kinds import names
from tidegate.kinds.kueue_api.workloads.topologies import PodIndex, is_true_annotation
from tidegate.kinds.meta import ObjectMeta
from tidegate.kinds.pods import PodCondition, PodSpec, PodTemplateSpec
from tidegate.model.texts import INT32_MAX, parse_whole

PODSET = "main"
INDEX = PodIndex(label="batch.kubernetes.io/job-completion-index")


Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=INT32_MAX)]
"""A number of pods: the API server takes no other, a manifest in a file may have any."""


class JobPodSpec(PodSpec, frozen=True, kw_only=True):
    """What a Job's pods ask for, and how long they may take to end."""

    termination_grace_period_seconds: int | None = None


class JobTemplate(PodTemplateSpec, frozen=True, kw_only=True):
    """The template of a Job's pods."""

    spec: JobPodSpec = JobPodSpec()


class JobSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The spec of a Job."""

    suspend: bool = False
    parallelism: Count = 1
    completions: Count | None = None
    completion_mode: str = "NonIndexed"
    managed_by: str = ""
    template: JobTemplate


class Uncounted(msgspec.Struct, frozen=True, kw_only=True):
    """Pods that ended and are not in the counts yet."""

    succeeded: tuple[str, ...] = ()


class JobStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The status of a Job."""

    start_time: str | None = None
    active: int = 0
    terminating: int | None = None
    ready: int = 0
    succeeded: int = 0
    completed_indexes: str = ""
    failed_indexes: str = ""
    uncounted_terminated_pods: Uncounted | None = None
    conditions: tuple[PodCondition, ...] = ()


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A Job, as far as it matters here."""

    metadata: ObjectMeta
    spec: JobSpec
    status: JobStatus = JobStatus()


def parallel_pods(spec: JobSpec) -> int:
    """Return the pods that run at once."""
    return spec.parallelism if spec.completions is None else min(spec.parallelism, spec.completions)


def min_parallelism(spec: JobSpec, annotations: Mapping[str, str]) -> int | None:
    """Return what partial admission may go down to; None where it does not apply."""
    least = positive_int32(annotations.get(names.MIN_PARALLELISM, ""))
    return least if 0 < least < parallel_pods(spec) else None


def check_min_parallelism(job: Job) -> None:
    """Check that a pending Job has a minimum below its parallelism; a running Job may be smaller.

    Raises:
        UndecodableError: the annotation is not such a number.
    """
    written = job.metadata.annotations.get(names.MIN_PARALLELISM)
    least = min_parallelism(job.spec, job.metadata.annotations)
    if _is_pending(job) and written is not None and least is None:
        raise UndecodableError(
            f"annotation {names.MIN_PARALLELISM}: {written[:80]!r} is not a positive number below "
            f"the {parallel_pods(job.spec)} pods of the Job."
        )


def check_completions(job: Job) -> None:
    """Check that a Job that waits has the completions that are to be as many as it runs at once.

    Raises:
        UndecodableError: its pods are not numbered, or their numbers differ; or as in
            ``has_synced_completions``.
    """
    spec = job.spec
    if not has_synced_completions(job.metadata.annotations) or not _is_pending(job):
        return
    completions = 1 if spec.completions is None else spec.completions
    if spec.completion_mode != "Indexed" or completions != spec.parallelism:
        raise UndecodableError(
            f"annotation {names.COMPLETIONS_EQUAL_PARALLELISM}: it is for Indexed Jobs with as "
            "many completions as parallelism."
        )


def _is_pending(job: Job) -> bool:
    return job.spec.suspend and names.INJECTED not in job.metadata.annotations


def has_synced_completions(annotations: Mapping[str, str]) -> bool:
    """Return whether partial admission lowers the completions with the parallelism.

    Raises:
        UndecodableError: the annotation is neither true nor false.
    """
    return is_true_annotation(annotations, names.COMPLETIONS_EQUAL_PARALLELISM)


def reclaimable_pods(job: Job) -> dict[str, int]:
    """Return the pods that will not run again.

    Source: behaviour.md 16, batch/v1 Job.
    """
    completions = job.spec.parallelism if job.spec.completions is None else job.spec.completions
    ended = _terminal_pods(job, completions)
    remaining = max(completions - ended, 0)
    if job.spec.parallelism <= 1 or not ended or remaining >= job.spec.parallelism:
        return {}
    return {PODSET: job.spec.parallelism - remaining}


def _terminal_pods(job: Job, completions: int) -> int:
    if job.spec.completion_mode != "Indexed":
        return job.status.succeeded
    spans = [
        *_index_ranges(job.status.completed_indexes),
        *_index_ranges(job.status.failed_indexes),
    ]
    covered, end = 0, -1  # a Job may have a billion indexes: count spans, not their members
    for first, last in sorted(spans):
        last = min(last, completions - 1)  # noqa: PLW2901 - indexes beyond a lowered completions
        covered += max(last - max(first, end + 1) + 1, 0)
        end = max(end, last)
    return covered


def _index_ranges(indexes: str) -> list[tuple[int, int]]:
    """Read a Job's index list: ``"1,3-5"`` is ``[(1, 1), (3, 5)]``.

    Of a list that is none nothing is read: then no pods are given back, and the Job is still seen.
    """
    spans: list[tuple[int, int]] = []
    for part in filter(None, indexes.split(",")):
        begin, _, end = part.partition("-")
        first, last = parse_whole(begin, INT32_MAX), parse_whole(end or begin, INT32_MAX)
        if first is None or last is None:
            return []
        spans.append((first, last))
    return spans


def terminal_condition(status: JobStatus) -> tuple[str, str]:
    """Return how the Job ended and its condition's message; empty while it has not."""
    for condition in status.conditions:
        if condition.status == "True" and condition.type in ("Complete", "Failed"):
            ended = "Succeeded" if condition.type == "Complete" else "Failed"
            return ended, condition.message
    return "", ""
