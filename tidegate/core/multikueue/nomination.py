"""Which clusters may have a copy of a workload: all at once, or a few more each round.

Workloads that are one object together, one for each of its groups, go to one cluster. One of them
looks for it: the first with quota, and it goes on until a cluster was chosen. The others follow it
there. While one of them is still being stopped the others wait, so that nothing is left of the
object before it is sent anew.

Source: multikueue.md 2.4, 2.7.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.contracts.decisions import (
    QuotaReleased,
    WorkloadDeactivated,
    WorkloadDecision,
    WorkloadEvicted,
)
from tidegate.contracts.facts import WorkloadFact, WorkloadFinished, WorkloadSubmitted
from tidegate.core.multikueue.check import is_connected, is_open
from tidegate.core.state.remotes import Dispatch
from tidegate.core.state.state import State, Workload
from tidegate.model.multikueue import ADAPTERS, ROUND_US, MultiKueuePolicy
from tidegate.model.texts import whole

_HELD = ("reserved", "admitted")


def askable(
    state: State,
    dispatch: Dispatch,
    configured: tuple[str, ...],
    clusters_beside: tuple[str, ...] | None,
) -> tuple[str, ...]:
    """Return the clusters that may be asked at all, of those that a check's configuration has.

    Those that are held are not; an external dispatcher leaves those that it wrote down, in its
    order; a workload that is one group of an object goes where ``clusters_beside`` says.
    """
    named = dispatch.proposed if is_external(state) else configured
    named = named if clusters_beside is None else clusters_beside
    return tuple(cluster for cluster in named if cluster in configured and is_open(state, cluster))


def is_external(state: State) -> bool:
    """Tell whether nominations are written by an external dispatcher."""
    policy = state.policy.multikueue
    return policy is not None and policy.dispatcher == "External"


def nominees(state: State, dispatch: Dispatch, allowed: tuple[str, ...]) -> tuple[str, ...]:
    """Return all clusters that may have a copy by now, of those that the check may use.

    A cluster is never asked anew while it still has to give an older copy back.
    """
    policy = state.policy.multikueue or MultiKueuePolicy()
    if policy.dispatcher == "AllAtOnce":
        nominated = {cluster for cluster in allowed if is_connected(state, cluster)} | {
            *dispatch.nominated
        }
        return tuple(sorted(nominated - {*dispatch.leaving}))
    if policy.dispatcher == "External":
        return tuple(cluster for cluster in allowed if cluster not in dispatch.leaving)
    candidates = [
        cluster
        for cluster in allowed
        if cluster not in dispatch.nominated and cluster not in dispatch.leaving
    ]
    runs = dispatch.nominated and state.now_us < dispatch.round_us + ROUND_US
    return (
        dispatch.nominated
        if runs or not candidates
        else (*dispatch.nominated, *candidates[: policy.step])
    )


def join(state: State, workload: Workload) -> None:
    """Note a workload as one of its object's."""
    part = _part(workload)
    if part is not None:
        uid, index = part
        state.parts.setdefault(uid, {})[index] = workload.key


def leave(state: State, workload: Workload) -> None:
    """Take a workload out that is no more; those beside it may have waited for it."""
    part = _part(workload)
    if part is not None:
        uid, index = part
        wake(state, workload)
        parts = state.parts.get(uid, {})
        if parts.get(index) == workload.key:
            del parts[index]
        if not parts:
            state.parts.pop(uid, None)


def follow(state: State, event: WorkloadDecision | WorkloadFact) -> None:
    """Join a workload that came, and look again at those beside one that left its cluster."""
    match event:
        case WorkloadSubmitted():
            join(state, state.workloads[event.workload])
        case WorkloadFinished() | WorkloadEvicted() | QuotaReleased() | WorkloadDeactivated():
            workload = state.workloads.get(event.workload)
            if workload is not None:
                wake(state, workload)
        case _:
            pass


def wake(state: State, workload: Workload) -> None:
    """Look again at the workloads beside one that look for a cluster: see ``directed``."""
    for _, other in _beside(state, workload):
        if other.phase in _HELD and not _chosen(other):
            state.forest.to_reconcile[other.key] = None


def send(state: State, workload: Workload) -> None:
    """Let the workloads beside one follow it to its cluster, unless another led them there."""
    cluster = _chosen(workload)
    beside = (other for _, other in _beside(state, workload))
    if not any(cluster == _chosen(other) and _stands(other) for other in beside):
        wake(state, workload)


def directed(state: State, workload: Workload) -> tuple[str, ...] | None:
    """Return the clusters that the workloads beside one leave to it; None: any."""
    part = _part(workload)
    if part is None:
        return None
    mine, waits, is_led = _rank(part[1], workload), False, False
    for index, other in _beside(state, workload):
        cluster = _chosen(other)
        if cluster and _stands(other):
            return (cluster,)
        waits = waits or bool(cluster)
        searches = other.phase == "reserved" and other.active
        is_led = is_led or (searches and _rank(index, other) < mine)
    return () if waits or is_led else None


def _rank(index: int, workload: Workload) -> tuple[bool, int]:
    """Order the workloads of an object: the lowest looks for a cluster for all of them."""
    return workload.dispatch is None or not workload.dispatch.nominated, index


def _chosen(workload: Workload) -> str:
    return "" if workload.dispatch is None else workload.dispatch.chosen


def _stands(workload: Workload) -> bool:
    """Tell whether a workload stays at its cluster."""
    dispatch = workload.dispatch
    return workload.phase in _HELD and dispatch is not None and not dispatch.stopping_us


def _beside(state: State, workload: Workload) -> Iterator[tuple[int, Workload]]:
    """Yield the other workloads of an object with the index of each, the first group first."""
    part = _part(workload)
    if part is None:
        return
    for index, key in sorted(state.parts.get(part[0], {}).items()):
        other = state.workloads.get(key)
        if other is not None and other is not workload:
            yield index, other


def _part(workload: Workload) -> tuple[str, int] | None:
    """Return its object's uid and which part of that a workload is; None: it is the whole."""
    adapter = ADAPTERS.get(workload.job.kind)
    if adapter is None or not adapter.together:
        return None
    uid, _, text = workload.job.uid.rpartition(".")
    index = whole(text)
    return (uid, index) if uid and index is not None else None
