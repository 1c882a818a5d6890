"""Each bug that was put in on purpose is found by a seed that holds without it."""

from __future__ import annotations

import pytest

from tests.simulation.bugs.hunt import hunt
from tests.simulation.bugs.table import BUGS

SEEDS = range(30)
"""Which seed finds a bug changes with whatever else the worlds do, so several are lived through."""


@pytest.mark.slow
@pytest.mark.parametrize("name", BUGS)
def test_a_bug_is_found(name: str) -> None:
    found = hunt(BUGS[name], SEEDS)
    assert found is not None, "no world of these seeds shows it"
