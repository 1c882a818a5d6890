"""Trees of cohorts, and jobs, that move to another partition or come from one: see docs/adr/0027.

The partition that has a tree releases it in one turn, once nothing of it is under way, and
publishes its objects and running workloads until the other partition has taken it. So at any time
at most one ledger has the tree: running workloads go on, and no quota is assigned twice. Of a job
whose queue changed its partition, one partition removes the workload, the other requests a resync.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias, assert_never

import msgspec
from msgspec.structs import asdict

from tidegate.contracts.fact_kinds import definitions as facts
from tidegate.contracts.fact_kinds.definitions import (
    ClusterQueueDefined,
    ClusterQueueRemoved,
    CohortDefined,
    CohortRemoved,
    QueueElsewhere,
)
from tidegate.contracts.fact_kinds.handovers import (
    BudgetsTaken,
    HandoverConfirmed,
    TreeReleased,
    TreeTaken,
    WorkloadsHandedOver,
)
from tidegate.contracts.facts import FactEvent, WorkloadRemoved
from tidegate.contracts.observed.handovers import (
    HandoverObserved,
    MovedCohort,
    MovedQueue,
    RunningWorkload,
    SpentBudget,
    TreeReleasedObserved,
    TreeTakenObserved,
)
from tidegate.core.accepting.jobs.fields import is_idle
from tidegate.core.accepting.jobs.observed import remove_workloads
from tidegate.core.accepting.relevance import is_own_queue
from tidegate.core.accepting.rounds import drop_open_rounds
from tidegate.core.quota.partition_moves import (
    MovingTree,
    blocking_workload,
    moving_trees,
    tree_workloads,
)
from tidegate.core.state.state import Handover, State
from tidegate.model.ids import DECIDED_ELSEWHERE

PIECE_BYTES = 300_000
"""Bytes of a message's parts above which the next part goes into another message."""
_Part: TypeAlias = MovedQueue | MovedCohort | RunningWorkload | SpentBudget
COLLECTED_MAX = 16
"""Handovers whose pieces are collected at a time, the newest."""


def release_trees(state: State, at_us: int) -> Iterator[FactEvent]:
    """Yield the release of trees that are to move to another partition, if nothing is under way."""
    if not state.moves.asked:
        return
    for tree in moving_trees(state):
        if blocking_workload(state, tree) is None:
            yield from _release_tree(state, at_us, tree)


def _release_tree(state: State, at_us: int, tree: MovingTree) -> Iterator[FactEvent]:
    yield TreeReleased(at_us=at_us, to=tree.to, queues=tree.queues, cohorts=tree.cohorts)
    for workload in tree_workloads(state, tree):
        if state.workloads.get(workload.key) is workload:  # else removed with another of its job
            yield from remove_workloads(state, at_us, workload, workload.version, DECIDED_ELSEWHERE)
    for name in tree.queues:
        own = state.objects.cluster_queues[name]
        yield ClusterQueueRemoved(at_us=at_us, name=name, uid=own.uid, version=own.version)
        yield QueueElsewhere(
            at_us=at_us, name=name, uid=own.uid, version=own.version, partition=tree.to
        )
    for name in tree.cohorts:
        cohort = state.objects.cohorts[name]
        yield CohortRemoved(at_us=at_us, name=name, uid=cohort.uid, version=cohort.version)


def accept_handover(state: State, at_us: int, message: HandoverObserved) -> Iterator[FactEvent]:
    """Yield the facts of another partition's message about a tree."""
    match message:
        case TreeReleasedObserved():
            yield from _collect_piece(state, at_us, message)
        case TreeTakenObserved():
            yield from _confirm_handover(state, at_us, message)
        case _:
            assert_never(message)


def _collect_piece(state: State, at_us: int, message: TreeReleasedObserved) -> Iterator[FactEvent]:
    """Collect a piece of a tree that was released to this partition; with the last, yield facts."""
    if message.to != state.partition or message.ledger_id == state.ledger_id:
        return
    dedup, key = state.dedup, f"{message.ledger_id}/{message.seq}"
    confirm = TreeTakenObserved(ledger_id=message.ledger_id, seq=message.seq)
    if key in state.moves.taken:
        dedup.confirms[key] = confirm
        return
    pieces = dedup.handovers.setdefault(key, {})
    pieces[message.piece] = message
    if len(dedup.handovers) > COLLECTED_MAX:
        del dedup.handovers[next(iter(dedup.handovers))]
    if len(pieces) < message.pieces:
        return
    del dedup.handovers[key]
    yield from _take_tree(state, at_us, [pieces[number] for number in sorted(pieces)])
    drop_open_rounds(state, "")  # a round under way has skipped the tree's jobs so far
    dedup.needs_resync, dedup.incomplete_lists, dedup.confirms[key] = True, 0, confirm


