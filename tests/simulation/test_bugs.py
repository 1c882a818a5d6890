"""Each bug that was put in on purpose is found by a seed that holds without it."""

from __future__ import annotations

import pytest

from tests.simulation.bugs.hunt import hunt
from tests.simulation.bugs.table import BUGS, KNOWN


@pytest.mark.parametrize("name", BUGS)
def test_a_bug_is_found(name: str) -> None:
    found = hunt(BUGS[name], KNOWN[name])
    assert found is not None, (
        "python -m tests.simulation --bugs finds another seed, if there is one"
    )
