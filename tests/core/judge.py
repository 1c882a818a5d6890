"""The slow way to decide, which judges the fast one: ``python -m tests.core.judge --seeds N``.

Before each scheduling cycle the state is written and read back, so that every head of every
ClusterQueue is looked at anew and nothing is remembered of what was tried before; and whoever could
preempt is searched for victims, whatever sums say. On random scenarios each way to decide must give
the same decisions, to the byte: in one turn or in many, from one leader or from one a turn.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from random import Random
from typing import TypeAlias
from unittest.mock import patch

from tests.differential.random_scenarios import actions, scenario
from tests.differential.scenarios import SECOND_US
from tests.differential.world import World
from tidegate.contracts import facts
from tidegate.contracts.codec import encode as encode_event
from tidegate.contracts.decisions import DecisionEvent, StopOrdered
from tidegate.core.decide import decide
from tidegate.core.folding.snapshot import decode, encode
from tidegate.core.state.state import State

Way: TypeAlias = Callable[[State], tuple[State, list[DecisionEvent]]]
_TURNS_MAX = 2_000


def fast(state: State) -> tuple[State, list[DecisionEvent]]:
    """Decide in one turn."""
    return state, decide(state)


def in_turns(decisions_max: int) -> Way:
    """Decide in turns of a size, each by a leader that read the state back."""

    def way(state: State) -> tuple[State, list[DecisionEvent]]:
        told: list[DecisionEvent] = []
        for _ in range(_TURNS_MAX):
            state = decode(encode(state))
            if not (found := decide(state, decisions_max=decisions_max)):
                return state, told
            told += found
        raise AssertionError("it never settles")

    return way


def slow(state: State) -> tuple[State, list[DecisionEvent]]:
    """Decide cycle by cycle, with every head looked at in each."""
    told: list[DecisionEvent] = []
    with _exhaustive():
        for _ in range(_TURNS_MAX):
            state = decode(encode(state))
            if not (found := decide(state, cycles_max=1)):
                return state, told
            told += found
    raise AssertionError("it never settles")


def journal(seed: int, way: Way, mode: str = "tidegate") -> list[bytes]:
    """Play a scenario drawn from a seed; return all that was folded, as it is recorded."""
    told = scenario(seed)
    world, rng = World(told, mode), Random(f"{seed}/judged")
    fresh = [one["name"] for one in told.input["workloads"]]
    for number in range(rng.randint(3, 6)):
        world.begin(number, actions(rng, world, fresh))
        _settle(world, way)
    return [encode_event(one) for one in world.journal]


def _settle(world: World, way: Way) -> None:
    leaving: list[StopOrdered] = []
    rng = Random(len(world.journal))
    for _ in range(_TURNS_MAX):
        world.now_us += SECOND_US
        world.fold([facts.TimePassed(at_us=world.now_us)])
        world.state, decisions = way(world.state)
        world.journal += decisions
        leaving += (one for one in decisions if isinstance(one, StopOrdered))
        if not decisions and not leaving:
            return
        gone = [one for one in leaving if rng.random() < 0.5]
        leaving = [one for one in leaving if one not in gone]
        stopped = (
            facts.WorkloadStopped(at_us=world.now_us, workload=one.workload, uid=one.uid)
            for one in gone
        )
        world.fold(stopped)


@contextmanager
def _exhaustive() -> Iterator[None]:
    """Search victims for whoever might preempt, whatever the sums say."""
    with patch("tidegate.core.preemption.search.may_suffice", lambda *_: True):
        yield


def main(arguments: Sequence[str]) -> int:
    """Judge seeds one after another; return 1 if decisions differ anywhere."""
    parser = ArgumentParser(prog="python -m tests.core.judge", description=__doc__)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    asked = parser.parse_args(arguments)
    wrong = [
        seed
        for seed in range(asked.first, asked.first + asked.seeds)
        if journal(seed, fast) != journal(seed, slow)
    ]
    sys.stdout.write(f"{asked.seeds} seeds, other decisions in {len(wrong)}: {wrong[:20]}" + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
