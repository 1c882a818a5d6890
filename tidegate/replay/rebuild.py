"""Rebuilds the state from a ledger: for the start of a scheduler, and for readers."""

from __future__ import annotations

from collections.abc import Iterable

from tidegate.contracts.chain import GENESIS, verify
from tidegate.contracts.codec import decode
from tidegate.contracts.entry import Entry
from tidegate.core.folding.fold import apply_recorded
from tidegate.core.state.scheduling_queue import drop_empty_shapes
from tidegate.core.state.state import State

FORGOTTEN_EACH = 10_000
"""After so many events ``drop_decided`` is worth what it costs: as much as there are queues."""


def drop_decided(state: State) -> None:
    """Drop from a state what only deciding takes away: else it grows without end."""
    trees = state.forest
    trees.to_reconcile.clear()
    for queue in trees.cluster_queues.values():
        queue.heap.clear()
        drop_empty_shapes(queue)


def rebuild(
    entries: Iterable[Entry], state: State | None = None, head: Entry = GENESIS
) -> tuple[State, Entry]:
    """Verify and fold a history; return the state and the last entry, which new ones follow.

    An entry that contradicts the state is skipped: ``state.passed_over`` counts these.

    ``state`` and ``head``, if given, are a snapshot's: the entries follow it. The given state is
    changed and returned. Constant memory beside the state.

    Raises:
        ChainError: the history was altered.
        UndecodableError: an entry holds an event that this version does not know.
    """
    state = State() if state is None else state
    assert state.seq == head.seq, "the state ends where the entries begin"
    for entry in verify(entries, head):
        apply_recorded(state, decode(entry.payload))
        head = entry
    return state, head
