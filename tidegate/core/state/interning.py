"""One object in place of many equal ones, so that a million waiting workloads fit into memory.

A workload's names repeat those of its queue and namespace, and all of one shape ask for the same.
None of what is shared here is ever changed in place.
"""

from __future__ import annotations

from functools import lru_cache
from sys import intern

from tidegate.contracts.observations import JobState
from tidegate.core.state.state import CheckState, Workload
from tidegate.model.ids import ObjectRef

_NO_PODS: dict[str, int] = {}
_NO_CHECKS: dict[str, CheckState] = {}


def share_names(workload: Workload) -> None:
    """Let a workload share its names, and how its job stands, with others that say the same."""
    job = workload.job
    uid = workload.uid if job.uid == workload.uid else job.uid
    workload.job = ObjectRef(
        kind=intern(job.kind), namespace=intern(job.namespace), name=job.name, uid=uid
    )
    workload.resource, workload.queue = intern(workload.resource), intern(workload.queue)
    workload.priority_class = intern(workload.priority_class)
    workload.author, workload.state = intern(workload.author), _one(workload.state)
    workload.reclaimable = workload.reclaimable or _NO_PODS
    workload.checks = workload.checks or _NO_CHECKS


def share_request(workload: Workload, other: Workload) -> None:
    """Let a workload share what it asks for with another of its shape."""
    workload.podsets, workload.requests = other.podsets, other.requests


@lru_cache(maxsize=1_024)
def _one(state: JobState) -> JobState:
    return state
