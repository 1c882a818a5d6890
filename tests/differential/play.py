"""A scenario played step by step and compared with what was recorded.

Each step goes on from our own state; the first step that differs ends the scenario.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.conformance.cases import Json
from tests.conformance.report import compare
from tests.differential import outcome
from tests.differential.allowance import excesses
from tests.differential.rest import unserved
from tests.differential.scenarios import Scenario
from tests.differential.termination import circles
from tests.differential.world import World
from tidegate.contracts.decisions import DecisionEvent, WorkloadPending
from tidegate.core.cycle.cycle import is_settled

CYCLES_MAX = 400
"""More cycles than a step may take: a few dozen workloads settle in far fewer, or never."""

IDLE_CYCLES = 6
"""After so many cycles in which no workload moves Kueue counts as at rest; ours says when it is."""

STATE, PREEMPTIONS, ORDER, REST = "state", "preemptions", "order", "rest"
LEVELS = (STATE, PREEMPTIONS, ORDER, REST)


@dataclass
class Verdict:
    """What differed, by level; nothing: the scenario passed."""

    differences: dict[str, list[str]] = field(default_factory=dict)

    def lines(self) -> Iterator[str]:
        """Yield every difference behind its level."""
        for level, lines in self.differences.items():
            yield from (f"{level}: {line}" for line in lines)


@dataclass
class Step:
    """What one step came to."""

    acted: list[DecisionEvent]
    cycles: list[Json]  # only those in which something happened
    settled: bool


def play(scenario: Scenario, mode: str) -> Verdict:
    """Play a scenario; a last step without a recorded end must settle with the property."""
    world = World(scenario, mode)
    for number, fields in enumerate(scenario.steps):
        step = run_step(world, number, fields["actions"])
        if "expected" in fields:
            verdict = _judge(world, step, fields["expected"], number)
        else:
            verdict = termination(world, step)
        if verdict.differences:
            return verdict
    return Verdict()


def run_step(world: World, number: int, actions: list[Json], cycles_max: int = CYCLES_MAX) -> Step:
    """Act, then run cycles until nothing more follows, or as many as are wanted."""
    acted = world.begin(number, actions)
    cycles: list[Json] = []
    idle = 0
    kueue = world.state.policy.compatibility == "kueue"
    for _ in range(cycles_max):
        resting = (kueue and idle == IDLE_CYCLES) or is_settled(world.state)
        if resting and not world.wait():
            return Step(acted, cycles, settled=True)
        decisions = world.cycle()
        idle = 0 if any(_moves(decision) for decision in decisions) else idle + 1
        if event := outcome.event(decisions):
            cycles.append(event)
    return Step(acted, cycles, settled=False)


def _moves(decision: DecisionEvent) -> bool:
    """Tell whether a decision changes a workload's quota or whether it is offered, not only why."""
    return not isinstance(decision, WorkloadPending) or decision.inadmissible


def termination(world: World, step: Step) -> Verdict:
    """Judge the property that ends every circle, on the whole history so far."""
    names = [] if step.settled else [f"does not settle within {CYCLES_MAX} cycles"]
    names += circles(world.journal)
    names += excesses(world.journal)
    if step.settled:
        names += unserved(world.state)
    return Verdict({REST: names} if names else {})


def _judge(world: World, step: Step, expected: Json, number: int) -> Verdict:
    wanted = outcome.recorded_state(expected)
    at = f"step {number} "
    state = list(compare(f"{at}it", wanted, outcome.state(world, step.acted)))
    recorded = [_normal(cycle) for cycle in expected["cycles"]]
    victims = compare(
        f"{at}victims", outcome.preemptions(recorded), outcome.preemptions(step.cycles)
    )
    trees = outcome.trees(world) if world.scenario.fair else {}
    order = compare(
        f"{at}cycles", outcome.order(recorded, trees), outcome.order(step.cycles, trees)
    )
    if not step.settled:
        state.append(f"{at}does not settle within {CYCLES_MAX} cycles")
    fields = {STATE: state, PREEMPTIONS: list(victims), ORDER: list(order)}
    return Verdict({level: lines for level, lines in fields.items() if lines})


def _normal(cycle: Json) -> Json:
    fields = {name: value for name, value in cycle.items() if name != "cycle"}
    for preemption in fields.get("preempt", ()):
        preemption["victims"] = sorted(preemption["victims"])
    return fields
