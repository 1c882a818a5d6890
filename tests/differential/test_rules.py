"""Rules of Kueue's that no recorded scenario tells apart, each on a small world: ``rules/*.yaml``.

What is expected of a step follows from the text of the rule, with which each file begins. ``modes``
are those in which it holds; ``cycles_max`` ends a step before nothing more follows.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.conformance.cases import Json
from tests.differential.outcome import order, state
from tests.differential.play import CYCLES_MAX, Step, run_step
from tests.differential.scenarios import Scenario
from tests.differential.world import World

RULES = sorted((Path(__file__).parent / "rules").glob("*.yaml"))


def worlds(path: Path) -> Iterator[tuple[World, list[Json]]]:
    """Yield a world for each mode of a file, and its steps."""
    document: Json = msgspec.yaml.decode(path.read_text())
    steps = document["steps"]
    scenario = Scenario(
        id=path.stem, config=document.get("config", {}), input=document["input"], steps=steps
    )
    for mode in document.get("modes", ["kueue"]):
        yield World(scenario, mode), steps


def seen(world: World, played: Step) -> Json:
    """Return what a step may expect: what happened in its cycles, and how it ended."""
    at_end = state(world, ())
    waiting = ((w.job.name, w.pending_status) for w in world.state.workloads.values())
    return {
        "cycles": order(played.cycles, {}),
        "usage": at_end["usage"],
        "counts": {
            name: {podset: given["count"] for podset, given in podsets.items()}
            for name, podsets in at_end["admitted"].items()
        },
        "reasons": {name: pending.reason for name, pending in waiting if pending is not None},
    }


@pytest.mark.parametrize("path", RULES, ids=lambda path: path.stem)
def test_a_rule(path: Path) -> None:
    for world, steps in worlds(path):
        for number, step in enumerate(steps):
            played = run_step(world, number, step["actions"], step.get("cycles_max", CYCLES_MAX))
            assert played.settled or "cycles_max" in step, f"step {number}"
            expected = {**step["expected"], "cycles": order(step["expected"]["cycles"], {})}
            actual = seen(world, played)
            assert {name: actual[name] for name in expected} == expected, f"step {number}"


def test_there_are_rules() -> None:
    assert len(RULES) >= 10
