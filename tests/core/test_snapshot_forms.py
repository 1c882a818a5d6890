"""A snapshot is written without a copy of the state; an audit compares it by its content."""

from __future__ import annotations

import tracemalloc

import pytest

from tests.core.test_redefined_queues import opened, submitted
from tidegate.core.folding import snapshot
from tidegate.core.folding.fold import apply
from tidegate.core.state.state import State
from tidegate.errors import UndecodableError

WAITING = 500
DEEP = b"\x91" * 200_000 + b"\x90"
"""An array in an array, and so on: another field than a snapshot has."""


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


@pytest.mark.parametrize("of", ["nested without end", "no text", "an unknown ClusterQueue"])
def test_bytes_that_no_state_gives_are_refused_whatever_they_are(state: State, of: str) -> None:
    written = snapshot.write(state)
    broken = {
        "nested without end": written[:2].replace(b"\x96", b"\x97") + written[2:] + DEEP,
        "no text": written.replace(b"ns/job-7", b"ns/job-\xff"),
        "an unknown ClusterQueue": b"\xa5other".join(written.rsplit(b"\xa4team", 1)),
    }[of]
    assert broken != written
    assert not snapshot.is_snapshot_of(broken, state)
    with pytest.raises(UndecodableError):
        snapshot.decode(broken)


def test_both_forms_are_snapshots_of_the_state_and_no_other_bytes_are(state: State) -> None:
    written = snapshot.write(state)
    assert snapshot.is_snapshot_of(written, state)
    assert snapshot.is_snapshot_of(snapshot.encode(state), state)
    assert snapshot.encode(snapshot.decode(written)) == snapshot.encode(state)
    for broken in (b"", written[:-1], written[1:], bytes(len(written))):
        assert not snapshot.is_snapshot_of(broken, state)
    apply(state, submitted("one-more", "30", "1Gi"))
    assert not snapshot.is_snapshot_of(written, state)
