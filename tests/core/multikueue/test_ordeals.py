"""Seeds of ``ordeal``: whatever strikes in whatever order, everything holds and all ends.

``python -m tests.core.multikueue.ordeals --seeds 10000`` plays more of them.
"""

from __future__ import annotations

import pytest

from tests.core.multikueue.ordeals import crowded, played

MORE = [pytest.param(first, marks=pytest.mark.slow) for first in (50, 100, 150)]


@pytest.mark.parametrize("first", [0, *MORE])
def test_whatever_strikes_everything_holds_and_all_ends(first: int) -> None:
    for seed in range(first, first + 50):
        played(seed)


@pytest.mark.parametrize("first", [0, pytest.param(25, marks=pytest.mark.slow)])
def test_slices_and_groups_of_one_object_hold_and_end_as_well(first: int) -> None:
    for seed in range(first, first + 25):
        crowded(seed)
