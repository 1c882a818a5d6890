"""A budget: so many hours of a resource in each day, week or month."""

from __future__ import annotations

import msgspec

from tidegate.model.calendar import Period


class Budget(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the workloads of a ClusterQueue, or of all in a Cohort, may hold in a period."""

    resource: str
    hours: int  # base units times hours: milli-CPU hours, byte hours, …
    period: Period = "month"
    hard: bool = False  # no further workload is admitted once it is spent
