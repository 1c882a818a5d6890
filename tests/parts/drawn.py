"""How much a property test draws: always the same in ``make test``, more and anew at night.

What a night finds is kept by ``@example``, since no other run draws it again.
"""

from __future__ import annotations

import os
from collections.abc import Collection

from hypothesis import HealthCheck, settings

TIMES = int(os.environ.get("DRAW_TIMES", "1"))
"""So many times as many examples are drawn; with more than one, others each time."""


def drawn(examples: int, suppress_health_check: Collection[HealthCheck] = ()) -> settings:
    """Return the decorator of a property test that draws so many examples."""
    return settings(
        max_examples=examples * TIMES,
        derandomize=TIMES == 1,
        deadline=None,
        print_blob=True,
        suppress_health_check=suppress_health_check,
    )
