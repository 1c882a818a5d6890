"""Histories of random scenarios: folded again, under another hash seed, entry by entry."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conformance.nodes import queue, usage
from tests.differential.random_scenarios import play_random
from tests.differential.rest import forest_of
from tests.parts.drawn import drawn
from tidegate.contracts.codec import decode, encode
from tidegate.core.folding.fold import apply
from tidegate.core.folding.snapshot import encode as snapshot
from tidegate.core.state.state import State

SEEDS = st.integers(min_value=0, max_value=10**9)
MODES = st.sampled_from(("kueue", "tidegate"))
DIGEST = """
import hashlib, sys
from tests.conformance.nodes import queue, usage
from tests.differential.random_scenarios import play_random
from tidegate.contracts.codec import encode
digest = hashlib.sha256()
for seed in range(8):
    for event in play_random(seed, sys.argv[1])[0].journal:
        digest.update(encode(event))
print(digest.hexdigest())
"""


@drawn(15)
@given(SEEDS, MODES)
def test_folding_what_was_written_down_gives_the_same_state(seed: int, mode: str) -> None:
    world, _ = play_random(seed, mode)
    again = State()
    for event in world.journal:
        apply(again, decode(encode(event)))
    assert snapshot(again) == snapshot(world.state)


@drawn(15)
@given(SEEDS, MODES)
def test_the_trees_hold_what_the_workloads_hold(seed: int, mode: str) -> None:
    world, _ = play_random(seed, mode)
    forest = forest_of(world.state)
    for name in world.state.objects.cluster_queues:
        held = {fr: units for fr, units in forest.queues[name].own.items() if units}
        mapping = usage(queue(world.state, name))
        assert {fr: units for fr, units in mapping.items() if units} == held


@drawn(15)
@given(SEEDS)
def test_nothing_is_given_beyond_what_may_be_borrowed_and_no_workload_goes_in_circles(
    seed: int,
) -> None:
    _, verdict = play_random(seed, "tidegate")
    assert list(verdict.lines()) == []


@pytest.mark.parametrize("mode", ["kueue", "tidegate"])
def test_no_decision_hangs_on_the_hash_seed(mode: str) -> None:
    stdouts = {
        subprocess.run(
            [sys.executable, "-c", DIGEST, mode],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "4711")
    }
    assert len(stdouts) == 1
