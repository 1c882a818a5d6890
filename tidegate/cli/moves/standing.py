"""How far the moves of trees between partitions are, as a partition's state has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

from tidegate.contracts.phases import HOLDING
from tidegate.core.quota.moving import (
    MovingTree,
    needs_partition_0,
    roots_of_removed,
    trees,
    under_way,
)
from tidegate.core.state.state import Handover, State, Workload

Stage: TypeAlias = Literal["Asked", "Released", "Listing"]
_NAMED_MAX = 3


class Move(NamedTuple):
    """A tree that is on its way, as one of both partitions has it."""

    tree: str  # its root: Cohort/a, or ClusterQueue/a
    source: int | None  # the partition that has or had it; None: not known to who takes it
    to: int
    stage: Stage
    why: str  # what it waits for
    queues: tuple[str, ...]
    cohorts: tuple[str, ...] = ()
    seq: int = 0  # of TreeReleased, where it is released

    @property
    def name(self) -> str:
        """Return the tree as people say it: ``Cohort physics``."""
        return self.tree.replace("/", " ", 1)

    def text(self) -> str:
        """Return the move in a sentence's part."""
        return f"{self.name} to {self.to}: {self.why}"


def moves_of(state: State) -> list[Move]:
    """Return the moves that a partition takes part in, by tree."""
    moves = [*_asked(state), *_released(state), *_listing(state)]
    return sorted(moves, key=lambda move: (move.tree, move.stage, move.seq))


def _asked(state: State) -> Iterator[Move]:
    wishes = state.moves.asked
    for root, (queues, cohorts) in trees(state).items() if wishes else ():
        keys = keys_of(queues, cohorts)
        targets = [wishes[key] for key in keys if key in wishes]
        if targets:
            to = targets[0]
            why = "; ".join(why_not_released(state, root, queues, cohorts, to)) or _NEXT_TURN
            parts = tuple(sorted(queues)), tuple(sorted(cohorts))
            yield Move(root, state.partition, to, "Asked", why, *parts)


_NEXT_TURN = "it is released in the scheduler's next turn"


def _released(state: State) -> Iterator[Move]:
    for seq, handover in state.moves.released.items():
        yield Move(
            root_moved(handover),
            state.partition,
            handover.to,
            "Released",
            f"partition {handover.to} has not said yet that it has taken the tree",
            tuple(queue.name for queue in handover.queues),
            tuple(cohort.name for cohort in handover.cohorts),
            seq,
        )


def _listing(state: State) -> Iterator[Move]:
    taking = state.moves.taking
    for root, (queues, cohorts) in trees(state).items() if taking else ():
        if not taking.keys().isdisjoint(queues):
            why = f"partition {state.partition} has taken the tree, and not all jobs are listed yet"
            yield Move(root, None, state.partition, "Listing", why, tuple(queues), tuple(cohorts))


def keys_of(queues: Sequence[str], cohorts: Sequence[str]) -> list[str]:
    """Return the objects of a tree as ``Moves.asked`` names them."""
    return [f"ClusterQueue/{name}" for name in queues] + [f"Cohort/{name}" for name in cohorts]


def root_moved(handover: Handover) -> str:
    """Return the root of a tree that is released."""
    names = {cohort.name for cohort in handover.cohorts}
    for cohort in handover.cohorts:
        if cohort.spec.parent not in names:
            return f"Cohort/{cohort.spec.parent or cohort.name}"
    queue = handover.queues[0] if handover.queues else None
    if names or queue is None:
        return "Cohort/"  # they lead into circles
    return f"Cohort/{queue.spec.cohort}" if queue.spec.cohort else f"ClusterQueue/{queue.name}"


def why_not_released(
    state: State, root: str, queues: Sequence[str], cohorts: Sequence[str], to: int
) -> Iterator[str]:
    """Yield what keeps a tree that some objects of ask for another partition."""
    wishes, keys = state.moves.asked, keys_of(queues, cohorts)
    others = [key.replace("/", " ", 1) for key in keys if wishes.get(key) != to]
    if others:
        yield f"{named(others)} {'does' if len(others) == 1 else 'do'} not ask for partition {to}"
        return
    if root in roots_of_removed(state):
        yield "a ClusterQueue of it is deleted, and what ran in it has not ended"
    if not state.moves.taking.keys().isdisjoint(queues):
        yield "it came from another partition, and not all its jobs are listed yet"
    if to:
        specs = [state.objects.cluster_queues[name].spec for name in queues]
        needs = dict.fromkeys(need for spec in specs for need in needs_partition_0(state, spec))
        yield from (need.rstrip(".") for need in needs)
    workload = under_way(state, MovingTree(to=to, queues=tuple(queues), cohorts=tuple(cohorts)))
    if workload is not None:
        yield _under_way(state, workload)


def _under_way(state: State, workload: Workload) -> str:
    """Return what a workload is about that keeps its tree."""
    key = workload.key
    if workload.state.deleting:
        return f"{key} is being deleted"
    if workload.phase == "reserved":
        return f"{key} has quota and waits for its admission checks"
    if workload.phase == "evicting":
        return f"{key} is being evicted"
    if workload.phase in HOLDING:
        if workload.parent or workload.variants or workload.successor:
            return f"{key} is tried by variants, or is replaced by another slice"
        local_queue = state.objects.local_queues.get(workload.local_queue)
        if local_queue is None or local_queue.spec.cluster_queue != workload.cluster_queue:
            return f"{key} runs, and its LocalQueue does not lead here any more"
    return f"{key} was ordered to start or stop, and is not observed so yet"


def named(names: Sequence[str]) -> str:
    """Return the first names of a list, and how many more there are."""
    more = f" and {len(names) - _NAMED_MAX} more" if len(names) > _NAMED_MAX else ""
    return ", ".join(names[:_NAMED_MAX]) + more
