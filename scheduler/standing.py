"""How workloads stand, summed by queue in one walk over the draft: what the gauges tell.

A walk costs a few microseconds a workload and decides nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from tidegate.core.charging import count, per_pod
from tidegate.core.draft import Draft, Workload
from tidegate.core.forest import HOLDING
from tidegate.core.rooms import Room
from tidegate.model.ids import FlavorResource

Queue = tuple[str, ...]
"""A ClusterQueue as (name,), a LocalQueue as (name, namespace)."""


class Sums(msgspec.Struct, kw_only=True):
    """What is summed for each ClusterQueue, or for each LocalQueue."""

    pending: Counter[tuple[Queue, str]] = msgspec.field(default_factory=Counter)  # and status
    finished: Counter[Queue] = msgspec.field(default_factory=Counter)
    reserving: Counter[Queue] = msgspec.field(default_factory=Counter)
    admitted: Counter[Queue] = msgspec.field(default_factory=Counter)
    unadmitted: Counter[tuple[Queue, str, str, str]] = msgspec.field(default_factory=Counter)
    reserved: Counter[tuple[Queue, FlavorResource]] = msgspec.field(default_factory=Counter)
    used: Counter[tuple[Queue, FlavorResource]] = msgspec.field(default_factory=Counter)
    asked: Counter[tuple[Queue, str]] = msgspec.field(default_factory=Counter)  # and resource


class Standing(msgspec.Struct, kw_only=True):
    """The sums, and what is not right."""

    cluster_queues: Sums = msgspec.field(default_factory=Sums)
    local_queues: Sums = msgspec.field(default_factory=Sums)
    drifting: int = 0  # orders that had to be given again and are not yet seen to be done


def standing(draft: Draft) -> Standing:
    """Return how the workloads of a draft stand now."""
    found = Standing()
    for name in draft.forest.rooms:
        _begin(found.cluster_queues, (name,))
    for local in draft.objects.local_queues.values():
        _begin(found.local_queues, (local.name, local.namespace))
    for workload in draft.workloads.values():
        namespace = workload.key.partition("/")[0]
        cluster_queue = (workload.cluster_queue,)
        if workload.cluster_queue in draft.forest.rooms:
            _count(draft, found.cluster_queues, cluster_queue, workload, "")
        queue = draft.objects.local_queues.get(f"{namespace}/{workload.queue}")
        if queue is not None:
            above = queue.spec.cluster_queue
            _count(draft, found.local_queues, (workload.queue, namespace), workload, above)
        if workload.repeated and workload.phase != "finished":
            found.drifting += 1
    return found


def _begin(sums: Sums, queue: Queue) -> None:
    """Have a queue in which nothing happens told as 0."""
    for status in ("active", "inadmissible"):
        sums.pending[queue, status] = 0
    for counts in (sums.finished, sums.reserving, sums.admitted):
        counts[queue] = 0


def shapes(room: Room) -> dict[str, int]:
    """Return how many kinds of workloads wait in a ClusterQueue, by status."""
    parked = sum(1 for shape in room.shapes.values() if shape.parked)
    return {"active": len(room.shapes) - parked, "inadmissible": parked}


def _count(draft: Draft, sums: Sums, queue: Queue, workload: Workload, above: str) -> None:
    match workload.phase:
        case "pending":
            in_the_running = workload.shape is not None and not workload.shape.parked
            sums.pending[queue, "active" if in_the_running else "inadmissible"] += 1
            why = workload.held.reason if workload.held is not None else "PendingEvaluation"
            sums.unadmitted[queue, "NoReservation", why, above] += 1
            _ask(sums, queue, workload, per_pod(draft, workload))
        case "finished":
            sums.finished[queue] += 1
        case phase if phase in HOLDING:
            _hold(sums, queue, workload, above)
        case _:
            pass


def _hold(sums: Sums, queue: Queue, workload: Workload, above: str) -> None:
    is_admitted = workload.phase == "admitted" or workload.admitted_us > 0
    sums.reserving[queue] += 1
    if is_admitted:
        sums.admitted[queue] += 1
    else:
        sums.unadmitted[queue, "UnsatisfiedChecks", "", above] += 1
    for fr, units in workload.charges:
        sums.reserved[queue, fr] += units
        if is_admitted:
            sums.used[queue, fr] += units


def _ask(sums: Sums, queue: Queue, workload: Workload, requests: Sequence[dict[str, int]]) -> None:
    for podset, each in zip(workload.podsets, requests, strict=True):
        for resource, units in each.items():
            sums.asked[queue, resource] += units * count(workload, podset)
