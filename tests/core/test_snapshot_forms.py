"""A snapshot is written without a copy of the state; an audit compares it by its content."""

from __future__ import annotations

import tracemalloc

import pytest

from tests.core.test_redefined_queues import opened, submitted
from tidegate.core.folding import snapshot
from tidegate.core.folding.fold import apply
from tidegate.core.state.state import State

WAITING = 500


@pytest.fixture
def state() -> State:
    state = opened()
    for number in range(WAITING):
        apply(state, submitted(f"job-{number}", "30", "1Gi"))
    return state


def test_what_is_written_takes_no_copy_of_the_workloads(state: State) -> None:
    snapshot.write(state)  # what is made once, such as a struct's type, does not count
    tracemalloc.start()
    try:
        written = snapshot.write(state)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # Each workload's bytes, and all of them as one: a struct of each would be four times.
    assert peak < 3.5 * len(written)


def test_both_forms_are_snapshots_of_the_state_and_no_other_bytes_are(state: State) -> None:
    written = snapshot.write(state)
    assert snapshot.is_of(written, state)
    assert snapshot.is_of(snapshot.encode(state), state)
    assert snapshot.encode(snapshot.decode(written)) == snapshot.encode(state)
    for broken in (b"", written[:-1], written[1:], bytes(len(written))):
        assert not snapshot.is_of(broken, state)
    apply(state, submitted("one-more", "30", "1Gi"))
    assert not snapshot.is_of(written, state)
