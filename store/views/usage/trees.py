"""The cohort trees, now and hour by hour, for reports that share out what a tree borrows."""

from __future__ import annotations

from sqlalchemy import (
    CTE,
    ColumnElement,
    FromClause,
    and_,
    case,
    exists,
    func,
    literal,
    or_,
    select,
)

from store.reporting.tables import queue
from store.statements.clock import HOUR_US


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


def roots_by_hour(each_hour: CTE) -> CTE:
    """Return each ClusterQueue's and Cohort's root in every hour, as the tree stood at its end.

    The tree is walked once for each of its forms that an hour ended with.
    """
    hour, form = each_hour.c, _form_of(each_hour)
    top = _tops(_nodes(form))
    same_hour = and_(form.c.partition == hour.partition, form.c.hour_us == hour.hour_us)
    same_form = and_(top.c.partition == form.c.partition, top.c.form_us == form.c.form_us)
    return (
        select(hour.partition, hour.hour_us, top.c.kind, top.c.owner, top.c.cohort)
        .join_from(each_hour, form, same_hour)
        .join(top, same_form)
        .cte("root_then")
    )


def _tops(node: CTE) -> CTE:
    """Return the root of each node in each form of the tree."""
    first = case((node.c.kind == "Cohort", node.c.owner), else_=node.c.parent)
    up = (
        select(node.c.partition, node.c.form_us, node.c.kind, node.c.owner, first.label("cohort"))
        .where(first != "")
        .cte("up_then", recursive=True)
    )
    parent = node.alias("parent_then")
    higher = select(up.c.partition, up.c.form_us, up.c.kind, up.c.owner, parent.c.parent)
    every = up.union(higher.join_from(up, parent, _above(parent, up)))
    its = node.alias("its_then")
    return select(every).where(~exists().where(_above(its, every))).cte("top_then")


def _above(parent: FromClause, node: FromClause) -> ColumnElement[bool]:
    """Return whether a row is of the Cohort that another has reached, and goes on to its parent."""
    return and_(
        parent.c.partition == node.c.partition,
        parent.c.form_us == node.c.form_us,
        parent.c.kind == "Cohort",
        parent.c.owner == node.c.cohort,
        parent.c.parent != "",
    )


def _form_of(each_hour: CTE) -> CTE:
    """Return when the tree took the form that each hour ended with."""
    row, hour = queue.c, each_hour.c
    begun = select(row.partition, row.from_us.label("at_us")).where(row.kind != "LocalQueue")
    ended = select(row.partition, row.to_us).where(row.kind != "LocalQueue", row.to_us.is_not(None))
    change = begun.union(ended).cte("tree_change")
    within = and_(
        change.c.partition == hour.partition, change.c.at_us < hour.hour_us + literal(HOUR_US)
    )
    return (
        select(hour.partition, hour.hour_us, func.max(change.c.at_us).label("form_us"))
        .join_from(each_hour, change, within)
        .group_by(hour.partition, hour.hour_us)
        .cte("form_of")
    )


def _nodes(form: CTE) -> CTE:
    """Return the ClusterQueues and Cohorts of each form of the tree."""
    row = queue.c
    forms = select(form.c.partition, form.c.form_us).distinct().cte("form")
    stood = and_(
        row.partition == forms.c.partition,
        row.from_us <= forms.c.form_us,
        or_(row.to_us.is_(None), row.to_us > forms.c.form_us),
    )
    return (
        select(row.partition, forms.c.form_us, row.kind, row.owner, row.parent)
        .join_from(forms, queue, stood)
        .where(row.kind != "LocalQueue")
        .cte("node_then")
    )
