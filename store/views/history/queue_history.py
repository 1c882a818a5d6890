"""The history of queues: Cohort, stop policy and author of each queue, from when to when."""

from __future__ import annotations

from sqlalchemy import Double, cast, literal, select

from store.reporting.tables import queue
from store.statements.clock import utc_text
from store.views.columns import PARTITION, ViewColumn
from store.views.expressions import per
from tidegate.model.quota import WEIGHT_ONE

NAME = "queue_history"
COLUMNS = (
    ViewColumn("kind", "", "ClusterQueue, Cohort or LocalQueue"),
    ViewColumn("owner", "", "its name; a LocalQueue's with its namespace"),
    ViewColumn("parent", "", "a queue's Cohort, a Cohort's parent, a LocalQueue's ClusterQueue"),
    ViewColumn("strategy", "", "of a ClusterQueue: StrictFIFO or BestEffortFIFO"),
    ViewColumn("stop_policy", "", "of a queue: None, Hold or HoldAndDrain"),
    ViewColumn("weight", "1", "fair-sharing weight"),
    ViewColumn("from_at", "UTC", "since when"),
    ViewColumn("from_seq", "seq", "the event that made it so"),
    ViewColumn("author", "", "who made it so; empty if no policy stamped it"),
    ViewColumn("to_at", "UTC", "until when; NULL: it is still so"),
    ViewColumn("to_seq", "seq", "the event that ended it"),
    PARTITION,
)

_q = queue.c

QUERY = select(
    *(_q.kind, _q.owner, _q.parent, _q.strategy, _q.stop_policy),
    per(cast(_q.weight, Double), literal(float(WEIGHT_ONE))).label("weight"),
    utc_text(_q.from_us).label("from_at"),
    *(_q.from_seq, _q.author),
    utc_text(_q.to_us).label("to_at"),
    _q.to_seq,
    _q.partition,
)
