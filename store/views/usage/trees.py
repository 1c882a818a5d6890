"""The cohort trees, for reports that share out what a tree borrows."""

from __future__ import annotations

from sqlalchemy import CTE, and_, case, exists, select

from store.reporting.tables import queue


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
