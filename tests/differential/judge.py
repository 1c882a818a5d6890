"""Which rules a scenario is judged under, and at which level it differed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from tests.conformance.report import Judge, Outcome
from tests.differential.play import LEVELS, Verdict, play
from tests.differential.scenarios import Scenario


def judge(mode: str | None) -> Judge[Scenario]:
    """Return how a class is judged; ``None``: see ``verdict``."""
    return Judge(
        run=lambda scenario: verdict(scenario, mode).lines(),
        needs=lambda _: None,
        bug=lambda _: None,
        id=lambda scenario: scenario.id,
    )


def verdict(scenario: Scenario, mode: str | None) -> Verdict:
    """Play a scenario under a mode's rules.

    Without one, recorded steps are played by Kueue's. A last step that Kueue never ends is then
    played by ours, and so are the steps before it, unless they alone tell the two apart: such a
    scenario reaches its last step by another way and is judged on termination only.
    """
    if mode is not None:
        return play(scenario, mode)
    if not scenario.loops:
        return play(scenario, "kueue")
    before = play(_without_last(scenario), "kueue")
    return before if before.differences else play(_unrecorded(scenario), "tidegate")


def levels_missed(outcomes: Iterable[Outcome]) -> Iterator[str]:
    """Yield how many scenarios differ at which level, if any does."""
    missed: Counter[str] = Counter()
    for outcome in outcomes:
        for lines in outcome.failed.values():
            missed.update({line.partition(":")[0] for line in lines})
    names = [f"{level} {missed[level]}" for level in LEVELS if missed[level]]
    if names:
        yield ""
        yield f"Differing in: {', '.join(names)}"


def _without_last(scenario: Scenario) -> Scenario:
    return _with_steps(scenario, scenario.steps[:-1])


def _unrecorded(scenario: Scenario) -> Scenario:
    steps = [{"actions": step["actions"]} for step in scenario.steps]
    return _with_steps(scenario, steps)


def _with_steps(scenario: Scenario, steps: list[dict[str, object]]) -> Scenario:
    return Scenario(
        id=scenario.id,
        config=scenario.config,
        input=scenario.input,
        steps=steps,
        loops=scenario.loops,
    )
