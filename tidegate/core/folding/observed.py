"""How facts about the telling, the clock and the jobs' standing change the draft."""

from __future__ import annotations

from typing import TypeAlias, assert_never

from msgspec.structs import replace

from tidegate.contracts.decisions import OrderReissued
from tidegate.contracts.facts import ActuationFailed, JobStateReported, LedgerOpened
from tidegate.contracts.reception import (
    ClockSkewed,
    GapObserved,
    ObservationRefused,
    RoundCompleted,
    RoundStarted,
    StreamReplaced,
    TimePassed,
    WatchesExpected,
)
from tidegate.core import deadlines
from tidegate.core.draft import Draft, Failure, Round
from tidegate.core.resources import room
from tidegate.core.wanted import watch

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


def apply_observed(draft: Draft, event: ObservedEvent) -> None:
    """Fold one of these events; ``draft.now_us`` is already the event's.

    A fact about a workload that is not known changes nothing: an old ledger may hold such.
    """
    match event:
        case LedgerOpened():
            _open(draft, event)
        case RoundStarted() | RoundCompleted() | WatchesExpected():
            _fold_round(draft, event)
        case GapObserved() | StreamReplaced():
            for known in draft.rounds.values():
                known.stale = True
        case TimePassed() | ClockSkewed() | ObservationRefused():
            _fold_time(draft, event)
        case JobStateReported() | ActuationFailed() | OrderReissued():
            _fold_workload(draft, event)
        case _:
            assert_never(event)


def _open(draft: Draft, event: LedgerOpened) -> None:
    # Under another identity everything has to be told again before anything is decided: what ran
    # by orders that this ledger lost is then adopted.
    draft.ledger_id, draft.cluster = event.ledger_id, event.cluster
    draft.cluster_uid = event.cluster_uid
    draft.expected = None
    draft.rounds.clear()


def _fold_time(draft: Draft, event: TimePassed | ClockSkewed | ObservationRefused) -> None:
    match event:
        case TimePassed():
            deadlines.fire(draft)
        case ClockSkewed():
            draft.skew_us = event.told_us - event.at_us
        case ObservationRefused():
            pass  # for the reader of the ledger; what was known of the object stays true
        case _:
            assert_never(event)


def _fold_round(draft: Draft, event: RoundStarted | RoundCompleted | WatchesExpected) -> None:
    match event:
        case RoundStarted():
            draft.rounds.setdefault(event.resource, Round(session=event.session))
        case RoundCompleted():
            _complete(draft, event)
        case WatchesExpected():
            draft.expected = event.resources
        case _:
            assert_never(event)


def _complete(draft: Draft, event: RoundCompleted) -> None:
    if event.restored:
        _count_anew(draft, event.resource)
    draft.rounds[event.resource] = Round(
        session=event.session, completed=event.round, list_version=event.list_version
    )


def _count_anew(draft: Draft, resource: str) -> None:
    # A restored etcd counts from an older version: whatever it tells now is newer than what was
    # known before.
    for workload in draft.workloads.values():
        if workload.resource == resource:
            workload.version = 0
    for stray in draft.strays.values():
        if stray.resource == resource:
            stray.version = 0
    for name, defined in (kept := room(draft.objects, resource) or {}).items():
        kept[name] = replace(defined, version=0)


def _fold_workload(draft: Draft, event: JobStateReported | ActuationFailed | OrderReissued) -> None:
    workload = draft.workloads.get(event.workload)
    if workload is None or (event.uid and workload.uid != event.uid):
        return
    match event:
        case JobStateReported():
            if workload.state.suspended and not event.state.suspended:
                workload.resumed_us, workload.repeated = event.at_us, 0
            workload.state, workload.state_us = event.state, event.at_us
            workload.version = max(workload.version, event.version)
        case ActuationFailed():
            workload.failure = Failure(
                reason=event.reason, decision_seq=event.decision_seq, at_us=event.at_us
            )
        case OrderReissued():
            workload.repeated = event.attempt
        case _:
            assert_never(event)
    watch(draft, workload)
