"""Meters of budgets: usage integrated over the times of events, changed by folds alone.

A budget belongs to a ClusterQueue or a Cohort and limits one resource. Its meter counts what their
workloads are charged, times the hours for which they are, from the beginning of the period or from
when the budget was set. All are integers, so two folds of one ledger count the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

import msgspec
from msgspec.structs import replace

from tidegate.contracts.decision_kinds.queues import BudgetReached, BudgetRenewed
from tidegate.contracts.fact_kinds import definitions
from tidegate.core.state import deadlines
from tidegate.model.calendar import HOUR_US, period_span, utc_text
from tidegate.model.ids import FlavorResource
from tidegate.model.quota import COHORTS_MAX, Budget

if TYPE_CHECKING:
    from tidegate.core.state.state import Objects, State

FAMILY = "budget"
QUEUE, COHORT = "ClusterQueue", "Cohort"
THRESHOLDS = (80, 100)
"""Per cent spent at which an event is recorded; at the last a hard budget stops admission."""
SPENT = THRESHOLDS[-1]
HOURS_MAX = 1 << 62
"""Meters stop at this count: a snapshot's integers have 64 bits."""
_DEFINED = (
    definitions.ClusterQueueDefined,
    definitions.ClusterQueueRemoved,
    definitions.CohortDefined,
    definitions.CohortRemoved,
)
Charges: TypeAlias = Iterable[tuple[FlavorResource, int]]


class Meter(msgspec.Struct, frozen=True, kw_only=True):
    """The amount spent of one budget, up to ``at_us``."""

    budget: Budget
    begin_us: int  # of the current period
    until_us: int  # end of the current period
    since_us: int  # when counting began: later than begin_us if the budget was set later
    at_us: int  # usage is counted up to this time
    hours: int = 0  # base units times hours
    rest: int = 0  # base units times microseconds beyond ``hours``, less than one hour's
    rate: int = 0  # base units that are charged now
    reported_percent: int = 0  # the highest threshold recorded in this period, in per cent
    past_us: int = 0  # end of a period that ended and was not recorded; 0: none
    past_since_us: int = 0  # when counting began in that period
    past_hours: int = 0  # base units times hours spent in that period


def advance_meter(meter: Meter, now_us: int) -> Meter:
    """Return a meter advanced to ``now_us``, which must not be before its ``at_us``."""
    if now_us < meter.until_us:
        return _accumulate(meter, now_us)
    ended = _accumulate(meter, meter.until_us)
    begin_us, until_us = period_span(meter.budget.period, now_us)
    renewed = replace(
        ended,
        begin_us=begin_us,
        until_us=until_us,
        since_us=begin_us,
        at_us=begin_us,
        hours=0,
        rest=0,
        past_us=ended.past_us or ended.until_us,
        past_since_us=ended.past_since_us if ended.past_us else ended.since_us,
        past_hours=ended.past_hours if ended.past_us else ended.hours,
    )
    return _accumulate(renewed, now_us)


def reached_threshold(meter: Meter) -> int:
    """Return the highest threshold that a meter reached, in per cent; 0: none."""
    limit = meter.budget.hours
    return max(
        (threshold for threshold in THRESHOLDS if meter.hours * 100 >= limit * threshold), default=0
    )


