"""The slow way to decide, which judges the fast one: ``python -m tests.core.judge --seeds N``.

Before each scheduling cycle the state is written and read back, so that every head of every
ClusterQueue is looked at anew, without memory of what was tried before; and victims are searched
for each workload that could preempt, whatever sums say. On random scenarios each way to decide must
give the same decisions, to the byte: in one turn or in many, from one leader or from one a turn.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from random import Random
from typing import TypeAlias
from unittest.mock import patch

from tests.conformance.cases import Json
from tests.differential.drawing import WEIGHTS, group, queue, workload
from tests.differential.random_scenarios import actions, scenario
from tests.differential.scenarios import SECOND_US, Scenario
from tests.differential.world import World
from tidegate.contracts import facts
from tidegate.contracts.codec import encode as encode_event
from tidegate.contracts.decisions import DecisionEvent, StopOrdered
from tidegate.contracts.facts import FactEvent
from tidegate.core.decide import decide
from tidegate.core.folding.snapshot import decode, encode
from tidegate.core.preemption.bounds import Preemptor
from tidegate.core.state.state import State

Way: TypeAlias = Callable[[State], tuple[State, list[DecisionEvent]]]
Between: TypeAlias = Callable[[Random, World], list[FactEvent]]
_TURNS_MAX = 2_000
_ROUNDS_KUEUE_MAX = 8
_DECISIONS_KUEUE_MAX = 900
"""Kueue's rules may go round for ever: after so many seconds a step is over, and after so many
decisions at once the scenario."""


class _CircleError(Exception):
    """Kueue's rules go round within one moment."""


MACHINE, GPU = ("cpu", "memory"), "gpu"


def fast(state: State) -> tuple[State, list[DecisionEvent]]:
    """Decide in one turn."""
    decisions = decide(state)
    if state.policy.compatibility == "kueue" and len(decisions) >= _DECISIONS_KUEUE_MAX:
        raise _CircleError
    return state, decisions


def in_turns(decisions_max: int) -> Way:
    """Decide in turns of a size, each by a leader that read the state back."""

    def way(state: State) -> tuple[State, list[DecisionEvent]]:
        decisions: list[DecisionEvent] = []
        for _ in range(_TURNS_MAX):
            state = decode(encode(state))
            if not (actual_decisions := decide(state, decisions_max=decisions_max)):
                return state, decisions
            decisions += actual_decisions
            if state.policy.compatibility == "kueue" and len(decisions) >= _DECISIONS_KUEUE_MAX:
                raise _CircleError
        raise AssertionError("it never settles")

    return way


def slow(state: State) -> tuple[State, list[DecisionEvent]]:
    """Decide cycle by cycle, with every head looked at in each."""
    decisions: list[DecisionEvent] = []
    with _exhaustive():
        for _ in range(_TURNS_MAX):
            state = decode(encode(state))
            if not (actual_decisions := decide(state, cycles_max=1)):
                return state, decisions
            decisions += actual_decisions
    raise AssertionError("it never settles")


def journal(seed: int, way: Way, mode: str = "tidegate") -> list[bytes]:
    """Play a scenario drawn from a seed; return all that was folded, as it is recorded."""
    return played(seed, wide(seed) if seed % 2 else scenario(seed), way, mode)


def played(
    seed: int, actual_scenario: Scenario, way: Way, mode: str, between: Between | None = None
) -> list[bytes]:
    """Play a scenario with actions drawn from a seed; return all that was folded.

    ``between`` draws what happens after each step has settled.
    """
    world, rng = World(actual_scenario, mode), Random(f"{seed}/judged")
    fresh = [
        candidate_workload["name"] for candidate_workload in actual_scenario.input["workloads"]
    ]
    rounds_max = _ROUNDS_KUEUE_MAX if mode == "kueue" else _TURNS_MAX
    with suppress(_CircleError):
        for number in range(rng.randint(3, 6)):
            world.begin(number, actions(rng, world, fresh))
            _settle(world, way, rounds_max)
            if between is not None:
                world.fold(between(rng, world))
                _settle(world, way, rounds_max)
    return [encode_event(event) for event in world.journal]


