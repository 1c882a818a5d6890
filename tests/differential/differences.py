"""Where Tidegate's own rules lead elsewhere than Kueue's, scenario by scenario, and why.

``python -m tests.differential.differences`` writes the tables of docs/differences.md anew. An
outcome is what runs where at the end of a step and what was preempted on the way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tests.differential import outcome
from tests.differential.causes import causes
from tests.differential.play import Step, run_step
from tests.differential.reasons import Pair, remaining, why
from tests.differential.scenarios import DATA, MORE, Scenario, classes
from tests.differential.without import without
from tests.differential.world import World

DOCUMENT = Path(__file__).parents[2] / "docs" / "differences.md"
_BEGIN, _END = "<!-- written by python -m tests.differential.differences -->", "<!-- end -->"
Level = Literal["outcome", "order"]


@dataclass(frozen=True)
class Difference:
    """The first step of a scenario that ends otherwise; or that only goes otherwise."""

    scenario: str
    level: Level
    step: int
    kueue: str
    ours: str
    rules: tuple[str, ...]
    why: str

    def row(self) -> str:
        """Return a row of the document's table."""
        cells = self.scenario, self.step, self.kueue, self.ours, ", ".join(self.rules), self.why
        return f"| {' | '.join(map(str, cells))} |"


@dataclass(frozen=True)
class _Played:
    """One step of one world."""

    world: World
    step: Step
    start: int  # where its journal was when the step began

    @property
    def running(self) -> dict[str, str]:
        return running(self.world)

    def seen(self, level: Level) -> object:
        """Return what is compared."""
        if level == "outcome":
            return self.running, outcome.preemptions(self.step.cycles)
        trees = outcome.trees(self.world) if self.world.scenario.fair else {}
        return outcome.order(self.step.cycles, trees)


def recorded(folder: Path) -> list[Scenario]:
    """Return the scenarios of a folder that have an outcome, in order."""
    each = (scenarios for name, scenarios in classes(folder) if name != "livelocks")
    return [scenario for scenarios in each for scenario in scenarios]


def differences(folder: Path) -> Iterator[Difference]:
    """Yield the recorded scenarios of a folder that differ, in order."""
    for scenario in recorded(folder):
        if actual_difference := difference(scenario):
            yield actual_difference


def difference(scenario: Scenario) -> Difference | None:
    """Return how a scenario's outcome differs; if it does not, how its order does; or None."""
    kueue, ours = World(scenario, "kueue"), World(scenario, "tidegate")
    order: Difference | None = None
    for number in range(len(scenario.steps)):
        played = _play(kueue, number), _play(ours, number)
        if played[0].seen("outcome") != played[1].seen("outcome"):
            return _told("outcome", number, *played)
        if order is None and played[0].seen("order") != played[1].seen("order"):
            order = _told("order", number, *played)
    return order


def document(before: str) -> str:
    """Return the document with its tables made anew."""
    head, rest = before.split(_BEGIN)
    tail = rest.split(_END)[1]
    first, more = (_tables(folder, of) for folder, of in ((DATA, ""), (MORE, "more/")))
    return f"{head}{_BEGIN}\n\n{first}\n{more}\n{_END}{tail}"


def _play(world: World, number: int, left_out: tuple[str, ...] = ()) -> _Played:
    start = len(world.journal)
    with without(*left_out):
        step = run_step(world, number, world.scenario.steps[number]["actions"])
    return _Played(world, step, start)


def _told(level: Level, number: int, kueue: _Played, ours: _Played) -> Difference:
    rows = [
        (each.world.journal[each.start :], each.world.journal[: each.start])
        for each in (kueue, ours)
    ]
    pair = Pair(rows[0][0], rows[1][0], rows[0][1], rows[1][1])
    rules = _causes(level, number, kueue, ours) or (remaining(pair),)
    return Difference(
        ours.world.scenario.id,
        level,
        number,
        *_what(kueue, ours),
        rules,
        "; ".join(why(rule, pair) for rule in rules),
    )


def _causes(level: Level, number: int, kueue: _Played, ours: _Played) -> tuple[str, ...]:
    """Return the rules by which a step goes otherwise; the steps before it are played with all."""

    def play(left_out: tuple[str, ...]) -> object:
        world = World(ours.world.scenario, "tidegate")
        for earlier in range(number):
            _play(world, earlier)
        return _play(world, number, left_out).seen(level)

    return causes(play, ours.seen(level), kueue.seen(level))


def _what(kueue: _Played, ours: _Played) -> tuple[str, str]:
    """Return what Kueue did and what Tidegate does where they differ, in words."""
    return _side(kueue, ours), _side(ours, kueue)


def _side(result: _Played, other: _Played) -> str:
    here, there = result.running, other.running
    alone = sorted(here.keys() - there.keys())
    parts = [f"runs {_names(alone)}"] if here.keys() != there.keys() else []
    both = sorted(here.keys() & there.keys())
    parts += [f"{name} on {here[name]}" for name in both if here[name] != there[name]]
    victims = [outcome.preemptions(each.step.cycles) for each in (result, other)]
    if victims[0] != victims[1]:
        only = [each for each in victims[0] if each not in victims[1]]
        parts += [f"{by} evicts {victim}" for by, victim, _ in only] or ["evicts no other workload"]
    return "; ".join(parts)


def running(world: World) -> dict[str, str]:
    """Return by workload where it holds quota, in words."""
    return {
        workload.job.name: ", ".join(
            f"{given.count} {'/'.join(dict.fromkeys(given.flavors.values()))}"
            for given in workload.assignment
        )
        for workload in world.state.workloads.values()
        if workload.phase in ("reserved", "admitted", "evicting")
    }


def _names(names: list[str]) -> str:
    return ", ".join(names) if names else "no other workload"


def _tables(folder: Path, of: str) -> str:
    """Return the tables of a folder, whose scenarios are called ``of`` it."""
    actual_differences, count = list(differences(folder)), len(recorded(folder))
    ends = [
        candidate_difference
        for candidate_difference in actual_differences
        if candidate_difference.level == "outcome"
    ]
    goes = [
        candidate_difference
        for candidate_difference in actual_differences
        if candidate_difference.level == "order"
    ]
    rows = "\n".join(candidate_difference.row() for candidate_difference in ends)
    which = f" in {of.rstrip('/')}" if of else ""
    lines = "\n".join(
        _same_rule(rules, goes)
        for rules in sorted({candidate_difference.rules for candidate_difference in goes})
    )
    return (
        f"## Scenarios whose outcome differs{which} ({len(ends)} of {count})\n\n"
        "| scenario | step | Kueue | Tidegate | rule | why it is better |\n"
        f"| --- | --: | --- | --- | --- | --- |\n{rows}\n\n"
        f"## The same outcome, in another order{which} ({len(goes)})\n\n{lines}\n\n"
        f"The other {count - len(actual_differences)} go as Kueue's in every cycle.\n"
    )


def _same_rule(rules: tuple[str, ...], goes: list[Difference]) -> str:
    by_class: dict[str, list[str]] = {}
    for candidate_difference in goes:
        if candidate_difference.rules == rules:
            name, _, number = candidate_difference.scenario.partition("/")
            by_class.setdefault(name, []).append(number)
    text = "; ".join(f"{name} {', '.join(numbers)}" for name, numbers in by_class.items())
    return f"- **{', '.join(rules)}**: {text}"


if __name__ == "__main__":
    DOCUMENT.write_text(document(DOCUMENT.read_text()))
