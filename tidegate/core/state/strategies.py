"""The two strategies in which Kueue's rules differ from the default mode's, chosen by the policy.

The one place that knows what ``compatibility: kueue`` means; docs/differences.md says why.
"""

from __future__ import annotations

from typing import Literal

import msgspec


class Requeue(msgspec.Struct, frozen=True, kw_only=True):
    """How a workload that is pending, or has lost its right to quota, is looked at again."""

    by_event: bool
    """Who is parked waits for any event of its tree; else until what it lacks may be there."""
    reserves_freed: bool
    """What victims leave is kept for their preemptor; else it is only the first of its queue."""
    reconsiders: bool
    """Admissibility is checked, and recorded, at each step; else at nomination."""


class Scan(msgspec.Struct, frozen=True, kw_only=True):
    """How flavors, and then victims, are looked for."""

    resumes: bool
    """A scan of flavors goes on where the last cycle's stopped."""
    looks_back: bool
    """Flavors are chosen for all that is asked together; else one by one, and for good."""
    counts_leaving: bool
    """Who leaves already may be a victim."""
    by_loss: bool
    """Of equal victims who loses the least leaves first: docs/adr/0014."""
    moves_for_good: bool
    """Who was displaced does not come back at once: docs/adr/0005 and 0013."""


REQUEUE: dict[Literal["tidegate", "kueue"], Requeue] = {
    "tidegate": Requeue(by_event=False, reserves_freed=True, reconsiders=True),
    "kueue": Requeue(by_event=True, reserves_freed=False, reconsiders=False),
}
SCAN: dict[Literal["tidegate", "kueue"], Scan] = {
    "tidegate": Scan(
        resumes=False, looks_back=True, counts_leaving=False, by_loss=True, moves_for_good=True
    ),
    "kueue": Scan(
        resumes=True, looks_back=False, counts_leaving=True, by_loss=False, moves_for_good=False
    ),
}
