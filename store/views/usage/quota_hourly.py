"""Quota by hour: what each ClusterQueue was given, used, borrowed, lent and left idle.

Used, borrowed and idle are exact: each is the difference of what was used and nominal at every
moment, summed over time. Every hour of a queue that had quota has its rows. A queue lends, of what
its tree's queues borrowed within the hour beyond the quota of the tree's cohorts, a share by what
it could have lent, and nothing to itself; the tree is the one at the hour's end.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    CTE,
    ColumnElement,
    Double,
    and_,
    case,
    cast,
    func,
    select,
)

from store.statements.clock import utc_text
from store.views.columns import CLUSTER_QUEUE, FLAVOR, RESOURCE, UNIT_SECONDS, ViewColumn
from store.views.expressions import asked, larger, per, smaller, units
from store.views.usage.levels import EACH_HOUR, by_hour
from store.views.usage.trees import roots_by_hour
from store.views.usage.usage_hourly import given

NAME = "quota_hourly"
COLUMNS = (
    ViewColumn("hour", "UTC", "beginning of the hour"),
    CLUSTER_QUEUE,
    ViewColumn("cohort", "", "the root of its cohort tree at the hour's end; empty if none"),
    FLAVOR,
    RESOURCE,
    ViewColumn("nominal_seconds", UNIT_SECONDS, "nominal quota times the time that it held"),
    ViewColumn("used_seconds", UNIT_SECONDS, "held by its workloads"),
    ViewColumn("borrowed_seconds", UNIT_SECONDS, "of that, above nominal at each moment"),
    ViewColumn("lent_seconds", UNIT_SECONDS, "its share of what its cohort tree's queues borrowed"),
    ViewColumn("idle_seconds", UNIT_SECONDS, "nominal at each moment, neither used nor lent"),
)
SUMS = ("nominal_seconds", "used_seconds", "borrowed_seconds", "lent_seconds", "idle_seconds")

_zero = cast(0, Double)
_root = roots_by_hour(EACH_HOUR)


def _placed(line: CTE) -> CTE:
    row = line.c
    of_queue = and_(
        _root.c.partition == row.partition,
        _root.c.hour_us == row.hour_us,
        _root.c.kind == "ClusterQueue",
        _root.c.owner == row.cluster_queue,
    )
    return (
        select(*row, func.coalesce(_root.c.cohort, "").label("root"))
        .outerjoin_from(line, _root, of_queue)
        .cte("placed")
    )


def _own() -> CTE:
    """Return the quota of each tree's cohorts, times its time: nobody lends that."""
    shared = given("Cohort", EACH_HOUR).cte("shared").c
    above = and_(
        _root.c.partition == shared.partition,
        _root.c.hour_us == shared.hour_us,
        _root.c.kind == "Cohort",
        _root.c.owner == shared.cluster_queue,
    )
    key = (shared.partition, shared.hour_us, _root.c.cohort, shared.flavor, shared.resource)
    return (
        select(*key, func.sum(shared.nominal).label("nominal"))
        .join_from(_root, shared.nominal.table, above)
        .group_by(*key)
        .cte("own")
    )


def _shared(line: CTE) -> CTE:
    """Return with each row what every lender gives each of its units, for what this queue borrowed.

    A queue's own borrowing is shared out among the others of its tree.
    """
    row, own = line.c, _own()
    same = and_(
        row.partition == own.c.partition,
        row.hour_us == own.c.hour_us,
        row.root == own.c.cohort,
        row.flavor == own.c.flavor,
        row.resource == own.c.resource,
    )
    sums = [_in_tree(row, row[name], name) for name in ("borrowed", "lendable")]
    nominal = func.coalesce(own.c.nominal, _zero).label("own")
    tree = select(*row, *sums, nominal).outerjoin_from(line, own, same).cte("tree").c
    lent = larger(tree.tree_borrowed - tree.own, _zero)
    others = func.nullif(tree.tree_lendable - tree.lendable, _zero)
    rate = per(tree.borrowed * per(lent, func.nullif(tree.tree_borrowed, _zero)), others)
    mine = case((tree.root == "", _zero), else_=func.coalesce(rate, _zero))
    each = select(*(tree[name] for name in row.keys()), mine.label("rate")).cte("rated").c  # noqa: SIM118 - a collection of columns
    return select(*each, _in_tree(each, each.rate, "rate")).cte("shared_out")


def _in_tree(row: Any, amount: ColumnElement[Any], name: str) -> ColumnElement[Any]:  # noqa: ANN401 - SQLAlchemy's columns
    key = [row.partition, row.hour_us, row.root, row.flavor, row.resource]
    return func.sum(amount).over(partition_by=key).label(f"tree_{name}")


_line = _shared(_placed(by_hour(asked(), EACH_HOUR)))
_given_away = _line.c.lendable * larger(_line.c.tree_rate - _line.c.rate, _zero)
_lent = smaller(_given_away, _line.c.lendable)


def _shown(amount: ColumnElement[Any], name: str) -> ColumnElement[float]:
    return units(_line.c.resource, amount).label(name)


QUERY = select(
    utc_text(_line.c.hour_us).label("hour"),
    _line.c.cluster_queue,
    _line.c.root.label("cohort"),
    _line.c.flavor,
    _line.c.resource,
    _shown(_line.c.nominal, "nominal_seconds"),
    _shown(_line.c.used, "used_seconds"),
    _shown(_line.c.borrowed, "borrowed_seconds"),
    _shown(_lent, "lent_seconds"),
    _shown(_line.c.idle - _lent, "idle_seconds"),
)
