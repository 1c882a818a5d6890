"""The ClusterQueues now: their Cohorts, policies and weights."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Double, FromClause, and_, cast, func, literal, select

from store.reporting.tables import queue
from store.statements.clock import utc_text
from store.views.columns import CLUSTER_QUEUE, PARTITION, ViewColumn
from store.views.expressions import per
from tidegate.model.quota import WEIGHT_ONE

NAME = "queues"
COLUMNS = (
    CLUSTER_QUEUE,
    ViewColumn("cohort", "", "the Cohort that it is in; empty if none"),
    ViewColumn("strategy", "", "StrictFIFO or BestEffortFIFO"),
    ViewColumn("stop_policy", "", "None, Hold or HoldAndDrain"),
    ViewColumn("weight", "1", "fair-sharing weight"),
    ViewColumn("since", "UTC", "since when it is so"),
    ViewColumn("author", "", "who made it so; empty if no policy stamped it"),
    ViewColumn("stopped_at", "UTC", "since when its stop_policy is not None; NULL: it is None"),
    ViewColumn("stopped_by", "", "who stopped it; empty if nobody did, or no policy stamped it"),
    PARTITION,
)

_q, _open, _stop = queue.c, queue.alias("opened"), queue.alias("stop")


def _of_it(row: FromClause) -> ColumnElement[bool]:
    """Tell that a row is of the queue's own past."""
    same = row.c.partition == _q.partition, row.c.kind == _q.kind, row.c.owner == _q.owner
    return and_(*same)


_opened_seq = (
    select(func.coalesce(func.max(_open.c.from_seq), 0))
    .where(_of_it(_open), _open.c.stop_policy == "None")
    .scalar_subquery()
)
_stopped_seq = (
    select(func.min(_stop.c.from_seq))
    .where(_of_it(_stop), _stop.c.from_seq > _opened_seq.correlate(queue))
    .correlate(queue)
    .scalar_subquery()
)
_stopped = queue.alias("stopped")

QUERY = (
    select(
        _q.owner.label("cluster_queue"),
        _q.parent.label("cohort"),
        _q.strategy,
        _q.stop_policy,
        per(cast(_q.weight, Double), literal(float(WEIGHT_ONE))).label("weight"),
        utc_text(_q.from_us).label("since"),
        _q.author,
        utc_text(_stopped.c.from_us).label("stopped_at"),
        func.coalesce(_stopped.c.author, "").label("stopped_by"),
        _q.partition,
    )
    .select_from(
        queue.outerjoin(_stopped, and_(_of_it(_stopped), _stopped.c.from_seq == _stopped_seq))
    )
    .where(_q.kind == "ClusterQueue", _q.to_seq.is_(None))
)
