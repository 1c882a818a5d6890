"""The one table of job kinds: a new kind is its file and its row here, or a declaration."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tidegate.errors import NotSupportedError
from tidegate.jobs import workload
from tidegate.jobs.batch import batch_job, jobset
from tidegate.jobs.kind import JobKind
from tidegate.jobs.pods import pod, pod_group
from tidegate.jobs.ray import ray_cluster, ray_job, ray_service
from tidegate.jobs.serving.table import SETS
from tidegate.jobs.suspending.declared import declared_kind
from tidegate.jobs.training import (
    jax_job,
    mpi_job,
    paddle_job,
    pytorch_job,
    tf_job,
    train_job,
    xgboost_job,
)
from tidegate.jobs.wrappers import app_wrapper, spark_application
from tidegate.model.declaration import Declaration

_BUILT_IN: tuple[JobKind[Any], ...] = (
    batch_job.KIND,
    jobset.KIND,
    mpi_job.KIND,
    pytorch_job.KIND,
    tf_job.KIND,
    xgboost_job.KIND,
    paddle_job.KIND,
    jax_job.KIND,
    train_job.KIND,
    ray_job.KIND,
    ray_cluster.KIND,
    ray_service.KIND,
    app_wrapper.KIND,
    spark_application.KIND,
    *(one.row for one in SETS.values()),
    pod.KIND,
    pod_group.KIND,
    workload.KIND,
)
JOB_KINDS: dict[str, JobKind[Any]] = {kind.name: kind for kind in _BUILT_IN}
_DECLARED = set[str]()
THROUGH_PODS = ("deployment",)
"""Kinds of which each pod is queued by itself: nothing but policies is about them."""


def is_supported(name: str) -> bool:
    """Tell whether jobs of a kind are queued, by Kueue's name for it."""
    return name in JOB_KINDS or name in THROUGH_PODS


def declare(told: Iterable[Declaration]) -> None:
    """Add the kinds that the configuration declares; a process does it once, before it begins.

    Raises:
        NotSupportedError: one is built in.
    """
    for one in told:
        builtin = (kind for name, kind in JOB_KINDS.items() if name not in _DECLARED)
        if any((kind.group, kind.kind) == (one.group, one.kind) for kind in builtin):
            raise NotSupportedError(f"The job kind {one.name} is built in: do not declare it.")
        _DECLARED.add(one.name)
        JOB_KINDS[one.name] = declared_kind(one)


def job_kind(name: str) -> JobKind[Any]:
    """Return the kind of this name.

    Raises:
        NotSupportedError: there is none.
    """
    if name not in JOB_KINDS:
        known = ", ".join(JOB_KINDS)
        raise NotSupportedError(f"There is no job kind {name!r}; known: {known}.")
    return JOB_KINDS[name]
