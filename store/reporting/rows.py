"""The reporting rows while a turn changes them; a field is a column (``store.reporting.tables``).

A field without default is written once: only those that have one may change.
"""

from __future__ import annotations

import msgspec

from tidegate.contracts.phases import AnyPhase
from tidegate.model.calendar import Period


def plain(text: str) -> str:
    """Return a free text as PostgreSQL can hold it: without NUL, which any user may write."""
    return text.replace("\0", "\ufffd") if "\0" in text else text


class WorkloadRow(msgspec.Struct, kw_only=True):
    """A row of ``report_workload``: one object from its submission to its removal."""

    partition: int
    submitted_seq: int
    cluster: str
    workload: str
    namespace: str
    name: str
    uid: str
    job_kind: str
    job_name: str
    local_queue: str = ""
    cluster_queue: str = ""  # once decided on
    priority_class: str = ""
    pod_priority_class: str = ""
    priority: int = 0
    own_priority: int | None = None  # a direct Workload's
    priority_boost: int = 0
    author: str = ""
    pods: str = "{}"  # JSON: podset to how many it has
    reclaimed: str = "{}"  # JSON: podset to how many it has had
    created_us: int
    submitted_us: int
    phase: AnyPhase = "pending"
    reason: str = ""
    message: str = ""
    phase_us: int = 0  # since when
    not_before_us: int | None = None  # backing off until then
    reservation_seq: int | None = None  # of the newest reservation, as the next two
    reserved_us: int | None = None
    admitted_us: int | None = None
    intent_seq: int | None = None  # its PreemptionIntended, until it has quota
    evictions: int = 0
    preemptions: int = 0
    finished_us: int | None = None
    outcome: str = ""  # of the finish
    removed_us: int | None = None
    removed_seq: int | None = None
    inactive_us: int | None = None  # since when spec.active is false; None: it is true
    evicted_reason: str = ""  # of the newest eviction since its reservation, as the next three
    evicted_us: int = 0
    preempted_reason: str = ""
    preempted_us: int = 0
    queue_order_us: int = 0  # orders those of one priority (tidegate.contracts.queue_order)


class WaitRow(msgspec.Struct, kw_only=True):
    """A row of ``report_wait``: from a queue's end to an admission, or to giving up."""

    partition: int
    from_seq: int
    submitted_seq: int
    cluster: str
    workload: str
    namespace: str
    uid: str
    local_queue: str = ""
    cluster_queue: str = ""
    priority_class: str = ""
    priority: int = 0
    author: str = ""
    from_us: int
    not_before_us: int | None = None
    reserved_us: int | None = None
    to_us: int | None = None
    to_seq: int | None = None
    outcome: str = ""  # admitted, evicted, …
    reason: str = ""  # the last that it waited for
    times_pending: int = 0


class HoldingRow(msgspec.Struct, kw_only=True):
    """A row of ``report_holding``: an amount of one flavor-resource, held for some time."""

    partition: int
    from_seq: int
    podset: str
    flavor: str
    resource: str
    reservation_seq: int
    submitted_seq: int
    cluster: str
    cluster_queue: str
    local_queue: str
    namespace: str
    workload: str
    uid: str
    author: str
    priority_class: str
    priority: int
    pods_assigned: int
    amount_assigned: int
    pods: int
    amount: int
    from_us: int
    to_us: int | None = None
    to_seq: int | None = None


class UsageRow(msgspec.Struct):
    """A row of ``report_usage``, or what is to be added to one."""

    partition: int
    hour_us: int
    cluster_queue: str
    flavor: str
    resource: str
    namespace: str
    local_queue: str
    author: str
    priority_class: str
    priority: int
    cluster: str
    unit_seconds: float = 0.0
    borrowed_seconds: float = 0.0


class QuotaRow(msgspec.Struct, kw_only=True):
    """A row of ``report_quota``: what a queue or cohort was given of one flavor-resource."""

    partition: int
    kind: str  # ClusterQueue or Cohort
    owner: str
    flavor: str
    resource: str
    from_seq: int
    nominal: int
    borrowing_limit: int | None  # None: no limit
    lending_limit: int | None  # None: no limit
    author: str
    from_us: int
    to_us: int | None = None
    to_seq: int | None = None
    ended_by: str = ""  # the author of its change or removal


class PriceRow(msgspec.Struct, kw_only=True):
    """A row of ``report_price``: what a flavor's resource costs from a day until another."""

    partition: int
    flavor: str
    resource: str
    priority_class: str  # empty: of all classes that have none of their own
    quota: str  # own, borrowed, or empty: either
    from_seq: int
    written_from: str  # the day that was written, or empty
    day_from: str  # the UTC day from which it counts
    per_unit_hour: float  # of one core, byte, device for an hour
    currency: str
    written_until: str  # the day that was written, or empty
    author: str
    from_us: int
    day_until: str | None = None  # the UTC day from which it counts no more; None: not known yet
    to_us: int | None = None  # when it was changed or taken away
    to_seq: int | None = None
    ended_by: str = ""


class BudgetRow(msgspec.Struct, kw_only=True):
    """A row of ``report_budget``: a budget in one period, for as long as it was not changed."""

    partition: int
    kind: str  # ClusterQueue or Cohort
    owner: str
    resource: str
    from_seq: int
    period: Period
    hours: int  # base units times hours
    hard: bool
    author: str
    since_us: int  # of the period: from when it is counted
    until_us: int  # of the period: where it ends
    to_us: int | None = None  # when the budget changed, or the period was recorded as over
    to_seq: int | None = None
    spent: int | None = None  # in a period that is over


class QueueRow(msgspec.Struct, kw_only=True):
    """A row of ``report_queue``: where a queue or cohort stood in the tree."""

    partition: int
    kind: str  # ClusterQueue, Cohort or LocalQueue
    owner: str  # a LocalQueue: '<namespace>/<name>'
    from_seq: int
    parent: str  # a ClusterQueue's cohort, a Cohort's parent, a LocalQueue's ClusterQueue
    weight: int
    strategy: str
    stop_policy: str
    author: str
    from_us: int
    to_us: int | None = None
    to_seq: int | None = None


class PreemptionRow(msgspec.Struct, kw_only=True):
    """A row of ``report_preemption``: one victim of one preemptor."""

    partition: int
    seq: int
    at_us: int
    cluster: str
    workload: str
    uid: str
    namespace: str
    local_queue: str
    cluster_queue: str
    author: str
    priority: int
    by: str
    by_uid: str
    by_cluster_queue: str
    reason: str
    message: str
    intent_seq: int | None
    reservation_seq: int | None
    admitted_us: int | None
    released_us: int | None = None
    released_seq: int | None = None


class PriorityClassRow(msgspec.Struct, kw_only=True):
    """A row of ``report_priority_class``: what a class is worth now."""

    partition: int
    kind: str  # WorkloadPriorityClass, PriorityClass, or gate: a feature gate, 0 or 1
    name: str
    value: int = 0
    is_default: bool = False
    defined: bool = True  # False: removed
