"""Interns equal strings and objects, so that a million pending workloads fit into memory.

A workload's names repeat those of its queue and namespace, and all workloads of one shape have the
same requests. Interned objects are never changed in place.
"""

from __future__ import annotations

from functools import lru_cache
from sys import intern

from msgspec.structs import replace

from tidegate.contracts.fact_kinds.definitions import NodeDefined
from tidegate.contracts.observations import JobState
from tidegate.core.state.state import CheckState, Workload
from tidegate.model.ids import ObjectRef
from tidegate.model.topology import Taint, TopologyAssignment

Tried = tuple[tuple[str, str, str, str], ...]
_NO_PODS: dict[str, int] = {}
_NO_CHECKS: dict[str, CheckState] = {}
_NO_PLACES: dict[str, TopologyAssignment] = {}


def intern_workload(workload: Workload) -> None:
    """Intern a workload's names and its job's state."""
    job = workload.job
    uid = workload.uid if job.uid == workload.uid else job.uid
    workload.job = ObjectRef(
        kind=intern(job.kind),
        namespace=intern(job.namespace),
        name=job.name,
        uid=uid,
        cluster=intern(job.cluster),
    )
    workload.resource, workload.queue = intern(workload.resource), intern(workload.queue)
    workload.priority_class = intern(workload.priority_class)
    workload.author, workload.state = intern(workload.author), _intern_state(workload.state)
    workload.reclaimable = workload.reclaimable or _NO_PODS
    workload.checks = workload.checks or _NO_CHECKS
    workload.held_places = workload.held_places or _NO_PLACES


def intern_node(defined: NodeDefined) -> NodeDefined:
    """Return a node whose labels, taints and amounts are interned."""
    spec = defined.spec
    shared = replace(
        spec,
        labels={intern(name): intern(value) for name, value in spec.labels.items()},
        allocatable=intern_amounts(spec.allocatable),
        taints=_taints(spec.taints),
    )
    return replace(defined, spec=shared)


def intern_amounts(amounts: dict[str, int]) -> dict[str, int]:
    """Return the one object for equal amounts."""
    return _amounts(tuple(amounts.items()))


@lru_cache(maxsize=65_536)
def intern_tried(tried: Tried) -> Tried:
    """Return the one object for equal lists of tried flavors."""
    return tried


@lru_cache(maxsize=1_024)
def _amounts(items: tuple[tuple[str, int], ...]) -> dict[str, int]:
    return {intern(name): units for name, units in items}


@lru_cache(maxsize=1_024)
def _taints(taints: tuple[Taint, ...]) -> tuple[Taint, ...]:
    return taints


@lru_cache(maxsize=1_024)
def _intern_state(state: JobState) -> JobState:
    return state
