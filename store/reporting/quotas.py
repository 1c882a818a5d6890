"""Quota and budgets of each queue and cohort, from when to when, and their author."""

from __future__ import annotations

from typing import TypeAlias, assert_never

from msgspec.structs import replace

from store.reporting.rows import BudgetRow, QueueRow, QuotaRow, plain
from store.reporting.unit_of_work import EventPosition, Owner, UnitOfWork, owner_of
from tidegate.contracts import facts
from tidegate.contracts.decision_kinds.queues import BudgetRenewed
from tidegate.model.calendar import period_span
from tidegate.model.quantity import UNLIMITED
from tidegate.model.quota import Budget, Quota, ResourceGroup, quotas_of

Projected: TypeAlias = (
    facts.ClusterQueueDefined
    | facts.ClusterQueueRemoved
    | facts.CohortDefined
    | facts.CohortRemoved
    | facts.LocalQueueDefined
    | facts.LocalQueueRemoved
    | BudgetRenewed
)
_Standing: TypeAlias = tuple[str, int, str, str]  # parent, weight, strategy, stop policy
_Terms: TypeAlias = tuple[int, int | None, int | None]


def apply_definition(unit: UnitOfWork, at: EventPosition, event: Projected) -> None:
    """Record a queue's or cohort's quota, budgets and place in the tree, where they changed."""
    match event:
        case facts.ClusterQueueDefined():
            owner: Owner = ("ClusterQueue", event.name)
            spec = event.spec
            _apply_quota(unit, at, owner, spec.groups, plain(event.author))
            _apply_budgets(unit, at, owner, spec.budgets, plain(event.author))
            weight = min(spec.weight, UNLIMITED)
            place: _Standing = (spec.cohort, weight, spec.strategy, spec.stop_policy)
            _apply_tree_position(unit, at, owner, place, plain(event.author))
        case facts.CohortDefined():
            owner = ("Cohort", event.name)
            _apply_quota(unit, at, owner, event.spec.groups, plain(event.author))
            _apply_budgets(unit, at, owner, event.spec.budgets, plain(event.author))
            place = (event.spec.parent, min(event.spec.weight, UNLIMITED), "", "")
            _apply_tree_position(unit, at, owner, place, plain(event.author))
        case facts.LocalQueueDefined():
            local = event.spec
            owner = ("LocalQueue", f"{event.namespace}/{event.name}")
            place = (local.cluster_queue, min(local.weight, UNLIMITED), "", local.stop_policy)
            _apply_tree_position(unit, at, owner, place, plain(event.author))
        case facts.ClusterQueueRemoved():
            _remove_owner(unit, at, ("ClusterQueue", event.name))
        case facts.CohortRemoved():
            _remove_owner(unit, at, ("Cohort", event.name))
        case facts.LocalQueueRemoved():
            _remove_owner(unit, at, ("LocalQueue", f"{event.namespace}/{event.name}"))
        case BudgetRenewed():
            _renew_budget(unit, at, event)
        case _:
            assert_never(event)


def _apply_quota(
    unit: UnitOfWork,
    at: EventPosition,
    owner: Owner,
    groups: tuple[ResourceGroup, ...],
    author: str,
) -> None:
    terms_before = {tuple(fr): _terms(quota) for fr, quota in quotas_of(groups)}
    remaining = list[QuotaRow]()
    for row in unit.open_quotas.get(owner, []):
        terms = (row.nominal, row.borrowing_limit, row.lending_limit)
        if terms_before.get((row.flavor, row.resource)) == terms:
            del terms_before[row.flavor, row.resource]
            remaining.append(row)
        else:
            _end_quota(row, at, author)
    for (flavor, resource), (nominal, borrowing, lending) in terms_before.items():
        remaining.append(
            unit.quotas.add(
                QuotaRow(
                    partition=at.partition,
                    kind=owner[0],
                    owner=owner[1],
                    flavor=flavor,
                    resource=resource,
                    from_seq=at.seq,
                    nominal=nominal,
                    borrowing_limit=borrowing,
                    lending_limit=lending,
                    author=author,
                    from_us=at.at_us,
                )
            )
        )
    unit.open_quotas[owner] = remaining