def _take_tree(state: State, at_us: int, pieces: list[TreeReleasedObserved]) -> Iterator[FactEvent]:
    first, objects = pieces[0], state.objects
    queues = [
        queue
        for piece in pieces
        for queue in piece.queues
        if _may_take(objects.cluster_queues.get(queue.name), queue.uid)
    ]
    cohorts = [
        cohort
        for piece in pieces
        for cohort in piece.cohorts
        if _may_take(objects.cohorts.get(cohort.name), cohort.uid)
    ]
    for piece in pieces:
        if piece.workloads:
            yield WorkloadsHandedOver(at_us=at_us, workloads=piece.workloads)
    yield TreeTaken(
        at_us=at_us,
        of_partition=first.of_partition,
        ledger_id=first.ledger_id,
        seq=first.seq,
        queues=tuple(queue.name for queue in queues),
        cohorts=tuple(cohort.name for cohort in cohorts),
    )
    for cohort in cohorts:
        yield CohortDefined(at_us=at_us, **asdict(cohort))
    for queue in queues:
        yield ClusterQueueDefined(at_us=at_us, **asdict(queue))
    for piece in pieces:
        if piece.spent:
            yield BudgetsTaken(at_us=at_us, spent=piece.spent)


def _may_take(own: ClusterQueueDefined | CohortDefined | None, uid: str) -> bool:
    """Return whether this partition has no newer object of that name, with another uid."""
    return own is None or own.uid == uid


def _confirm_handover(
    state: State, at_us: int, message: TreeTakenObserved
) -> Iterator[HandoverConfirmed]:
    """Yield that another partition has taken a tree that this one had released."""
    if message.ledger_id == state.ledger_id and message.seq in state.moves.released:
        yield HandoverConfirmed(at_us=at_us, released_seq=message.seq)


def unconfirmed_releases(state: State) -> Iterator[TreeReleasedObserved]:
    """Yield the messages about trees that were released and not confirmed as taken."""
    for seq, handover in state.moves.released.items():
        pieces = list(_split_into_pieces(handover))
        for number, piece in enumerate(pieces, 1):
            yield TreeReleasedObserved(
                of_partition=state.partition,
                ledger_id=state.ledger_id,
                seq=seq,
                to=handover.to,
                queues=tuple(part for part in piece if isinstance(part, MovedQueue)),
                cohorts=tuple(part for part in piece if isinstance(part, MovedCohort)),
                workloads=tuple(part for part in piece if isinstance(part, RunningWorkload)),
                spent=tuple(part for part in piece if isinstance(part, SpentBudget)),
                piece=number,
                pieces=len(pieces),
            )


def _split_into_pieces(handover: Handover) -> Iterator[list[_Part]]:
    piece, size = list[_Part](), 0
    parts: tuple[_Part, ...]
    parts = (*handover.cohorts, *handover.queues, *handover.workloads, *handover.spent)
    for part in parts:
        if size > PIECE_BYTES:
            yield piece
            piece, size = [], 0
        piece.append(part)
        size += len(msgspec.json.encode(part))
    yield piece


def with_removals(state: State, facts: Iterator[FactEvent]) -> Iterator[FactEvent]:
    """Pass facts on; after one about queues, yield the removal of other partitions' workloads.

    Workloads with quota are kept until they have stopped. If jobs of a LocalQueue were skipped and
    belong to this partition now, it notes that a resync is needed.
    """
    for fact in facts:
        yield fact
        for local_queue in _affected_queues(state, fact):
            if not is_own_queue(state, local_queue):
                yield from _remove_idle(state, fact.at_us, local_queue)
            elif local_queue in state.dedup.skipped_queues:
                del state.dedup.skipped_queues[local_queue]
                state.dedup.needs_resync = True


def _affected_queues(state: State, fact: FactEvent) -> list[str]:
    """Return the LocalQueues whose partition may have changed by a fact."""
    if not (state.partition or state.objects.elsewhere or state.dedup.skipped_queues):
        return []
    match fact:
        case facts.LocalQueueDefined() | facts.LocalQueueRemoved():
            return [f"{fact.namespace}/{fact.name}"]
        case facts.ClusterQueueDefined() | facts.ClusterQueueRemoved() | facts.QueueElsewhere():
            queues = state.objects.local_queues.items()
            return [key for key, queue in queues if queue.spec.cluster_queue == fact.name]
        case _:
            return []


def _remove_idle(state: State, at_us: int, local_queue: str) -> Iterator[WorkloadRemoved]:
    for key in list(state.by_queue.get(local_queue, ())):
        workload = state.workloads.get(key)
        if workload is not None and is_idle(workload):
            yield from remove_workloads(state, at_us, workload, workload.version, DECIDED_ELSEWHERE)
