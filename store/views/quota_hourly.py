"""Quota by hour: what each ClusterQueue was given, used, borrowed, lent and left idle.

Borrowed, lent and idle are net of the hour: who borrows for one half of it and is idle for the
other has done neither. The integral of what was used is exact. A queue lends the share of what its
cohort tree borrows that quota_now describes, in the tree as it stands now.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    CTE,
    Column,
    ColumnElement,
    Double,
    and_,
    cast,
    func,
    select,
    union_all,
)

from store.clock import utc_text
from store.expressions import larger, per, smaller, units
from store.views.columns import CLUSTER_QUEUE, FLAVOR, RESOURCE, UNIT_SECONDS, ViewColumn
from store.views.trees import roots
from store.views.usage_hourly import by_queue, given

NAME = "quota_hourly"
COLUMNS = (
    ViewColumn("hour", "UTC", "beginning of the hour"),
    CLUSTER_QUEUE,
    ViewColumn("cohort", "", "the root of the cohort tree that it is in now; empty if none"),
    FLAVOR,
    RESOURCE,
    ViewColumn("nominal_seconds", UNIT_SECONDS, "nominal quota times the time that it held"),
    ViewColumn("used_seconds", UNIT_SECONDS, "held by its workloads"),
    ViewColumn("borrowed_seconds", UNIT_SECONDS, "of that, above nominal"),
    ViewColumn("lent_seconds", UNIT_SECONDS, "its share of what its cohort tree's queues borrowed"),
    ViewColumn("idle_seconds", UNIT_SECONDS, "nominal, neither used nor lent"),
)

_NAMES = ("partition", "hour_us", "cluster_queue", "flavor", "resource")
_zero = cast(0, Double)
_root = roots()


def _lines() -> CTE:
    """Return one row an hour, queue and flavor-resource that had quota or was used."""
    nothing = (_zero.label("nominal"), _zero.label("lends"))
    each = by_queue().subquery("by_queue").c
    used = select(*(each[name] for name in _NAMES), *nothing, each.used)
    quota = given("ClusterQueue").add_columns(_zero.label("used"))
    both = union_all(quota, used).subquery("both_sides").c
    key = [both[name] for name in _NAMES]
    sums = [func.sum(both[name]).label(name) for name in ("nominal", "lends", "used")]
    return select(*key, *sums).group_by(*key).cte("summed")


def _placed(line: CTE) -> CTE:
    row = line.c
    idle = larger(row.nominal - row.used, _zero)
    of_queue = and_(
        _root.c.partition == row.partition,
        _root.c.kind == "ClusterQueue",
        _root.c.owner == row.cluster_queue,
    )
    return (
        select(
            *row,
            func.coalesce(_root.c.cohort, "").label("root"),
            larger(row.used - row.nominal, _zero).label("borrowed"),
            smaller(idle, row.lends).label("lendable"),
            idle.label("idle"),
        )
        .outerjoin_from(line, _root, of_queue)
        .cte("placed")
    )


def _keyed(left: CTE, right: CTE, cohort: Column[Any] | ColumnElement[Any]) -> ColumnElement[bool]:
    return and_(
        left.c.partition == right.c.partition,
        left.c.hour_us == right.c.hour_us,
        left.c.root == cohort,
        left.c.flavor == right.c.flavor,
        left.c.resource == right.c.resource,
    )


def _trees(line: CTE) -> CTE:
    """Return what each tree borrowed of its own queues, beyond its cohorts' quota."""
    row, shared = line.c, given("Cohort").cte("shared").c
    above = and_(
        _root.c.partition == shared.partition,
        _root.c.kind == "Cohort",
        _root.c.owner == shared.cluster_queue,
    )
    key = (shared.partition, shared.hour_us, _root.c.cohort, shared.flavor, shared.resource)
    own = (
        select(*key, func.sum(shared.nominal).label("nominal"))
        .join_from(_root, shared.nominal.table, above)
        .group_by(*key)
        .cte("own")
    )
    names = (row.partition, row.hour_us, row.root, row.flavor, row.resource)
    tree = (
        select(
            *names,
            func.sum(row.borrowed).label("borrowed"),
            func.sum(row.lendable).label("lendable"),
        )
        .where(row.root != "")
        .group_by(*names)
        .cte("tree_sum")
    )
    lenders = larger(tree.c.borrowed - func.coalesce(own.c.nominal, _zero), _zero)
    part = smaller(per(lenders, func.nullif(tree.c.lendable, _zero)), cast(1, Double))
    kept = [tree.c[name] for name in ("partition", "hour_us", "root", "flavor", "resource")]
    return (
        select(*kept, func.coalesce(part, _zero).label("part"))
        .outerjoin_from(tree, own, _keyed(tree, own, own.c.cohort))
        .cte("tree")
    )


_line = _placed(_lines())
_tree = _trees(_line)
_lent = _line.c.lendable * func.coalesce(_tree.c.part, _zero)


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
).outerjoin_from(_line, _tree, _keyed(_line, _tree, _tree.c.root))