def _apply_budgets(
    unit: UnitOfWork, at: EventPosition, owner: Owner, budgets: tuple[Budget, ...], author: str
) -> None:
    """Record budgets that are new or changed: what was spent stays with the same period."""
    before = {row.resource: row for row in unit.open_budgets.get(owner, [])}
    now = list[BudgetRow]()
    for budget in budgets:
        row = before.pop(budget.resource, None)
        if row is not None and _is_same_budget(row, budget):
            now.append(row)
            continue
        since_us, until_us = at.at_us, period_span(budget.period, at.at_us)[1]
        if row is not None:
            row.to_us, row.to_seq = at.at_us, at.seq
            if row.period == budget.period:
                begun_us = period_span(budget.period, at.at_us)[0]
                since_us = row.since_us if row.until_us == until_us else begun_us
        now.append(
            unit.budgets.add(_new_budget_row(at, owner, budget, author, (since_us, until_us)))
        )
    for row in before.values():
        row.to_us, row.to_seq = at.at_us, at.seq
    unit.open_budgets[owner] = now


def _is_same_budget(row: BudgetRow, budget: Budget) -> bool:
    return (row.period, row.hours, row.hard) == (budget.period, budget.hours, budget.hard)


def _new_budget_row(
    at: EventPosition, owner: Owner, budget: Budget, author: str, period_us: tuple[int, int]
) -> BudgetRow:
    return BudgetRow(
        partition=at.partition,
        kind=owner[0],
        owner=owner[1],
        resource=budget.resource,
        from_seq=at.seq,
        period=budget.period,
        hours=budget.hours,
        hard=budget.hard,
        author=author,
        since_us=period_us[0],
        until_us=period_us[1],
    )


def _renew_budget(unit: UnitOfWork, at: EventPosition, event: BudgetRenewed) -> None:
    """Record what was spent in the period that ended, and that the next one is counted."""
    owner = owner_of(event)
    assert owner is not None, "a budget has an owner"
    rows = unit.open_budgets.get(owner, [])
    row = next((row for row in rows if row.resource == event.resource), None)
    if row is None:
        return
    if row.until_us < event.until_us:
        over, begun_us = row, period_span(row.period, event.until_us - 1)[0]
        begun = replace(row, from_seq=at.seq, since_us=begun_us, until_us=event.until_us)
        rows[rows.index(row)] = unit.budgets.add(begun)
    else:  # it was changed after the period's end, before the event of that end
        ended_us = period_span(row.period, event.since_us)[1]
        over = replace(row, from_seq=at.seq, since_us=event.since_us, until_us=ended_us)
        unit.budgets.add(over)
    over.to_us, over.to_seq, over.spent = at.at_us, at.seq, event.spent


def _apply_tree_position(
    unit: UnitOfWork, at: EventPosition, owner: Owner, place: _Standing, author: str
) -> None:
    old = unit.open_queues.get(owner)
    if old is not None:
        if place == (old.parent, old.weight, old.strategy, old.stop_policy):
            return
        old.to_us, old.to_seq = at.at_us, at.seq
    parent, weight, strategy, stop_policy = place
    unit.open_queues[owner] = unit.queues.add(
        QueueRow(
            partition=at.partition,
            kind=owner[0],
            owner=owner[1],
            from_seq=at.seq,
            parent=parent,
            weight=weight,
            strategy=strategy,
            stop_policy=stop_policy,
            author=author,
            from_us=at.at_us,
        )
    )


def _remove_owner(unit: UnitOfWork, at: EventPosition, owner: Owner) -> None:
    for row in unit.open_quotas.pop(owner, []):
        _end_quota(row, at, "")
    for budget in unit.open_budgets.pop(owner, []):
        budget.to_us, budget.to_seq = at.at_us, at.seq
    if (place := unit.open_queues.pop(owner, None)) is not None:
        place.to_us, place.to_seq = at.at_us, at.seq


def _end_quota(row: QuotaRow, at: EventPosition, author: str) -> None:
    row.to_us, row.to_seq, row.ended_by = at.at_us, at.seq, author


def _terms(quota: Quota) -> _Terms:
    return quota.nominal, quota.borrowing_limit, quota.lending_limit
