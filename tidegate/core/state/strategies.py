"""The two strategies in which Kueue's rules differ from the default mode's, chosen by the policy.

The one place that knows what ``compatibility: kueue`` means; docs/differences.md says why.
"""

from __future__ import annotations

from typing import Literal

import msgspec


class Requeue(msgspec.Struct, frozen=True, kw_only=True):
    """How a workload that is pending, or has lost its right to quota, is tried again."""

    by_event: bool
    """Parked workloads wait for any event of their tree; else until what they lack may be free."""
    reserves_freed_quota: bool
    """Quota freed by victims is reserved for their preemptor; else it only becomes first in its
    queue."""
    rechecks: bool
    """Admissibility is checked, and recorded, at each step; else at nomination."""


class Scan(msgspec.Struct, frozen=True, kw_only=True):
    """How flavors, and then victims, are searched."""

    resumes: bool
    """A flavor scan resumes where the last cycle's stopped."""
    backtracks: bool
    """Flavors are chosen for all requests together; else one by one, and for good."""
    includes_evicting: bool
    """Workloads that are being evicted already may be victims."""
    least_loss_first: bool
    """Of equal victims, the one that loses the least work is preempted first: docs/adr/0014."""
    forbids_moving_back: bool
    """A displaced workload does not preempt its way back at once: docs/adr/0005 and 0013."""
    honours_never: bool
    """A PriorityClass's preemptionPolicy Never is honoured; else only its value counts."""
    exact_shares: bool
    """Shares compare as fractions; else as the doubles to which Kueue rounds them."""


REQUEUE: dict[Literal["tidegate", "kueue"], Requeue] = {
    "tidegate": Requeue(by_event=False, reserves_freed_quota=True, rechecks=True),
    "kueue": Requeue(by_event=True, reserves_freed_quota=False, rechecks=False),
}
SCAN: dict[Literal["tidegate", "kueue"], Scan] = {
    "tidegate": Scan(
        resumes=False,
        backtracks=True,
        includes_evicting=False,
        least_loss_first=True,
        forbids_moving_back=True,
        honours_never=True,
        exact_shares=True,
    ),
    "kueue": Scan(
        resumes=True,
        backtracks=False,
        includes_evicting=True,
        least_loss_first=False,
        forbids_moving_back=False,
        honours_never=False,
        exact_shares=False,
    ),
}
