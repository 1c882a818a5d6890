"""The progress of a tree's move, by the ledgers of all partitions, and waiting for its end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Literal, NamedTuple

from tidegate.cli.moves.state import Move, Stage, moves_of
from tidegate.cli.output import print_message
from tidegate.core.quota.partition_moves import object_keys
from tidegate.core.state.state import State
from tidegate.errors import MoveHangsError

POLL_S = 0.5
_SAID = {
    "Unseen": "partition {partition} has not observed the annotations yet",
    "Moved": "partition {partition} decides about the tree",
}


class Progress(NamedTuple):
    """The progress of a move, and the condition that it waits for."""

    stage: Stage | Literal["Unseen", "Moved"]
    why: str
    partition: int  # that has, had or takes the tree


def current_partition(states: Iterable[State], keys: set[str], to: int) -> int | None:
    """Return the partition that has a tree's objects; None: none has.

    Of several it is one that has yet to give some away to the partition ``to``.
    """
    homes = [state.partition for state in states if _has_objects(state, keys)]
    return next((home for home in homes if home != to), next(iter(homes), None))


def move_of(states: Iterable[State], keys: set[str]) -> Move | None:
    """Return the move of a tree that is under way; the taking side's, if it is that far."""
    order = ("Listing", "Released", "Requested")
    moves = [
        move
        for state in states
        for move in moves_of(state)
        if not keys.isdisjoint(move.object_keys())
    ]
    return min(moves, key=lambda move: order.index(move.stage), default=None)


def progress_of(states: Mapping[int, State], keys: set[str], to: int) -> Progress:
    """Return the progress of a tree's move to a partition."""
    move = move_of(states.values(), keys)
    home = current_partition(states.values(), keys, to)
    if home == to and (move is None or move.stage != "Listing"):
        return Progress("Moved", _SAID["Moved"].format(partition=to), to)
    if move is None or move.to != to:
        source = 0 if home is None else home
        return Progress("Unseen", _SAID["Unseen"].format(partition=source), source)
    return Progress(move.stage, move.why, move.source)


def wait_until_moved(
    get_progress: Callable[[], Progress],
    timeout_s: float,
    pause: Callable[[float], None] = time.sleep,
) -> Progress:
    """Wait until a tree has moved, and say on standard error how far it is whenever that changes.

    Raises:
        MoveHangsError: it has not moved in time.
    """
    last_why, end_s = "", time.monotonic() + timeout_s
    while True:
        progress = get_progress()
        if progress.why != last_why:
            last_why = progress.why
            print_message(f"{progress.stage.lower()}: {last_why}")
        if progress.stage == "Moved":
            return progress
        if time.monotonic() >= end_s:
            raise MoveHangsError(f"It has not moved after {timeout_s:.0f} s: {last_why}.")
        pause(POLL_S)


def _has_objects(state: State, keys: set[str]) -> bool:
    objects = state.objects
    return not keys.isdisjoint(object_keys(list(objects.cluster_queues), list(objects.cohorts)))
