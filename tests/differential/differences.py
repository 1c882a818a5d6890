"""Where Tidegate's own rules lead elsewhere than Kueue's, scenario by scenario.

``python -m tests.differential.differences`` prints the table of docs/differences.md. An outcome is
what runs where in the end and who was preempted on the way; in which cycle is none.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass

from tests.differential import outcome
from tests.differential.play import Step, run_step
from tests.differential.reasons import Move, Pair, moves, reason
from tests.differential.scenarios import DATA, Scenario, classes
from tests.differential.world import World


@dataclass(frozen=True)
class Difference:
    """The first step of a scenario whose outcome differs."""

    scenario: str
    step: int
    what: str
    why: str

    def row(self) -> str:
        """Return a row of the document's table."""
        return f"| {self.scenario} | {self.step} | {self.what} | {self.why} |"


def differences() -> Iterator[Difference]:
    """Yield the recorded scenarios whose outcome differs, in order."""
    for name, scenarios in classes(DATA):
        for scenario in scenarios if name != "livelocks" else ():
            if found := difference(scenario):
                yield found


def difference(scenario: Scenario) -> Difference | None:
    """Return the first step of a scenario whose outcome differs, or None."""
    kueue, ours = World(scenario, "kueue"), World(scenario, "tidegate")
    for number, told in enumerate(scenario.steps):
        starts = len(kueue.journal), len(ours.journal)
        steps = (
            run_step(kueue, number, told["actions"]),
            run_step(ours, number, told["actions"]),
        )
        if what := _what(kueue, ours, steps):
            pair = Pair(
                draft=ours.draft,
                journal=ours.journal,
                theirs=list(_since(kueue, starts[0])),
                ours=list(_since(ours, starts[1])),
            )
            return Difference(scenario.id, number, what, reason(pair))
    return None


def _since(world: World, start: int) -> Iterator[Move]:
    return moves(world.journal[start:])


def _what(kueue: World, ours: World, steps: tuple[Step, Step]) -> str:
    """Return in words what differs in a step's outcome, "" if nothing does."""
    told = _running(kueue), _running(ours)
    parts = []
    only_kueue, only_ours = _only(*told), _only(told[1], told[0])
    if only_kueue or only_ours:
        parts.append(f"runs {_names(only_ours)}, not {_names(only_kueue)}")
    moved = [name for name in sorted(told[0].keys() & told[1].keys()) if _differ(told, name)]
    parts += [f"{name} on {told[1][name]}, not {told[0][name]}" for name in moved]
    victims = [outcome.preemptions(step.cycles) for step in steps]
    if len(victims[0]) != len(victims[1]):
        parts.append(f"{_preemptions(len(victims[1]))}, not {len(victims[0])}")
    elif victims[0] != victims[1] and not parts:
        parts.append("preempts others")
    return "; ".join(parts)


def _running(world: World) -> dict[str, str]:
    """Return who holds quota, and where in words."""
    return {
        one.job.name: ", ".join(
            f"{given.count} {'/'.join(dict.fromkeys(given.flavors.values()))}"
            for given in one.assignment
        )
        for one in world.draft.workloads.values()
        if one.phase in ("reserved", "admitted", "evicting")
    }


def _preemptions(count: int) -> str:
    return f"{count} preemption" if count == 1 else f"{count} preemptions"


def _differ(told: tuple[dict[str, str], dict[str, str]], name: str) -> bool:
    return told[0][name] != told[1][name]


def _only(one: dict[str, str], other: dict[str, str]) -> list[str]:
    return sorted(one.keys() - other.keys())


def _names(names: list[str]) -> str:
    return ", ".join(names) if names else "nobody"


if __name__ == "__main__":
    for each in differences():
        sys.stdout.write(f"{each.row()}\n")
