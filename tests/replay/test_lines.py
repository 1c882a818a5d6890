"""The lines that are kept sorted have the order that the heaps have, after every event."""

from __future__ import annotations

from pathlib import Path

import pytest

from store.archive.archive_format import Archive
from tests.parts.sample import ENTRIES
from tidegate.contracts.codec import decode
from tidegate.contracts.entry import Entry
from tidegate.core.folding.fold import apply_recorded
from tidegate.core.state.state import State, Workload
from tidegate.replay.story.context import PendingOrder, workloads_ahead

KEPT = sorted((Path(__file__).parent.parent / "ledgers" / "kept").glob("*.jsonl.gz"))


def entries_of(name: str) -> list[Entry]:
    return ENTRIES if name == "sample" else list(Archive(Path(KEPT[0].parent / name)).read())


def asked(state: State, seq: int) -> list[Workload]:
    """Return the workloads to compare: all that wait now and then, else every seventh."""
    waiting = [each for each in state.workloads.values() if each.phase == "pending"]
    return waiting if seq % 10 == 0 else waiting[seq % 7 :: 7]


@pytest.mark.parametrize("name", ["sample", *(path.name for path in KEPT)])
def test_lines_follow_every_event(name: str) -> None:
    state, lines, compared = State(), PendingOrder(), 0
    for entry in entries_of(name):
        apply_recorded(state, decode(entry.payload))
        lines.apply_changes(state)
        for workload in asked(state, entry.seq):
            before = [each.key for each in workloads_ahead(state, workload)]
            place = lines.ahead(state, workload, 5)
            assert (place.count, list(place.first)) == (len(before), before[:5]), entry
            compared += 1
    assert compared > 10


def test_a_change_costs_no_walk_through_the_line() -> None:
    """A line of a queue that is not asked for is not made, and one that is there is not sorted."""
    state, lines = State(), PendingOrder()
    for entry in ENTRIES:
        apply_recorded(state, decode(entry.payload))
        lines.apply_changes(state)
        assert not lines._lines  # noqa: SLF001 - the public answers hide that nothing was made
        assert state.forest.requeued == []
