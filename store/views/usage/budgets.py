"""Budgets: budget, spent hours and forecast of each period.

A period that is over has what ``BudgetRenewed`` says was spent. The one that lasts is summed from
what was held since its beginning, or since the budget was set, up to the ledger's newest event, by
the ClusterQueues that are below the owner now.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import CTE, ColumnElement, Double, and_, case, cast, func, literal, or_, select

from store.reporting.tables import budget, holding, queue
from store.views.columns import ViewColumn, copied, moment, shown, text
from store.views.expressions import larger, ledger_end, per, same, seconds, smaller, units

_HOURS = "unit · h"
SUMS = ("budget_hours", "used_hours")

_KEY = ("partition", "kind", "owner", "resource", "from_seq")
_row, _end = budget.c, ledger_end()
_zero = cast(0, Double)


def _below() -> CTE:
    """Return the ClusterQueues of each owner; UNION ends the walk where Cohorts form a circle."""
    node = select(queue).where(queue.c.to_seq.is_(None)).cte("node")
    member = node.alias("member")
    of_itself = select(
        member.c.partition,
        member.c.kind,
        member.c.owner,
        member.c.owner.label("cluster_queue"),
        member.c.parent,
    ).where(member.c.kind == "ClusterQueue")
    up = of_itself.cte("below", recursive=True)
    parent = node.alias("above")
    is_above = and_(
        up.c.parent != "",
        parent.c.partition == up.c.partition,
        parent.c.kind == "Cohort",
        parent.c.owner == up.c.parent,
    )
    higher = select(
        up.c.partition, parent.c.kind, parent.c.owner, up.c.cluster_queue, parent.c.parent
    )
    return up.union(higher.join_from(up, parent, is_above))


def _counted_us() -> ColumnElement[Any]:
    """Return up to when a period is counted: the newest event, or its end."""
    return smaller(_end.c.at_us, _row.until_us)


def _spending() -> CTE:
    """Return what was held of each budget that lasts, times its seconds, and what is held."""
    below, held_row = _below().c, holding.c
    until_us = smaller(func.coalesce(held_row.to_us, _end.c.at_us), _counted_us())
    lasted = seconds(until_us - larger(held_row.from_us, _row.since_us))
    amount = cast(held_row.amount, Double)
    key = [_row[name] for name in _KEY]
    owned = same(below, _row, "partition kind owner")
    charged = and_(
        held_row.partition == _row.partition,
        held_row.cluster_queue == below.cluster_queue,
        held_row.resource == _row.resource,
        held_row.from_us < _counted_us(),
        or_(held_row.to_us.is_(None), held_row.to_us > _row.since_us),
    )
    return (
        select(
            *key,
            func.sum(amount * lasted).label("used"),
            func.sum(case((held_row.to_seq.is_(None), amount), else_=_zero)).label("usage"),
        )
        .join_from(budget, _end, _end.c.partition == _row.partition)
        .join(below.cluster_queue.table, owned)
        .join(holding, charged)
        .where(_row.to_seq.is_(None))
        .group_by(*key)
        .cte("spending")
    )


_spent = _spending()
_same = same(_spent.c, _row, " ".join(_KEY))
_lasts = _row.to_seq.is_(None)
_hour = literal(3600.0)
_used = case(
    (_lasts, per(func.coalesce(_spent.c.used, _zero), _hour)), else_=cast(_row.spent, Double)
)
_usage = func.coalesce(_spent.c.usage, _zero)
_left_h = per(seconds(_row.until_us - _counted_us()), _hour)
_passed_h = per(seconds(_counted_us() - _row.since_us), _hour)
_as_so_far = _used + per(_used * _left_h, func.nullif(_passed_h, _zero))


def _units(amount: ColumnElement[Any]) -> ColumnElement[float]:
    return units(_row.resource, amount)


COLUMNS = (
    text("kind", "ClusterQueue or Cohort", _row.kind),
    text("owner", "its name", _row.owner),
    *copied(_row, "resource"),
    text("period", "day, week or month", _row.period),
    moment(
        "from_at", "from when it is counted: the period's begin, or when it was set", _row.since_us
    ),
    moment("to_at", "when the period ends", _row.until_us),
    text("enforcement", "soft or hard", case((_row.hard, "hard"), else_="soft")),
    text("author", "who set it; empty if no policy stamped it", _row.author),
    text("state", "current, or over: the period ended", case((_lasts, "current"), else_="over")),
    ViewColumn("budget_hours", _HOURS, "the budget of the period", _units(_row.hours)),
    ViewColumn("used_hours", _HOURS, "usage in it so far", _units(_used)),
    ViewColumn(
        "share_used",
        "1",
        "used_hours / budget_hours; NULL: the budget is 0",
        per(_used, func.nullif(cast(_row.hours, Double), _zero)),
    ),
    ViewColumn("usage", "unit", "now; NULL: the period is over", _units(case((_lasts, _usage)))),
    ViewColumn(
        "at_end_as_now",
        _HOURS,
        "used at its end, if usage stays as it is now",
        _units(case((_lasts, _used + _usage * _left_h))),
    ),
    ViewColumn(
        "at_end_as_so_far",
        _HOURS,
        "used at its end, if as much is used as so far",
        _units(case((_lasts, _as_so_far))),
    ),
    *copied(_row, "partition"),
)
QUERY = (
    shown(COLUMNS)
    .join_from(budget, _end, _end.c.partition == _row.partition)
    .outerjoin(_spent, _same)
    .where(or_(_lasts, _row.spent.is_not(None)))
)