def next_event_us(meter: Meter) -> int:
    """Return when a meter next reaches a threshold or its period's end at the current rate.

    A time that is not after ``meter.at_us`` means that an event is due now.
    """
    if meter.past_us:
        return meter.at_us
    remaining = [
        _remaining(meter, threshold)
        for threshold in THRESHOLDS
        if threshold > meter.reported_percent
    ]
    if any(hours <= 0 for hours in remaining):
        return meter.at_us
    if not remaining or not meter.rate:
        return meter.until_us
    return min(meter.until_us, meter.at_us - (-min(remaining) // meter.rate))


def budget_owners(objects: Objects, cluster_queue: str) -> Iterator[str]:
    """Yield the owners of budgets that a ClusterQueue's workloads spend: it and its Cohorts."""
    defined = objects.charged_queue(cluster_queue)
    if defined is None:
        return
    yield f"{QUEUE}/{cluster_queue}"
    name, visited = defined.spec.cohort, set[str]()
    while name and name not in visited and len(visited) < COHORTS_MAX:
        yield f"{COHORT}/{name}"
        visited.add(name)
        cohort = objects.cohorts.get(name)
        name = "" if cohort is None else cohort.spec.parent


def charge_meters(state: State, cluster_queue: str, charges: Charges, sign: int) -> None:
    """Raise (1) or lower (-1) the rates of a ClusterQueue's meters; only folds call this."""
    for owner in budget_owners(state.objects, cluster_queue):
        for resource, meter in state.budgets.get(owner, {}).items():
            units = sum(units for fr, units in charges if fr.resource == resource)
            if units:
                now = advance_meter(meter, state.now_us)
                store_meter(state, owner, replace(now, rate=now.rate + sign * units))


def update_meters(state: State, event: definitions.Named) -> None:
    """Update all meters after a folded event that defines or removes a ClusterQueue or Cohort.

    The amount spent in a period stays when the budget changes, and is dropped when the budget is
    removed. Costs O(workloads) if there is any budget, else nothing.
    """
    if isinstance(event, _DEFINED):
        spent_before = _spent_owners(state)
        _rebuild_meters(state)
        if _spent_owners(state) != spent_before:
            state.forest.stale = True


def _rebuild_meters(state: State) -> None:
    budgets_by_owner = dict(_configured_budgets(state.objects))
    if not budgets_by_owner and not state.budgets:
        return
    for owner in [budget for budget in state.budgets if budget not in budgets_by_owner]:
        for resource in state.budgets.pop(owner):
            deadlines.clear(state, _deadline_key(owner, resource))
    rates = _rates(state)
    for owner, budgets in budgets_by_owner.items():
        meters = state.budgets.setdefault(owner, {})
        for resource in [
            resource for resource in meters if resource not in {two.resource for two in budgets}
        ]:
            del meters[resource]
            deadlines.clear(state, _deadline_key(owner, resource))
        for budget in budgets:
            rate = rates.get((owner, budget.resource), 0)
            store_meter(
                state, owner, _updated_meter(state, meters.get(budget.resource), budget, rate)
            )


def fold_report(state: State, event: BudgetReached | BudgetRenewed) -> bool:
    """Note that a threshold or a period's end was recorded; return whether admission changes."""
    owner = f"{QUEUE}/{event.cluster_queue}" if event.cluster_queue else f"{COHORT}/{event.cohort}"
    budget_meter = state.budgets.get(owner, {}).get(event.resource)
    if budget_meter is None:
        return False
    meter = advance_meter(budget_meter, state.now_us)
    stopped = is_spent(budget_meter)
    if isinstance(event, BudgetReached):
        meter = replace(meter, reported_percent=max(meter.reported_percent, event.percent))
    else:
        meter = replace(meter, reported_percent=0, past_us=0, past_since_us=0, past_hours=0)
    store_meter(state, owner, meter)
    return is_spent(meter) != stopped


def is_spent(meter: Meter) -> bool:
    """Return whether a hard budget was recorded as spent; time alone never changes that."""
    return meter.budget.hard and meter.reported_percent >= SPENT


def spent_message(state: State, cluster_queue: str) -> str:
    """Return the sentence for the budget that stops a ClusterQueue's admission; empty: none."""
    for owner in budget_owners(state.objects, cluster_queue) if state.budgets else ():
        for resource, meter in state.budgets.get(owner, {}).items():
            if is_spent(meter):
                kind, _, name = owner.partition("/")
                until = utc_text(meter.until_us)
                return f"the budget of {kind} {name} for {resource} is spent until {until}"
    return ""


def _updated_meter(state: State, budget_meter: Meter | None, budget: Budget, rate: int) -> Meter:
    now_us = state.now_us
    if budget_meter is None or budget_meter.budget.period != budget.period:
        begin_us, until_us = period_span(budget.period, now_us)
        return Meter(
            budget=budget,
            begin_us=begin_us,
            until_us=until_us,
            since_us=now_us,
            at_us=now_us,
            rate=rate,
        )
    meter = advance_meter(budget_meter, now_us)
    same = meter.budget == budget
    return replace(
        meter, budget=budget, rate=rate, reported_percent=meter.reported_percent if same else 0
    )


def _spent_owners(state: State) -> list[str]:
    return [owner for owner, meters in state.budgets.items() if any(map(is_spent, meters.values()))]


def _configured_budgets(objects: Objects) -> Iterator[tuple[str, tuple[Budget, ...]]]:
    for name, queue in objects.cluster_queues.items():
        if queue.spec.budgets:
            yield f"{QUEUE}/{name}", queue.spec.budgets
    for name, cohort in objects.cohorts.items():
        if cohort.spec.budgets:
            yield f"{COHORT}/{name}", cohort.spec.budgets


def _rates(state: State) -> dict[tuple[str, str], int]:
    """Return the base units charged now, by owner and resource."""
    sums = dict[tuple[str, str], int]()
    owners_by_queue = dict[str, list[str]]()
    for workload in state.workloads.values():
        if not workload.charges:
            continue
        queue = workload.cluster_queue
        if queue not in owners_by_queue:
            owners_by_queue[queue] = list(budget_owners(state.objects, queue))
        for owner in owners_by_queue[queue]:
            for fr, units in workload.charges:
                key = owner, fr.resource
                sums[key] = sums.get(key, 0) + units
    return sums


def store_meter(state: State, owner: str, meter: Meter) -> None:
    """Store a meter, and set the deadline of its next event; only folds call this."""
    resource = meter.budget.resource
    state.budgets[owner][resource] = meter
    key, at_us = _deadline_key(owner, resource), next_event_us(meter)
    if at_us <= state.now_us:
        deadlines.set_due(state, key)
    else:
        deadlines.set(state, key, at_us)


def _deadline_key(owner: str, resource: str) -> str:
    return f"{FAMILY}/{owner}/{resource}"


def _accumulate(meter: Meter, at_us: int) -> Meter:
    if at_us <= meter.at_us:
        return meter
    hours, rest = divmod(meter.rest + meter.rate * (at_us - meter.at_us), HOUR_US)
    return replace(meter, at_us=at_us, hours=min(HOURS_MAX, meter.hours + hours), rest=rest)


def _remaining(meter: Meter, percent: int) -> int:
    """Return the base units times microseconds that are left up to a threshold."""
    required = -(-meter.budget.hours * percent // 100)  # hours are recorded whole: up to the next
    return required * HOUR_US - meter.hours * HOUR_US - meter.rest
