"""Quota now: nominal, used, borrowed and lent quota of each ClusterQueue, flavor and resource.

What is lent is computed by shares, since borrowed quota is not any one lender's: what a cohort
tree's queues borrow, less the quota of its Cohort objects, falls on the queues that have idle quota
to lend, in proportion to it.

Amounts are added up as doubles: those of two unlimited queues exceed the integers of a database.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import CTE, ColumnElement, Double, and_, cast, func, literal, select, union

from store.reporting.tables import holding, queue, quota
from store.views.columns import UNIT, ViewColumn, copied, shown, text
from store.views.expressions import larger, per, same, smaller, units
from store.views.usage.lending import roots

_KEY = ("partition", "cluster_queue", "flavor", "resource")


def _used() -> CTE:
    key = [holding.c[name] for name in _KEY]
    used = select(
        *key,
        func.sum(cast(holding.c.amount, Double)).label("used"),
        func.count(holding.c.workload.distinct()).label("workloads"),
    )
    return used.where(holding.c.to_seq.is_(None)).group_by(*key).cte("used")


def _nominal(kind: str, name: str) -> CTE:
    now = quota.c.to_seq.is_(None) & (quota.c.kind == kind)
    return select(quota).where(now).cte(name)


_used_now = _used()
_quota = _nominal("ClusterQueue", "given")
_cohort_quota = _nominal("Cohort", "shared")
_root = roots()


def _rows() -> CTE:
    """Return one row for each flavor-resource that a queue has quota of, or holds without."""
    owner = _quota.c.owner.label("cluster_queue")
    key = union(
        select(_quota.c.partition, owner, _quota.c.flavor, _quota.c.resource),
        select(*(_used_now.c[name] for name in _KEY)),
    ).subquery("key")
    zero = cast(0, Double)
    nominal = func.coalesce(cast(_quota.c.nominal, Double), zero)
    used = func.coalesce(_used_now.c.used, zero)
    idle = larger(nominal - used, zero)
    lendable = smaller(idle, func.coalesce(cast(_quota.c.lending_limit, Double), nominal))
    return (
        select(
            *(key.c[name] for name in _KEY),
            nominal.label("nominal"),
            _quota.c.borrowing_limit,
            _quota.c.lending_limit,
            used.label("used"),
            larger(used - nominal, zero).label("borrowed"),
            lendable.label("lendable"),
            func.coalesce(_used_now.c.workloads, 0).label("workloads"),
            _root.c.cohort.label("root"),
        )
        .select_from(key)
        .outerjoin(_quota, same(key.c, _quota.c, "partition cluster_queue=owner flavor resource"))
        .outerjoin(_used_now, same(key.c, _used_now.c, " ".join(_KEY)))
        .outerjoin(
            _root,
            and_(
                _root.c.partition == key.c.partition,
                _root.c.kind == "ClusterQueue",
                _root.c.owner == key.c.cluster_queue,
            ),
        )
        .cte("line")
    )


_line = _rows()


def _own() -> CTE:
    """Return the quota that the Cohort objects of each tree add: it is lent first."""
    shared, root = _cohort_quota.c, _root.c
    same_cohort = and_(
        root.partition == shared.partition, root.kind == "Cohort", root.owner == shared.owner
    )
    key = (root.partition, root.cohort, shared.flavor, shared.resource)
    return (
        select(*key, func.sum(cast(shared.nominal, Double)).label("nominal"))
        .join_from(_root, _cohort_quota, same_cohort)
        .group_by(*key)
        .cte("own")
    )


def _trees() -> CTE:
    key = (_line.c.partition, _line.c.root, _line.c.flavor, _line.c.resource)
    return (
        select(
            *key,
            func.sum(_line.c.borrowed).label("borrowed"),
            func.sum(_line.c.lendable).label("lendable"),
        )
        .where(_line.c.root.is_not(None))
        .group_by(*key)
        .cte("tree")
    )


_tree, _owned = _trees(), _own()


def _units(amount: ColumnElement[Any]) -> ColumnElement[float]:
    return units(_line.c.resource, amount)


_lenders = larger(_tree.c.borrowed - func.coalesce(_owned.c.nominal, 0), literal(0))
_part = per(_units(_lenders) * _units(_line.c.lendable), func.nullif(_units(_tree.c.lendable), 0))
# A queue of no tree has no part: a comparison with nothing would give the other side.
_lent = smaller(func.coalesce(_part, _units(literal(0))), _units(_line.c.lendable))
_place = queue.alias("place")

COLUMNS = (
    *copied(_line.c, "cluster_queue"),
    text("cohort", "the Cohort that it is in; empty if none", func.coalesce(_place.c.parent, "")),
    *copied(_line.c, "flavor resource"),
    ViewColumn("nominal", UNIT, "nominal quota", _units(_line.c.nominal)),
    ViewColumn(
        "borrowing_limit",
        UNIT,
        "most that it may borrow; NULL: no limit",
        _units(_line.c.borrowing_limit),
    ),
    ViewColumn(
        "lending_limit",
        UNIT,
        "most that it may lend; NULL: all of it",
        _units(_line.c.lending_limit),
    ),
    ViewColumn("used", UNIT, "held by its workloads now", _units(_line.c.used)),
    ViewColumn("borrowed", UNIT, "of that, above nominal", _units(_line.c.borrowed)),
    ViewColumn("lent", UNIT, "its share of what its cohort tree's queues borrow", _lent),
    ViewColumn("workloads", "1", "how many hold some of it", _line.c.workloads),
    *copied(_line.c, "partition"),
)
QUERY = (
    shown(COLUMNS)
    .select_from(_line)
    .outerjoin(
        _place,
        and_(
            _place.c.partition == _line.c.partition,
            _place.c.kind == "ClusterQueue",
            _place.c.owner == _line.c.cluster_queue,
            _place.c.to_seq.is_(None),
        ),
    )
    .outerjoin(_tree, same(_tree.c, _line.c, "partition root flavor resource"))
    .outerjoin(_owned, same(_owned.c, _line.c, "partition cohort=root flavor resource"))
)
