"""Computes a workload's requests and charges, in base units, and those of a slice it replaces.

Source: behaviour.md 1, 13.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from hashlib import blake2b, sha256

import msgspec

from tidegate.core.members.placement import candidate_clusters
from tidegate.core.quota.requests import pod_requests, validate_podset
from tidegate.core.state.cluster_queues import Pods
from tidegate.core.state.state import State, Workload, make_room
from tidegate.core.state.workload import Slot
from tidegate.model.clusters import cluster_of, qualified
from tidegate.model.ids import FlavorResource
from tidegate.model.podset import PodSet, PodSetAssignment
from tidegate.model.quantity import UNLIMITED

PODS = "pods"
"""The resource that counts pods: never requested, charged where a ClusterQueue has quota of it."""

_SHAPE_BYTES = 15
"""A bytes object of this length takes 48 bytes of memory; there is one for each shape."""
_encode = msgspec.msgpack.Encoder().encode


def requests_per_pod(state: State, workload: Workload) -> tuple[dict[str, int], ...]:
    """Return what one pod of each podset is charged; computed once for equal podsets."""
    requests = workload.requests
    if requests is None:
        pods = _cached_pods(state, workload)
        workload.podsets, requests, workload.invalid = pods  # shared by all equal workloads
        workload.requests = requests
    return requests


def pod_count(workload: Workload, podset: PodSet) -> int:
    """Return how many of a podset's pods still count: those that are not reclaimable."""
    if not workload.reclaimable:
        return podset.count
    return podset.count - min(workload.reclaimable.get(podset.name, 0), podset.count)


def charges_of(
    workload: Workload, assignment: tuple[PodSetAssignment, ...]
) -> tuple[tuple[FlavorResource, int], ...]:
    """Return the charges of an assignment without reclaimable pods; amounts may be zero.

    Source: behaviour.md 1, "Reserved WL".
    """
    if len(assignment) == 1 and not workload.reclaimable and not workload.elastic:
        assigned = assignment[0]
        usage = assigned.usage
        return tuple(
            (flavor_resource(flavor, resource), usage.get(resource, 0))
            for resource, flavor in assigned.flavors.items()
        )
    total: dict[FlavorResource, int] = {}
    counts = {podset.name: pod_count(workload, podset) for podset in workload.podsets}
    for assigned in assignment:
        remaining = counts.get(assigned.name, assigned.count)
        for resource, flavor in assigned.flavors.items():
            units = assigned.usage.get(resource, 0)
            if remaining < assigned.count:
                units = units // assigned.count * remaining
            fr = flavor_resource(flavor, resource)
            total[fr] = total.get(fr, 0) + units
    return tuple(total.items())


def charged_units(workload: Workload, assignment: PodSetAssignment, resource: str) -> int:
    """Return the units of a resource charged for one podset, without pods removed by scaling."""
    units = assignment.usage.get(resource, 0)
    if not workload.elastic:
        return units
    remaining = sum(podset.count for podset in workload.podsets if podset.name == assignment.name)
    return units // assignment.count * remaining if remaining < assignment.count else units


def total_requests(per_pod: Mapping[str, int], pods: int) -> dict[str, int]:
    """Return the requests of ``pods`` pods; amounts are capped at ``UNLIMITED``."""
    return {name: min(UNLIMITED, units * pods) for name, units in per_pod.items()}


@lru_cache(maxsize=65_536)
def flavor_resource(flavor: str, resource: str) -> FlavorResource:
    """Return the one object for a pair, so that comparing it is cheap."""
    return FlavorResource(flavor, resource)


def shape_key(state: State, workload: Workload) -> bytes:
    """Return 15 bytes of a digest of all that scheduling depends on, but the order in the queue.

    Source: behaviour.md 2.4, scheduling hash. Tidegate adds the namespace, and whether the workload
    was displaced, since it may then not preempt everywhere.
    """
    alike = state.requeue.by_event
    encoded = _encode(
        (
            workload.priority,
            workload.podsets,
            [pod_count(workload, podset) for podset in workload.podsets],
            requests_per_pod(state, workload),
            workload.allowed_flavors,
            workload.preemption_gates,
            workload.replaces,
            workload.never_preempts,
            qualified(
                "" if alike else workload.key.partition("/")[0],
                cluster_of(workload.key) if not workload.body else _placement_key(state, workload),
            ),
            bool(workload.displaced_seq) and not alike,
        )
    )
    return sha256(encoded).digest()[:_SHAPE_BYTES]


def _placement_key(state: State, workload: Workload) -> str:
    """Return a placed job's own cluster and the clusters that may run it."""
    return f"{cluster_of(workload.key)}>{','.join(candidate_clusters(state, workload))}"


def requested_units(state: State, workload: Workload) -> dict[str, dict[str, int]]:
    """Return the requests of all pods of each podset, by its name: resource to base units."""
    pods = zip(workload.podsets, requests_per_pod(state, workload), strict=True)
    return {podset.name: total_requests(each, pod_count(workload, podset)) for podset, each in pods}


def requests_digest(state: State, workload: Workload) -> bytes:
    """Return 8 bytes of a digest of a workload's pod counts and requests, to compare reasons."""
    counts = [pod_count(workload, podset) for podset in workload.podsets]
    return blake2b(_encode((counts, requests_per_pod(state, workload))), digest_size=8).digest()


def invalid_reason(state: State, workload: Workload) -> str:
    """Return why a workload may not be admitted as it is, in one sentence; "" if it may."""
    requests_per_pod(state, workload)
    return workload.invalid


def _cached_pods(state: State, workload: Workload) -> Pods:
    namespace = workload.key.partition("/")[0]
    key = sha256(_encode((namespace, workload.podsets))).digest()
    cached = state.forest.pods.get(key)
    if cached is None:
        podsets, objects = workload.podsets, state.objects
        each = tuple(pod_requests(objects, namespace, podset, state.policy) for podset in podsets)
        generator = (validate_podset(objects, namespace, podset) for podset in podsets)
        cached = podsets, each, next((wrong for wrong in generator if wrong), "")
        make_room(state, state.forest.pods)
        state.forest.pods[key] = cached
    return cached


def replaced_units(
    state: State, workload: Workload, podsets: list[PodSet], resource: str, flavor: str
) -> int:
    """Return the units of a flavor charged for these podsets of the slice that is replaced."""
    if not workload.replaces:
        return 0
    had = (_replaced_charge(state, workload, podset.name, resource) for podset in podsets)
    return sum(units for name, units in had if name == flavor)


def changes_flavor(
    state: State, workload: Workload, podset: PodSet, slot: Slot, resources: list[str]
) -> bool:
    """Tell whether a flavor differs from that of the slice that a workload replaces."""
    had = (_replaced_charge(state, workload, podset.name, resource)[0] for resource in resources)
    return any(flavor not in ("", slot.flavor) for flavor in had)


def _replaced_charge(
    state: State, workload: Workload, podset: str, resource: str
) -> tuple[str, int]:
    """Return the replaced slice's flavor and amount of a resource; no flavor if it has none."""
    older = state.workloads.get(workload.replaces)
    for assignment in () if older is None else older.assignment:
        if older is not None and assignment.name == podset and resource in assignment.flavors:
            return assignment.flavors[resource], charged_units(older, assignment, resource)
    return "", 0
