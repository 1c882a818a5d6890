"""A managed job, kept while the objects that it depends on change."""

from __future__ import annotations

from typing import Any

import msgspec

from tidegate.contracts.observations import JobObserved
from tidegate.jobs.kind import JobKind
from tidegate.kinds.meta import ObjectMeta


class Asking(msgspec.Struct, frozen=True, kw_only=True):
    """A job that asks to be managed, as observed alone."""

    kind: JobKind[Any]
    meta: ObjectMeta
    alone: JobObserved
    asks: bool = True  # False: only its owner may be managed


def job_is_one(job: Asking) -> bool:
    """Return whether a job is an object of its own, which a list contains."""
    return job.kind.members is None


def called(job: Asking) -> str:
    """Return the key under which a Workload refers to a job; see ``JobIndex.stands_for``."""
    return job.meta.uid if job_is_one(job) else job.alone.workload


def is_kept(job: Asking) -> bool:
    """Return whether a job is a pod group without running pods: it may wait for further pods.

    A namespace that is being deleted is deleted only once it has no pods, and what keeps these
    must not be what goes behind them.
    """
    return job.kind.is_group and job.alone.state.suspended and not job.alone.state.active
