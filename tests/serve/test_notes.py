"""What is noted as the history is folded is what folding it for one workload finds."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from store.archive.archive_format import Archive
from tests.parts.sample import ENTRIES
from tidegate.contracts.codec import decode
from tidegate.contracts.entry import Entry
from tidegate.core.folding import snapshot
from tidegate.core.folding.fold import apply_recorded
from tidegate.core.quota.forest import forest
from tidegate.core.quota.tree import Node
from tidegate.core.state.cluster_queues import Tree
from tidegate.core.state.state import State, Workload
from tidegate.replay.story.context import ContextFolder, EventContext, event_contexts
from tidegate.replay.story.freeing import FreedQuota
from tidegate.serve.ledger.live import LiveState
from tidegate.serve.ledger.memory import free_state
from tidegate.serve.ledger.notes import ContextNotes

BUSY = Path(__file__).parent.parent / "ledgers" / "kept" / "0.1.0-busy.jsonl.gz"


def noted(entries: list[Entry]) -> ContextNotes:
    notes, looking = ContextNotes(), ContextFolder(State())
    for entry in entries:
        notes.add(entry.seq, entry.turn, looking.fold(entry, decode(entry.payload)))
    return notes


@pytest.fixture(scope="module")
def busy() -> list[Entry]:
    return list(Archive(BUSY).read())


def test_notes_of_all_are_those_of_each(busy: list[Entry]) -> None:
    notes, owners = noted(busy), dict[str, list[int]]()
    for entry in busy:
        owners.setdefault(getattr(decode(entry.payload), "workload", ""), []).append(entry.seq)
    preempted = [entry.seq for entry in busy if entry.type == "WorkloadPreempted"]
    keys = {key for key, seqs in owners.items() if {*seqs} & {*preempted}}
    assert len(keys) > 5
    for key in sorted(keys):
        expected = {
            seq: note
            for seq, note in event_contexts(busy, key, busy[-1].seq).items()
            if note != EventContext()
        }
        mapping = {seq: note for seq in owners[key] if (note := notes.get(seq)) is not None}
        assert mapping == expected


def test_what_a_turn_freed_is_kept_once() -> None:
    freed = tuple(
        FreedQuota(seq=n, at_us=n, type="WorkloadFinished", object=f"a/{n}") for n in range(100)
    )
    notes = ContextNotes()
    for seq in range(1_000, 1_100):
        notes.add(seq, 7, EventContext(freed=freed))
    notes.add(1_100, 8, EventContext(freed=freed[:1]))
    assert notes.get(1_050) == EventContext(freed=freed)
    assert notes.get(1_100) == EventContext(freed=freed[:1])
    assert notes.get(999) is None
    assert notes.size < 2 * 100 * 100


def test_a_server_ends_with_one_state_and_nothing_that_only_deciding_takes_away(
    ledger: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidegate.serve.ledger.live.FORGOTTEN_EACH", 1)
    live = LiveState(ledger)
    while live.fold(live.read()) + live.index_page():
        pass
    try:
        with live.state() as state:
            assert state.seq == live.index.seq == live.verified_seq == len(ENTRIES)
            assert not state.forest.to_reconcile
            assert not state.forest.unready
            queues = state.forest.cluster_queues.values()
            assert not any(queue.heap for queue in queues)
            assert {workload.shape for workload in state.workloads.values()} - {None} == {
                shape for queue in queues for shape in queue.shapes.values()
            }
        assert live.fault == ""
    finally:
        live.close()


def test_a_state_that_is_taken_apart_leaves_nothing_to_collect() -> None:
    state = State()
    for entry in ENTRIES:
        apply_recorded(state, decode(entry.payload))
    forest(state)
    gc.collect()
    gc.disable()
    try:
        before = held()
        taken = snapshot.decode(snapshot.encode(state))
        assert forest(taken).trees
        assert held() > before
        free_state(taken)
        del taken
        assert held() == before
    finally:
        gc.enable()


def held() -> int:
    """Return how many parts of states there are, of this test's and of others'."""
    return sum(isinstance(obj, Node | Tree | Workload) for obj in gc.get_objects())
