"""What the dispatcher tells of worker clusters and of the copies there, as far as it is news."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from tidegate.contracts.fact_kinds.clusters import (
    RemoteClusterChanged,
    RemoteWorkloadRemoved,
    RemoteWorkloadReported,
)
from tidegate.contracts.facts import FactEvent, WorkloadFinished
from tidegate.contracts.observed.clusters import (
    RemoteClusterObserved,
    RemoteObserved,
    RemoteWorkloadObserved,
)
from tidegate.core.state.state import State, Workload
from tidegate.model.multikueue import OUT_OF_SYNC


def take_remote(state: State, at_us: int, told: RemoteObserved) -> Iterator[FactEvent]:
    """Yield what is news; a dispatcher is heard in the order in which it speaks."""
    match told:
        case RemoteClusterObserved():
            yield from _cluster(state, at_us, told)
        case RemoteWorkloadObserved():
            yield from _copy(state, at_us, told)
        case _:
            assert_never(told)


def _cluster(state: State, at_us: int, told: RemoteClusterObserved) -> Iterator[FactEvent]:
    known = state.remote_clusters.get(told.cluster)
    stands = known is not None and (known.connected, known.session, known.reason) == (
        told.connected,
        told.session,
        told.reason,
    )
    if not stands:
        yield RemoteClusterChanged(
            at_us=at_us,
            cluster=told.cluster,
            connected=told.connected,
            session=told.session,
            reason=told.reason,
            message=told.message,
        )


def _copy(state: State, at_us: int, told: RemoteWorkloadObserved) -> Iterator[FactEvent]:
    known = state.workloads.get(told.workload)
    dispatch = None if known is None else known.dispatch
    if known is None or dispatch is None:
        return  # nobody sent it: the dispatcher clears such copies away by itself
    before = dispatch.copies.get(told.cluster)
    if told.copy is None:
        if before is not None or told.cluster in dispatch.leaving:
            yield RemoteWorkloadRemoved(at_us=at_us, workload=told.workload, cluster=told.cluster)
        return
    if told.copy != before:
        yield RemoteWorkloadReported(
            at_us=at_us,
            workload=told.workload,
            cluster=told.cluster,
            copy=told.copy,
            version=told.version,
        )
    yield from _ended(at_us, told, known)


def _ended(at_us: int, told: RemoteWorkloadObserved, known: Workload) -> Iterator[FactEvent]:
    """Let a workload end with its copy, once nothing more is to come from its job there."""
    copy, dispatch = told.copy, known.dispatch
    if copy is None or dispatch is None or known.phase not in ("reserved", "admitted", "evicting"):
        return
    if copy.finished_us and copy.synced and copy.reason != OUT_OF_SYNC:
        yield WorkloadFinished(
            at_us=at_us,
            workload=known.key,
            uid=known.uid,
            reason=copy.reason,
            message=copy.message,
        )
