"""The minimum run time: who was admitted a moment ago is nobody's victim.

A ClusterQueue's annotation ``tidegate.dev/min-runtime`` says how long its workloads run before they
may be preempted; an eviction for any other reason is not kept from them. Whether a guarantee holds
is folded, as a deadline that has not passed, so that it ends at one event and not in between.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from tidegate.contracts.decisions import FlavorTried
from tidegate.core import deadlines
from tidegate.core.draft import Draft, Workload
from tidegate.core.fitting import IN_USE
from tidegate.core.forest import forest, touch
from tidegate.core.heads import wake
from tidegate.core.rooms import Room
from tidegate.model.quantity import render

FAMILY = "guarantee"
_SECOND_US = 1_000_000


def guarantee(draft: Draft, workload: Workload) -> None:
    """Set or clear until when a workload may not be preempted; folds call it.

    Its time is over with the event that says so, and with no other fact that moves the clock:
    nobody would be tried for that but by whoever begins to lead.
    """
    defined = draft.objects.cluster_queues.get(workload.cluster_queue)
    least_us = 0 if defined is None else defined.spec.min_runtime_us
    if not least_us and not workload.guaranteed:
        return
    workload.guaranteed = True
    key = f"{FAMILY}/{workload.key}"
    until_us = workload.admitted_us + least_us
    if workload.phase == "admitted" and until_us > draft.now_us:
        deadlines.set(draft, key, until_us)
    elif workload.phase == "admitted" and _ends_by_event(draft, key, until_us):
        return
    elif key in draft.deadlines.at or key in draft.deadlines.due:
        deadlines.clear(draft, key)


def _ends_by_event(draft: Draft, key: str, until_us: int) -> bool:
    return draft.deadlines.at.get(key) == until_us


def end_due(draft: Draft) -> None:
    """End the guarantees whose time has come; the fold of TimePassed calls this."""
    for key in deadlines.due(draft, FAMILY):
        deadlines.clear(draft, f"{FAMILY}/{key}")
        workload = draft.workloads.get(key)
        room = None if workload is None else forest(draft).rooms.get(workload.cluster_queue)
        if room is not None:
            touch(draft, room.tree)
            if draft.policy.compatibility == "kueue":
                wake(draft, room.tree)


def is_guaranteed(draft: Draft, workload: Workload) -> bool:
    """Tell whether a workload may not be preempted yet."""
    return f"{FAMILY}/{workload.key}" in draft.deadlines.at


def trace(
    draft: Draft, room: Room, workload: Workload, tried: tuple[FlavorTried, ...]
) -> tuple[tuple[FlavorTried, ...], str]:
    """Return what was tried with what is guaranteed to others of it, and that as a sentence."""
    found, said = list[FlavorTried](), dict[str, None]()
    for one in tried:
        held = [] if one.reason != IN_USE else list(_guaranteed(draft, room, workload, one))
        units = sum(amount for amount, _ in held)
        found.append(replace(one, guaranteed=units) if units else one)
        if units:
            left_s = -(-(min(until_us for _, until_us in held) - draft.now_us) // _SECOND_US)
            said[
                f"Of {one.resource} in flavor {one.flavor}, {render(one.resource, units)} runs "
                f"within its guaranteed time, the first for {left_s} s more."
            ] = None
    return tuple(found), " ".join(said)


def _guaranteed(
    draft: Draft, room: Room, workload: Workload, tried: FlavorTried
) -> Iterable[tuple[int, int]]:
    """Yield amounts of lower priority that are guaranteed, and until when each is."""
    for other in room.tree.rooms:
        for one in other.holding.values() if other.spec.min_runtime_us else ():
            until_us = draft.deadlines.at.get(f"{FAMILY}/{one.key}")
            if until_us is None or (other is room and one.priority >= workload.priority):
                continue
            for fr, units in one.charges:
                if (fr.flavor, fr.resource) == (tried.flavor, tried.resource):
                    yield units, until_us
