"""What ClusterQueues lend each other within an hour.

A queue lends, of what its tree's queues borrowed within the hour beyond the quota of the tree's
cohorts, a share by what it could have lent, and nothing to itself; the tree is the one at the
hour's end.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import CTE, ColumnElement, Double, Select, and_, case, cast, exists, func, select

from store.reporting.tables import queue
from store.views.expressions import larger, per, same, smaller
from store.views.usage.levels import nominal_quota_time

SUMS = ("nominal", "used", "borrowed", "lent", "idle")
_zero = cast(0, Double)


def roots() -> CTE:
    """Return each queue's and cohort's root; UNION ends the walk where cohorts form a circle."""
    node = select(queue).where(queue.c.to_seq.is_(None)).cte("node")
    first = case((node.c.kind == "Cohort", node.c.owner), else_=node.c.parent)
    up = (
        select(node.c.partition, node.c.kind, node.c.owner, first.label("cohort"))
        .where(node.c.kind != "LocalQueue", first != "")
        .cte("up", recursive=True)
    )
    above = and_(
        node.c.partition == up.c.partition,
        node.c.kind == "Cohort",
        node.c.owner == up.c.cohort,
        node.c.parent != "",
    )
    higher = select(up.c.partition, up.c.kind, up.c.owner, node.c.parent).join_from(up, node, above)
    every = up.union(higher)
    parent = node.alias("its")
    has_parent = exists().where(
        parent.c.partition == every.c.partition,
        parent.c.kind == "Cohort",
        parent.c.owner == every.c.cohort,
        parent.c.parent != "",
    )
    return select(every).where(~has_parent).cte("root")


_root = roots()


def hour_rows(hour: CTE, sums: CTE) -> Select[Any]:
    """Return the rows of ``report_quota_hour`` for one hour of each partition, or its begin.

    ``hour`` has the columns partition, begin_us and end_us, and its end is the newest that the
    reporting tables know of; ``sums`` those of ``levels.by_hour``, which says what they are.
    """
    line = _shared(_placed(sums), hour).c
    given_away = line.lendable * larger(line.tree_rate - line.rate, _zero)
    lent = smaller(given_away, line.lendable)
    columns: list[ColumnElement[Any]] = [
        *(line.partition, line.hour_us, line.cluster_queue, line.flavor, line.resource),
        line.root.label("cohort"),
        *(line.nominal, line.used, line.borrowed),
        lent.label("lent"),
        (line.idle - lent).label("idle"),
    ]
    return select(*columns)


def _placed(line: CTE) -> CTE:
    row = line.c
    of_queue = and_(
        _root.c.partition == row.partition,
        _root.c.kind == "ClusterQueue",
        _root.c.owner == row.cluster_queue,
    )
    return (
        select(*row, func.coalesce(_root.c.cohort, "").label("root"))
        .outerjoin_from(line, _root, of_queue)
        .cte("placed")
    )


def _own(hour: CTE) -> CTE:
    """Return the quota of each tree's Cohort objects times its time: no queue lends it."""
    shared = nominal_quota_time("Cohort", hour).cte("shared").c
    above = and_(
        _root.c.partition == shared.partition,
        _root.c.kind == "Cohort",
        _root.c.owner == shared.owner,
    )
    key = (shared.partition, _root.c.cohort, shared.flavor, shared.resource)
    return (
        select(*key, func.sum(shared.nominal).label("nominal"))
        .join_from(_root, shared.nominal.table, above)
        .group_by(*key)
        .cte("own")
    )


def _shared(line: CTE, hour: CTE) -> CTE:
    """Return with each row what every lender gives each of its units, for what this queue borrowed.

    A queue's own borrowing is shared out among the others of its tree.
    """
    row, own = line.c, _own(hour)
    of_tree = same(row, own.c, "partition root=cohort flavor resource")
    sums = [_in_tree(row, row[name], name) for name in ("borrowed", "lendable")]
    nominal = func.coalesce(own.c.nominal, _zero).label("own")
    tree = select(*row, *sums, nominal).outerjoin_from(line, own, of_tree).cte("tree").c
    lent = larger(tree.tree_borrowed - tree.own, _zero)
    others = func.nullif(tree.tree_lendable - tree.lendable, _zero)
    rate = per(tree.borrowed * per(lent, func.nullif(tree.tree_borrowed, _zero)), others)
    mine = case((tree.root == "", _zero), else_=func.coalesce(rate, _zero))
    each = select(*(tree[name] for name in row.keys()), mine.label("rate")).cte("rated").c  # noqa: SIM118 - a collection of columns
    return select(*each, _in_tree(each, each.rate, "rate")).cte("shared_out")


def _in_tree(row: Any, amount: ColumnElement[Any], name: str) -> ColumnElement[Any]:  # noqa: ANN401 - SQLAlchemy's columns
    key = [row.partition, row.hour_us, row.root, row.flavor, row.resource]
    return func.sum(amount).over(partition_by=key).label(f"tree_{name}")
