"""Each bug that was put in on purpose is found by a seed that holds without it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.simulation.bugs.hunt import hunt
from tests.simulation.bugs.table import BUGS, KNOWN

PAGE = Path(__file__).parents[2] / "docs/simulation.md"
SEEDS = range(100)
"""Which seed finds a bug changes with whatever else the worlds do: the known one may not still."""


@pytest.mark.slow
@pytest.mark.parametrize("name", BUGS)
def test_a_bug_is_found(name: str) -> None:
    found = hunt(BUGS[name], (*KNOWN[name], *SEEDS))
    assert found is not None, "no world of these seeds shows it"


def test_the_page_names_the_seed_of_each_bug() -> None:
    rows = [f"| {name} | {', '.join(map(str, seeds))} |" for name, seeds in KNOWN.items()]
    written = PAGE.read_text().splitlines()
    assert [line for line in written if line in rows] == rows
    assert list(KNOWN) == list(BUGS)
