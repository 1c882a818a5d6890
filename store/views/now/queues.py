"""The ClusterQueues now: their Cohorts, policies and weights."""

from __future__ import annotations

from sqlalchemy import ColumnElement, FromClause, and_, func, select

from store.reporting.tables import queue
from store.views.columns import copied, known, moment, shown, text, weight
from store.views.expressions import same

_q, _open, _stop = queue.c, queue.alias("opened"), queue.alias("stop")


def _of_it(row: FromClause) -> ColumnElement[bool]:
    """Return whether a row belongs to the queue's own history."""
    return same(row.c, _q, "partition kind owner")


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

COLUMNS = (
    known("cluster_queue", _q.owner),
    text("cohort", "the Cohort that it is in; empty if none", _q.parent),
    text("strategy", "StrictFIFO or BestEffortFIFO", _q.strategy),
    text("stop_policy", "None, Hold or HoldAndDrain", _q.stop_policy),
    weight(_q.weight),
    moment("since", "since when it is so", _q.from_us),
    text("author", "who made it so; empty if no policy stamped it", _q.author),
    moment(
        "stopped_at", "since when its stop_policy is not None; NULL: it is None", _stopped.c.from_us
    ),
    text(
        "stopped_by",
        "who stopped it; empty if it is not stopped, or no policy stamped it",
        func.coalesce(_stopped.c.author, ""),
    ),
    *copied(_q, "partition"),
)
QUERY = (
    shown(COLUMNS)
    .select_from(
        queue.outerjoin(_stopped, and_(_of_it(_stopped), _stopped.c.from_seq == _stopped_seq))
    )
    .where(_q.kind == "ClusterQueue", _q.to_seq.is_(None))
)
