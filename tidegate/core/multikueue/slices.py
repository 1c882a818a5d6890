"""Elastic jobs in worker clusters: a slice goes to the cluster of the slice that it replaces.

The job stays in that cluster under the older slice's name until the newer one is admitted there, so
the older one's copy stays as long as the newer one holds quota here.

Source: multikueue.md 2.5, 2.11.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.contracts.decision_kinds.clusters import ClusterChosen
from tidegate.contracts.decisions import DecisionEvent
from tidegate.contracts.phases import HOLDING
from tidegate.core.queueing.admission_checks import multikueue_check
from tidegate.core.state.remotes import Dispatch
from tidegate.core.state.state import State, Workload, decision_fields
from tidegate.model.multikueue import Adapter


def may_dispatch(workload: Workload, adapter: Adapter) -> bool:
    """Tell whether a workload is not elastic, or its kind may be sent although elastic."""
    return not workload.elastic or adapter.elastic


def inherit_cluster(state: State, workload: Workload) -> list[DecisionEvent]:
    """Choose for a slice the cluster that ran the slice it replaced; its copy is created there."""
    own = workload.dispatch or Dispatch()
    cluster = next(
        (each.chosen for each in _replaced_dispatches(state, workload) if each.chosen), ""
    )
    if not cluster or own.chosen or own.nominated or cluster in own.leaving:
        return []
    chosen = ClusterChosen(
        **decision_fields(state, workload),
        job=workload.job,
        cluster=cluster,
        replaces=workload.replaces,
        makes_copy=True,
    )
    return [chosen]


def is_joining(workload: Workload, check_state: str) -> bool:
    """Tell whether a slice is not admitted yet in the cluster of the slice that it replaced."""
    dispatched = workload.dispatch
    return dispatched is not None and bool(dispatched.replaces) and check_state == "Pending"


def is_predecessor_evicted(state: State, workload: Workload, cluster: str) -> bool:
    """Tell whether a cluster evicted the older slice, for which the job still runs there."""
    newest = next((each for each in _replaced_dispatches(state, workload) if each.chosen), None)
    copy = None if newest is None else newest.copies.get(cluster)
    return copy is not None and bool(copy.evicted_us) and not copy.finished_us


def is_copy_kept(state: State, workload: Workload) -> bool:
    """Tell whether a replaced slice keeps its copy in its cluster.

    It does while the slice that stands for the job now runs there, or is to run there.
    """
    own = workload.dispatch
    if workload.phase != "finished" or own is None or not own.chosen:
        return False
    current = current_slice(state, workload)
    if current is workload or current.phase not in HOLDING:
        return False
    if not multikueue_check(state, current.cluster_queue):
        return False
    current_dispatch = current.dispatch or Dispatch()
    undecided = current.phase == "reserved" and not (
        current_dispatch.chosen or current_dispatch.nominated
    )
    return current_dispatch.chosen == own.chosen or (
        undecided and own.chosen not in current_dispatch.leaving
    )


def replaced_slices(state: State, workload: Workload) -> Iterator[Workload]:
    """Yield the slices of a job that a workload replaced, the newest first."""
    passed, key = {workload.key}, workload.replaces if workload.elastic else ""
    while key not in passed and (before := state.workloads.get(key)) is not None:
        if before.job.uid != workload.job.uid:
            return
        passed.add(key)
        yield before
        key = before.replaces


def _replaced_dispatches(state: State, workload: Workload) -> Iterator[Dispatch]:
    return (each.dispatch for each in replaced_slices(state, workload) if each.dispatch is not None)


def current_slice(state: State, workload: Workload) -> Workload:
    """Return the slice that stands for a job now: a workload, or the last of its successors."""
    passed = {workload.key}
    while workload.phase == "finished":
        successor = state.workloads.get(workload.successor)
        if successor is None or successor.key in passed or successor.job.uid != workload.job.uid:
            break
        passed.add(successor.key)
        workload = successor
    return workload
