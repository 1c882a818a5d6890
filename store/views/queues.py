"""The ClusterQueues now: where each stands in its cohort, and how it queues."""

from __future__ import annotations

from sqlalchemy import Double, cast, literal, select

from store.clock import utc_text
from store.expressions import per
from store.reporting.tables import queue
from store.views.columns import CLUSTER_QUEUE, ViewColumn
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
)

_q = queue.c

QUERY = select(
    _q.owner.label("cluster_queue"),
    _q.parent.label("cohort"),
    _q.strategy,
    _q.stop_policy,
    per(cast(_q.weight, Double), literal(float(WEIGHT_ONE))).label("weight"),
    utc_text(_q.from_us).label("since"),
    _q.author,
).where(_q.kind == "ClusterQueue", _q.to_seq.is_(None))
