"""Folds facts about trees that move between partitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from msgspec import convert
from msgspec.structs import replace

from tidegate.contracts.fact_kinds.definitions import ClusterQueueRemoved, CohortRemoved
from tidegate.contracts.fact_kinds.handovers import (
    BudgetsTaken,
    HandoverConfirmed,
    HandoverFact,
    MoveRequested,
    TreeReleased,
    TreeTaken,
    WorkloadsHandedOver,
)
from tidegate.contracts.observed.handovers import (
    MovedCohort,
    MovedQueue,
    RunningWorkload,
    SpentBudget,
)
from tidegate.contracts.phases import HOLDING
from tidegate.core.queueing.heads import queue_inadmissible_workloads
from tidegate.core.quota.forest import forest
from tidegate.core.quota.partition_moves import MovingTree, tree_workloads
from tidegate.core.state import budgets
from tidegate.core.state.definition_kinds import definitions_of
from tidegate.core.state.state import TAKEN_MAX, Handover, State, Workload
from tidegate.model.calendar import HOUR_US
from tidegate.model.clusters import cluster_of


def apply_handover(state: State, event: HandoverFact) -> None:
    """Fold a fact about a tree that moves."""
    moves = state.moves
    match event:
        case MoveRequested():
            _fold_move_request(state, event)
        case TreeReleased():
            _fold_released(state, event)
        case BudgetsTaken():
            _add_spent(state, event.spent)
            _wake_all_trees(state)
        case WorkloadsHandedOver():
            moves.to_adopt.update({running.uid: running for running in event.workloads})
        case TreeTaken():
            _fold_taken(state, event)
        case HandoverConfirmed():
            moves.released.pop(event.released_seq, None)
        case _:
            assert_never(event)


def _fold_released(state: State, event: TreeReleased) -> None:
    """Keep the objects of a released tree until another partition has taken it."""
    moves = state.moves
    moves.released[state.seq] = _released_tree(state, event)
    for name in event.cohorts:
        moves.cohorts[name] = state.objects.cohorts[name].uid
        moves.asked.pop(f"Cohort/{name}", None)
    for name in event.queues:
        moves.asked.pop(f"ClusterQueue/{name}", None)


def _fold_move_request(state: State, event: MoveRequested) -> None:
    key = f"{event.kind}/{event.name}"
    if event.to == state.partition:
        state.moves.asked.pop(key, None)
    else:
        state.moves.asked[key] = event.to
    _wake_all_trees(state)


def _released_tree(state: State, event: TreeReleased) -> Handover:
    """Return the objects and workloads of a tree, as they are before its release."""
    objects = state.objects
    tree = MovingTree(to=event.to, queues=event.queues, cohorts=event.cohorts)
    owners = (
        *(f"{budgets.COHORT}/{name}" for name in event.cohorts),
        *(f"{budgets.QUEUE}/{name}" for name in event.queues),
    )
    return Handover(
        to=event.to,
        queues=tuple(
            convert(objects.cluster_queues[name], MovedQueue, from_attributes=True)
            for name in event.queues
        ),
        cohorts=tuple(
            convert(objects.cohorts[name], MovedCohort, from_attributes=True)
            for name in event.cohorts
        ),
        workloads=tuple(
            _running_workload(workload)
            for workload in tree_workloads(state, tree)
            if workload.phase in HOLDING
        ),
        spent=tuple(_spent_budgets(state, owners)),
    )


def _running_workload(workload: Workload) -> RunningWorkload:
    return RunningWorkload(
        workload=workload.key,
        uid=workload.uid,
        cluster_queue=workload.cluster_queue,
        assignment=workload.assignment,
        admitted_us=workload.admitted_us,
        executed_us=workload.executed_us,
    )


def _fold_taken(state: State, event: TreeTaken) -> None:
    """Note a tree as taken: it admits nothing until all jobs have been listed again."""
    moves = state.moves
    moves.taken[f"{event.ledger_id}/{event.seq}"] = None
    if len(moves.taken) > TAKEN_MAX:
        del moves.taken[next(iter(moves.taken))]
    moves.taking.update(dict.fromkeys(event.queues))
    for name in event.cohorts:
        moves.cohorts.pop(name, None)
    for resource in _job_resources(state):
        state.rounds[resource].stale = True
    state.forest.stale = True


def _job_resources(state: State) -> list[str]:
    """Return the job resources of the own cluster that have rounds."""
    return [
        resource
        for resource in state.rounds
        if not cluster_of(resource) and definitions_of(state.objects, resource) is None
    ]


def open_taken_trees(state: State) -> None:
    """Open taken trees once each job resource has a complete list that began after the taking."""
    moves = state.moves
    is_pending = moves.taking or moves.to_adopt
    if not is_pending or any(state.rounds[resource].stale for resource in _job_resources(state)):
        return
    moves.to_adopt.clear()
    if moves.taking:
        moves.taking.clear()
        _wake_all_trees(state)


def _wake_all_trees(state: State) -> None:
    """Rebuild the forest and wake all trees: which ClusterQueues admit has changed."""
    state.redefined_seq = state.seq
    state.forest.stale = True
    if state.workloads:
        for tree in forest(state).trees:
            queue_inadmissible_workloads(state, tree)


def forget_move(state: State, event: object) -> None:
    """Forget the requested move of a deleted object."""
    match event:
        case ClusterQueueRemoved():
            state.moves.asked.pop(f"ClusterQueue/{event.name}", None)
            state.moves.taking.pop(event.name, None)
        case CohortRemoved():
            state.moves.asked.pop(f"Cohort/{event.name}", None)
        case _:
            pass


def _spent_budgets(state: State, owners_released: Iterable[str]) -> Iterator[SpentBudget]:
    """Yield the amounts spent of budgets whose owners move to another partition."""
    for owner in owners_released:
        for resource, meter_before in state.budgets.get(owner, {}).items():
            meter = budgets.advance_meter(meter_before, state.now_us)
            yield SpentBudget(
                owner=owner,
                resource=resource,
                until_us=meter.until_us,
                since_us=meter.since_us,
                at_us=meter.at_us,
                hours=meter.hours,
                rest=meter.rest,
                rate=meter.rate,
                reported_percent=meter.reported_percent,
            )


def _add_spent(state: State, spent_before: Iterable[SpentBudget]) -> None:
    """Add the amounts that another partition counted, if the period is still the same."""
    for before in spent_before:
        meter = state.budgets.get(before.owner, {}).get(before.resource)
        if meter is None or meter.until_us != before.until_us:
            continue
        elapsed_us = max(0, state.now_us - before.at_us)
        hours, rest = divmod(meter.rest + before.rest + before.rate * elapsed_us, HOUR_US)
        added = replace(
            meter,
            hours=min(budgets.HOURS_MAX, meter.hours + before.hours + hours),
            rest=rest,
            since_us=min(meter.since_us, before.since_us),
            reported_percent=max(meter.reported_percent, before.reported_percent),
        )
        budgets.store_meter(state, before.owner, added)