def wide(seed: int) -> Scenario:
    """Draw a scenario of two levels of cohorts, two resource groups and three resources."""
    rng = Random(f"{seed}/wide")
    actual_scenario = scenario(seed)
    names = [f"cq-{index}" for index in range(rng.randint(4, 9))]
    pools = ["org", *(f"org-{index}" for index in range(rng.randint(1, 3)))]
    tall = [
        {
            "name": name,
            "spec": {
                "fairSharing": {"weight": rng.choice(WEIGHTS)},
                **({"parentName": "org"} if name != "org" else {}),
            },
        }
        for name in pools
    ]
    queues = [{"name": name, "spec": _wide_queue(rng, rng.choice(pools))} for name in names]
    asked = (rng.choice((MACHINE, MACHINE, (*MACHINE, GPU))) for _ in range(rng.randint(12, 36)))
    actual_scenario.input.update(
        resourceFlavors=[{"name": name, "spec": {}} for name in ("on-demand", "spot", "a100")],
        cohorts=tall,
        clusterQueues=queues,
        localQueues=[{"name": f"lq-{name}", "clusterQueue": name} for name in names],
        workloads=[workload(rng, at, names, list(of)) for at, of in enumerate(asked)],
    )
    return actual_scenario


def _wide_queue(rng: Random, cohort: str) -> Json:
    machines = group(rng, ["on-demand", "spot"], list(MACHINE), limits=True)
    spec: Json = queue(rng, cohort, ["on-demand"], list(MACHINE))
    spec["resourceGroups"] = [machines, group(rng, ["a100"], [GPU], limits=True)]
    return spec


def _settle(world: World, way: Way, rounds_max: int) -> None:
    leaving: list[StopOrdered] = []
    rng = Random(len(world.journal))
    for _ in range(rounds_max):
        world.now_us += SECOND_US
        world.fold([facts.TimePassed(at_us=world.now_us)])
        world.state, decisions = way(world.state)
        world.journal += decisions
        leaving += (decision for decision in decisions if isinstance(decision, StopOrdered))
        if not decisions and not leaving:
            return
        gone = [decision for decision in leaving if rng.random() < 0.5]
        leaving = [decision for decision in leaving if decision not in gone]
        stopped = (
            facts.WorkloadStopped(at_us=world.now_us, workload=decision.workload, uid=decision.uid)
            for decision in gone
        )
        world.fold(stopped)


@contextmanager
def _exhaustive() -> Generator[None]:
    """Search victims for every workload that could preempt, in all queues, whatever sums say."""
    with (
        patch("tidegate.core.preemption.search.may_fit_after_evictions", return_value=True),
        patch("tidegate.core.cycle.cycle.set_aside_if_unchanged", return_value=False),
        patch("tidegate.core.preemption.fair_candidates.candidate_queues", _everybody),
    ):
        yield


def _everybody(asking: Preemptor, _: object) -> set[str]:
    return {state.name for state in asking.cq.tree.cluster_queues}


def main(arguments: Sequence[str]) -> int:
    """Judge seeds one after another; return 1 if decisions differ anywhere."""
    return judge(arguments, "tests.core.judge", __doc__, journal)


def judge(
    arguments: Sequence[str],
    module: str,
    about: str | None,
    play: Callable[[int, Way], list[bytes]],
) -> int:
    """Judge the seeds that a command line asks for; return 1 if decisions differ anywhere."""
    parser = ArgumentParser(prog=f"python -m {module}", description=about)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    asked = parser.parse_args(arguments)
    wrong: list[int] = []
    for done, seed in enumerate(range(asked.first, asked.first + asked.seeds), 1):
        if play(seed, fast) != play(seed, slow):
            wrong.append(seed)
        if done % 50 == 0 or done == asked.seeds:
            line = f"{done} seeds, other decisions in {len(wrong)}: {wrong[:20]}"
            sys.stdout.write(line + "\n")
            sys.stdout.flush()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
