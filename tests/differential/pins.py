"""The answers of the default mode to every step of every recorded scenario, pinned.

``python -m tests.differential.pins`` writes the folder ``default_mode`` anew: read the diff. Which
of them differ from Kueue's, and by which rule, docs/differences.md says.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.differential import outcome
from tests.differential.differences import running
from tests.differential.play import run_step
from tests.differential.scenarios import DATA, MORE, Scenario, classes
from tests.differential.world import World

FOLDER = Path(__file__).parent / "default_mode"


def files() -> Iterator[tuple[Path, list[Scenario]]]:
    """Yield each file of pins, with its scenarios."""
    for folder in (DATA, MORE):
        for name, scenarios in classes(folder):
            if name != "livelocks":
                more = "more-" if folder is MORE else ""
                yield FOLDER / f"{more}{name}.txt", scenarios


def answers(scenario: Scenario) -> list[str]:
    """Return what runs where at the end of each step, and each victim in it with its preemptor."""
    world = World(scenario, "tidegate")
    names = list[str]()
    for number, step in enumerate(scenario.steps):
        played = run_step(world, number, step["actions"])
        runs = "; ".join(f"{name} on {where}" for name, where in sorted(running(world).items()))
        evicted = outcome.preemptions(played.cycles)
        leave = "; ".join(f"{by} evicts {victim}" for by, victim, _ in evicted)
        names.append(f"  {number}: {runs or 'none'}{' | ' if leave else ''}{leave}")
    return names


def read(path: Path) -> dict[str, list[str]]:
    """Return the answers of a file by scenario."""
    mapping = dict[str, list[str]]()
    for line in path.read_text().splitlines():
        if line.startswith(" "):
            mapping[next(reversed(mapping))].append(line)
        else:
            mapping[line] = []
    return mapping


def main() -> None:
    """Write every file anew."""
    FOLDER.mkdir(exist_ok=True)
    for path, scenarios in files():
        lines = [line for scenario in scenarios for line in (scenario.id, *answers(scenario))]
        path.write_text("".join(f"{line}\n" for line in lines))


if __name__ == "__main__":
    main()
