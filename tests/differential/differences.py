"""Where Tidegate's own rules lead elsewhere than Kueue's, scenario by scenario.

``python -m tests.differential.differences`` prints the table of docs/differences.md. An outcome is
what runs where in the end and who was preempted on the way; in which cycle is none.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass

from tests.conformance.cases import Json
from tests.differential import outcome
from tests.differential.play import Step, run_step
from tests.differential.rest import unserved
from tests.differential.scenarios import DATA, Scenario, classes
from tests.differential.termination import circles
from tests.differential.world import World


@dataclass(frozen=True)
class Difference:
    """The first step of a scenario whose outcome differs."""

    scenario: str
    step: int
    what: str
    why: str


@dataclass
class Pair:
    """One scenario under both rules, side by side."""

    kueue: World
    ours: World


def differences() -> Iterator[Difference]:
    """Yield the recorded scenarios whose outcome differs, in order."""
    for name, scenarios in classes(DATA):
        for scenario in scenarios if name != "livelocks" else ():
            if found := difference(scenario):
                yield found


def difference(scenario: Scenario) -> Difference | None:
    """Return the first step of a scenario whose outcome differs, or None."""
    pair = Pair(World(scenario, "kueue"), World(scenario, "tidegate"))
    for number, told in enumerate(scenario.steps):
        theirs = run_step(pair.kueue, number, told["actions"])
        ours = run_step(pair.ours, number, told["actions"])
        what = _what(pair, theirs, ours)
        if what:
            return Difference(scenario.id, number, what, _why(pair, theirs, ours))
    return None


def _what(pair: Pair, theirs: Step, ours: Step) -> str:
    """Return in words what differs in a step's outcome, "" if nothing does."""
    told = _running(pair.kueue), _running(pair.ours)
    parts = []
    only_kueue, only_ours = _only(*told), _only(told[1], told[0])
    if only_kueue or only_ours:
        parts.append(f"runs {_names(only_ours)} in place of {_names(only_kueue)}")
    moved = [name for name in sorted(told[0].keys() & told[1].keys()) if _differ(told, name)]
    if moved:
        parts.append(", ".join(f"{name} on {told[1][name]}" for name in moved))
    victims = outcome.preemptions(theirs.cycles), outcome.preemptions(ours.cycles)
    if victims[0] != victims[1]:
        parts.append(f"{len(victims[1])} preemptions in place of {len(victims[0])}")
    return "; ".join(parts)


def _why(pair: Pair, theirs: Step, ours: Step) -> str:
    """Return why ours is better, from what Kueue's rules came to and what ours did first."""
    if came_back := list(circles(pair.kueue.journal)):
        victim, _, rest = came_back[0].partition(" came back before ")
        by = rest.partition(",")[0]
        return f"{_short(by)} is not robbed of the room that {_short(victim)} made for it"
    if waiting := list(unserved(pair.kueue.draft)):
        name = _short(waiting[0].partition(" ")[0])
        return f"{name} does not wait beside quota that fits it"
    first = _first(theirs.cycles), _first(ours.cycles)
    return f"?? {first}"


def _first(cycles: list[Json]) -> str:
    return "; ".join(str(one) for one in cycles[:3])


def _running(world: World) -> dict[str, str]:
    """Return who holds quota, and where in words."""
    return {
        one.job.name: ", ".join(
            f"{given.count} x {'/'.join(dict.fromkeys(given.flavors.values()))}"
            for given in one.assignment
        )
        for one in world.draft.workloads.values()
        if one.phase in ("reserved", "admitted", "evicting")
    }


def _differ(told: tuple[dict[str, str], dict[str, str]], name: str) -> bool:
    return told[0][name] != told[1][name]


def _only(one: dict[str, str], other: dict[str, str]) -> list[str]:
    return sorted(one.keys() - other.keys())


def _names(names: list[str]) -> str:
    return ", ".join(names) if names else "nobody"


def _short(key: str) -> str:
    return key.partition("/")[2]


if __name__ == "__main__":
    for each in differences():
        sys.stdout.write(f"| {each.scenario} | {each.step} | {each.what} | {each.why} |\n")
