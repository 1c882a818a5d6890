"""What is watched: one row a resource, from its path to the function that observes an object."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from ingest import definitions
from tidegate.contracts.observations import Observation
from tidegate.jobs.kind import JobKind
from tidegate.kinds import checks, flavors, queues, seen
from tidegate.kinds.names import GROUP, VERSIONS

_KUEUE = f"/apis/{GROUP}/{VERSIONS[0]}"


class Watched(msgspec.Struct, frozen=True, kw_only=True):
    """A resource that is listed and watched."""

    resource: str  # as rounds and subjects call it, e.g. "jobs.batch"
    path: str  # of the collection, over all namespaces
    kind: type[Any]  # what an object is decoded into
    observe: Callable[[Any], Observation]
    """Reduce an object, leaving session and round empty; raises errors of ``tidegate.errors``."""
    optional: bool = False  # its CRD may be missing, and is waited for without stopping the clock


def _kueue(plural: str, kind: type[Any], observe: Callable[[Any], Observation]) -> Watched:
    return Watched(
        resource=f"{plural}.{GROUP}", path=f"{_KUEUE}/{plural}", kind=kind, observe=observe
    )


DEFINITIONS: tuple[Watched, ...] = (
    _kueue("clusterqueues", queues.ClusterQueue, definitions.cluster_queue),
    _kueue("cohorts", queues.Cohort, definitions.cohort),
    _kueue("localqueues", queues.LocalQueue, definitions.local_queue),
    _kueue("resourceflavors", flavors.ResourceFlavor, definitions.flavor),
    _kueue(
        "workloadpriorityclasses",
        flavors.WorkloadPriorityClass,
        definitions.workload_priority_class,
    ),
    _kueue("admissionchecks", checks.AdmissionCheck, definitions.admission_check),
    Watched(
        resource="namespaces",
        path="/api/v1/namespaces",
        kind=seen.Namespace,
        observe=definitions.namespace,
    ),
    Watched(
        resource="limitranges",
        path="/api/v1/limitranges",
        kind=seen.LimitRange,
        observe=definitions.limit_range,
    ),
    Watched(
        resource="priorityclasses.scheduling.k8s.io",
        path="/apis/scheduling.k8s.io/v1/priorityclasses",
        kind=seen.PriorityClass,
        observe=definitions.priority_class,
    ),
    Watched(
        resource="runtimeclasses.node.k8s.io",
        path="/apis/node.k8s.io/v1/runtimeclasses",
        kind=seen.RuntimeClass,
        observe=definitions.runtime_class,
    ),
)
"""Everything a decision depends on that is not a job."""


def watched(kinds: Sequence[JobKind[Any]]) -> tuple[Watched, ...]:
    """Return what an ingest of these job kinds watches."""
    jobs = tuple(
        Watched(
            resource=kind.resource,
            path=kind.path(),
            kind=kind.seen,
            observe=kind.observe,
            optional=kind.optional,
        )
        for kind in kinds
    )
    return (*DEFINITIONS, *jobs)
