"""The forms of answers that the page's views are drawn from, beside those of ``shapes``."""

from __future__ import annotations

from tidegate.serve.api.shapes import Answer


class Running(Answer, frozen=True, kw_only=True):
    """A workload that has quota."""

    workload: str
    namespace: str
    cluster_queue: str
    local_queue: str
    author: str
    priority: int
    phase: str  # reserved, admitted or evicting
    since: str  # when its quota was reserved
    amounts: dict[str, dict[str, str]]  # flavor to resource to quantity


class Cost(Answer, frozen=True, kw_only=True):
    """A namespace's usage of a queue, flavor and resource in a month, in full hours."""

    month: str
    until: str  # the end of the last hour that is counted
    namespace: str
    cluster_queue: str
    flavor: str
    resource: str
    unit_hours: float  # core hours, byte hours or device hours
    per_unit_hour: float | None  # none: no price was set
    cost: float | None
    currency: str | None


class QuotaUse(Answer, frozen=True, kw_only=True):
    """A ClusterQueue's quota and usage of a flavor and resource in a month, in unit hours."""

    month: str
    until: str
    cluster_queue: str
    flavor: str
    resource: str
    nominal_hours: float
    used_hours: float
    borrowed_hours: float  # of that, above nominal at each moment
    unused_hours: float  # nominal that its own workloads did not use: idle, or lent


class Budget(Answer, frozen=True, kw_only=True):
    """So many hours of a resource in a period, and what is spent of them."""

    owner: str  # ClusterQueue/team-a or Cohort/research
    resource: str
    period: str
    budget_hours: str
    spent_hours: str
    percent: int | None
    usage: str  # now
    spent_at: str | None  # when all of it is, if usage stays as it is now
    ends_at: str
    kind: str  # soft, hard, or hard and spent
    since: str
    at_end_as_now: str | None
    at_end_as_so_far: str | None


class Place(Answer, frozen=True, kw_only=True):
    """A domain of a topology: a block, a rack or a node."""

    topology: str
    flavor: str
    depth: int
    name: str
    level: str
    nodes: int  # that pods may be placed on
    resource: str  # the one of which the largest part is used
    used: str
    allocatable: str
    share: float  # used of allocatable
    others: float  # of the share, what pods use that no topology placed
    state: str
    workloads: dict[str, int]  # to how many pods each has here


class Hit(Answer, frozen=True, kw_only=True):
    """Something whose name holds a text."""

    kind: str  # Workload, ClusterQueue, LocalQueue or Cohort
    name: str
    namespace: str  # empty: it is in none
    about: str  # a workload's phase, a queue's Cohort
