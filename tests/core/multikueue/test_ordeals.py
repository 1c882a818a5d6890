"""Seeds of ``ordeal``: whatever strikes in whatever order, everything holds and all ends.

``python -m tests.core.multikueue.ordeals --seeds 10000`` plays more of them.
"""

from __future__ import annotations

import pytest

from tests.core.multikueue.ordeals import played


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_whatever_strikes_everything_holds_and_all_ends(first: int) -> None:
    for seed in range(first, first + 50):
        played(seed)
