"""The progress of moves of trees between partitions, and the remedy for one that hangs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from store.reading.entries import EntryFilter
from tidegate.contracts.codec import decode
from tidegate.core.quota.partition_moves import (
    MovingTree,
    blocking_workload,
    key_as_text,
    move_blockers,
    object_keys,
    objects_by_root,
    workload_move_blocker,
)
from tidegate.core.state.state import Handover, State

if TYPE_CHECKING:
    from tidegate.cli.ledger.reader import Reader

Stage: TypeAlias = Literal["Requested", "Released", "Listing"]
_NEXT_TURN = "it is released in the scheduler's next turn"


class Move(NamedTuple):
    """A tree that is on its way, as one of both partitions has it."""

    tree: str  # its root: Cohort/a, or ClusterQueue/a
    giver: int | None  # the partition that has or had it; None: unknown to the receiving one
    to: int
    stage: Stage
    why: str  # what it waits for
    queues: tuple[str, ...]
    cohorts: tuple[str, ...] = ()
    seq: int = 0  # of TreeReleased, where it is released

    @property
    def name(self) -> str:
        """Return the tree as people say it: ``Cohort physics``."""
        return key_as_text(self.tree)

    @property
    def source(self) -> int:
        """Return the partition to look at: the giver, or the receiver if it knows of no giver."""
        return self.to if self.giver is None else self.giver

    def object_keys(self) -> list[str]:
        """Return the tree's objects as ledgers name them: ``ClusterQueue/a``."""
        return object_keys(self.queues, self.cohorts)

    def text(self) -> str:
        """Return the move in a sentence's part."""
        return f"{self.name} to {self.to}: {self.why}"


def moves_of(state: State) -> list[Move]:
    """Return the moves that a partition takes part in, by tree."""
    moves = [*_requested_moves(state), *_released_moves(state), *_listing_moves(state)]
    return sorted(moves, key=lambda move: (move.tree, move.stage, move.seq))


def _requested_moves(state: State) -> Iterator[Move]:
    wishes = state.moves.asked
    for root, (queues, cohorts) in objects_by_root(state).items() if wishes else ():
        keys = object_keys(queues, cohorts)
        targets = [wishes[key] for key in keys if key in wishes]
        if targets:
            to = targets[0]
            why = "; ".join(_blocking_reasons(state, root, queues, cohorts, to)) or _NEXT_TURN
            parts = tuple(sorted(queues)), tuple(sorted(cohorts))
            yield Move(root, state.partition, to, "Requested", why, *parts)


def _released_moves(state: State) -> Iterator[Move]:
    for seq, handover in state.moves.released.items():
        yield Move(
            released_root(handover),
            state.partition,
            handover.to,
            "Released",
            f"partition {handover.to} has not said yet that it has taken the tree",
            tuple(queue.name for queue in handover.queues),
            tuple(cohort.name for cohort in handover.cohorts),
            seq,
        )


def _listing_moves(state: State) -> Iterator[Move]:
    taking = state.moves.taking
    for root, (queues, cohorts) in objects_by_root(state).items() if taking else ():
        if not taking.keys().isdisjoint(queues):
            why = f"partition {state.partition} has taken the tree, and not all jobs are listed yet"
            yield Move(root, None, state.partition, "Listing", why, tuple(queues), tuple(cohorts))


def released_root(handover: Handover) -> str:
    """Return the root of a tree that is released."""
    names = {cohort.name for cohort in handover.cohorts}
    for cohort in handover.cohorts:
        if cohort.spec.parent not in names:
            return f"Cohort/{cohort.spec.parent or cohort.name}"
    queue = handover.queues[0] if handover.queues else None
    if names or queue is None:
        return "Cohort/"  # they lead into circles
    return f"Cohort/{queue.spec.cohort}" if queue.spec.cohort else f"ClusterQueue/{queue.name}"


def _blocking_reasons(
    state: State, root: str, queues: Sequence[str], cohorts: Sequence[str], to: int
) -> Iterator[str]:
    """Yield what keeps a tree that some objects of ask for another partition."""
    yield from move_blockers(state, root, queues, cohorts, to)
    if any(state.moves.asked.get(key) != to for key in object_keys(queues, cohorts)):
        return  # it goes on as before
    workload = blocking_workload(
        state, MovingTree(to=to, queues=tuple(queues), cohorts=tuple(cohorts))
    )
    if workload is not None:
        yield workload_move_blocker(state, workload)


def since_us(reader: Reader, move: Move) -> int:
    """Return when the newest event came that brought a move where it is, UTC microseconds.

    0: the ledger does not say, since that event is in no part of it that is read.
    """
    if move.stage == "Released":
        return next((entry.at_us for entry in reader.ledger.read(move.seq - 1, move.seq)), 0)
    kind = "MoveRequested" if move.stage == "Requested" else "TreeTaken"
    for entry in reader.ledger.back(reader.end, narrow=EntryFilter(frozenset((kind,)))):
        if entry.type == kind and _concerns_move(decode(entry.payload), move):
            return entry.at_us
    return 0


def _concerns_move(event: Any, move: Move) -> bool:  # noqa: ANN401 - one of the two
    if move.stage == "Requested":
        return f"{event.kind}/{event.name}" in move.object_keys()
    return not set(move.queues).isdisjoint(event.queues)


def move_remedy(
    stage: Stage | Literal["Unseen", "Moved"], tree: str, source: int, to: int, led: Collection[int]
) -> str:
    """Return the remedy for a move that hangs.

    ``led`` are the partitions that a scheduler leads; ``tree`` is as ``tidegate partitions move``
    takes it.
    """
    calling_off = f", or call it off: `tidegate partitions move {tree} --to {source}`"
    if to not in led:
        return _start_advice(to) + (calling_off if stage == "Requested" else "")
    if source not in led and stage != "Listing":
        return _start_advice(source)
    match stage:
        case "Requested":
            return (
                "end what it waits for, or ask for all of it: "
                f"`tidegate partitions move {tree} --to {to}`{calling_off}"
            )
        case "Released":
            return (
                f"see the logs of partition {source}'s and {to}'s schedulers; "
                "NATS' users need the rights of deploy/nats/partition.conf"
            )
        case "Listing":
            return "see ingest's log: a kind of job may not be listed completely"
        case "Unseen" | "Moved":
            return f"see the logs of ingest and of partition {source}'s scheduler"


def _start_advice(partition: int) -> str:
    return f"start a scheduler and an actuator with --partition {partition}: docs/partitions.md"
