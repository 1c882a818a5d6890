"""Folds facts about the reception of observations, the clock, and the state of jobs."""

from __future__ import annotations

from typing import TypeAlias, assert_never

from msgspec.structs import replace

from tidegate.contracts.decisions import OrderReissued
from tidegate.contracts.fact_kinds.reception import (
    ClockSkewed,
    GapObserved,
    ObservationRefused,
    RoundCompleted,
    RoundStarted,
    StreamReplaced,
    TimePassed,
    WatchesExpected,
)
from tidegate.contracts.facts import ActuationFailed, JobStateReported, LedgerOpened
from tidegate.core.folding.definitions import requeue_pending
from tidegate.core.folding.workload_deadlines import set_deadlines
from tidegate.core.members.cluster_status import execution_cluster
from tidegate.core.queueing.quota_ops import update_checkpoint
from tidegate.core.state import deadlines
from tidegate.core.state.definition_kinds import definitions_of
from tidegate.core.state.desired_state import set_repair_deadline
from tidegate.core.state.state import STEP_US_MAX, Failure, Round, State, Workload
from tidegate.model.clusters import cluster_of, local_name, qualified

ObservedEvent: TypeAlias = (
    LedgerOpened
    | RoundStarted
    | RoundCompleted
    | WatchesExpected
    | GapObserved
    | StreamReplaced
    | ObservationRefused
    | TimePassed
    | ClockSkewed
    | JobStateReported
    | ActuationFailed
    | OrderReissued
)


def apply_observed(state: State, event: ObservedEvent) -> None:
    """Fold one of these events; ``state.now_us`` is already the event's.

    A fact about an unknown workload changes nothing: a ledger may hold such.
    """
    match event:
        case LedgerOpened():
            _fold_opened(state, event)
        case RoundStarted() | RoundCompleted() | WatchesExpected():
            _fold_round(state, event)
        case GapObserved() | StreamReplaced():
            for resource, round_seen in state.rounds.items():
                if cluster_of(resource) == event.cluster:
                    round_seen.stale = True
        case TimePassed() | ClockSkewed() | ObservationRefused():
            _fold_time(state, event)
        case JobStateReported() | ActuationFailed() | OrderReissued():
            _fold_workload(state, event)
        case _:
            assert_never(event)


def _was_listed(state: State, workload: Workload) -> bool:
    """Tell whether a list has shown that a job runs since the ledger was opened.

    No fact records that a job runs as before, since nothing changed.
    """
    resource = qualified(local_name(workload.resource), execution_cluster(workload))
    listed = state.rounds.get(resource)
    return not workload.state.suspended and listed is not None and bool(listed.completed)


def _fold_opened(state: State, event: LedgerOpened) -> None:
    # Under another id all objects have to be observed again before a decision: jobs that run by
    # orders that this ledger lost are then adopted, and each reservation that it has is published
    # again.
    state.ledger_id, state.cluster = event.ledger_id, event.cluster
    state.cluster_uid, state.partition = event.cluster_uid, event.partition
    state.expected = None
    state.rounds.clear()
    state.remote_clusters = {
        name: at for name, at in state.remote_clusters.items() if local_name(name)
    }
    for workload in state.workloads.values():
        workload.unpublished = workload.phase in ("reserved", "admitted")
        workload.recovered = workload.phase == "admitted"
        set_deadlines(state, workload)
    _requeue_members(state, {cluster_of(key) for key in state.workloads})


def _fold_time(state: State, event: TimePassed | ClockSkewed | ObservationRefused) -> None:
    match event:
        case TimePassed():
            deadlines.fire(state)
        case ClockSkewed():
            skew_us = event.stored_us - event.at_us
            state.skew_us = skew_us if abs(skew_us) > STEP_US_MAX else 0
        case ObservationRefused():
            pass  # for readers of the ledger; the object's last known state still holds
        case _:
            assert_never(event)


def _fold_round(state: State, event: RoundStarted | RoundCompleted | WatchesExpected) -> None:
    match event:
        case RoundStarted():
            state.rounds.setdefault(event.resource, Round(session=event.session))
            if event.cluster_uid:
                state.member_uids[cluster_of(event.resource)] = event.cluster_uid
        case RoundCompleted():
            _fold_completed(state, event)
        case WatchesExpected():
            _fold_watches(state, event.resources)
        case _:
            assert_never(event)


def _fold_watches(state: State, resources: tuple[str, ...]) -> None:
    # Lists from before a resource was unwatched do not count once it is watched again: jobs that
    # run then have to be observed, and charged, before any decision. Rounds of other clusters than
    # those whose watches changed stay.
    watched, before = frozenset(resources), frozenset(state.expected or ())
    changed = {cluster_of(resource) for resource in watched ^ before} or {""}
    state.expected = resources
    state.rounds = {
        key: completed
        for key, completed in state.rounds.items()
        if key in watched or cluster_of(key) not in changed
    }
    _requeue_members(state, changed)


def _requeue_members(state: State, clusters: set[str]) -> None:
    """Queue pending workloads of member clusters again: parked until their cluster is listed.

    In between, jobs may run there that are not charged yet.
    """
    for workload in state.workloads.values():
        cluster = cluster_of(workload.key)
        if cluster and cluster in clusters and workload.phase == "pending":
            requeue_pending(state, workload, workload.cluster_queue)


def _fold_completed(state: State, event: RoundCompleted) -> None:
    if event.restored:
        _reset_versions(state, event.resource)
    state.rounds[event.resource] = Round(
        session=event.session, completed=event.round, list_version=event.list_version
    )


def _reset_versions(state: State, resource: str) -> None:
    # A restored etcd continues from an older version: all its objects count as newer than the
    # known ones.
    for workload in state.workloads.values():
        if workload.resource == resource:
            workload.version = 0
    for stray in state.strays.values():
        if stray.resource == resource:
            stray.version = 0
    for copy in state.copies.values():
        if copy.resource == resource:
            copy.version = 0
    for name, defined in (definitions := definitions_of(state.objects, resource) or {}).items():
        definitions[name] = replace(defined, version=0)


def _fold_workload(state: State, event: JobStateReported | ActuationFailed | OrderReissued) -> None:
    workload = state.workloads.get(event.workload)
    if workload is None or (event.uid and workload.uid != event.uid):
        return
    match event:
        case JobStateReported():
            if workload.state.suspended and not event.state.suspended:
                workload.resumed_us, workload.repeated = event.at_us, 0
            if workload.recovered and (not event.state.suspended or _was_listed(state, workload)):
                workload.recovered = False
            workload.state, workload.state_us = event.state, event.at_us
            workload.version = max(workload.version, event.version)
            update_checkpoint(state, workload)
        case ActuationFailed():
            workload.failure = Failure(
                reason=event.reason, decision_seq=event.decision_seq, at_us=event.at_us
            )
        case OrderReissued():
            workload.repeated = event.attempt
        case _:
            assert_never(event)
    set_repair_deadline(state, workload)
