"""The history of queues: Cohort, stop policy and author of each queue, from when to when."""

from __future__ import annotations

from store.reporting.tables import queue
from store.views.columns import ViewColumn, copied, moment, shown, text, weight

_q = queue.c

COLUMNS = (
    text("kind", "ClusterQueue, Cohort or LocalQueue", _q.kind),
    text("owner", "its name; a LocalQueue's with its namespace", _q.owner),
    text("parent", "a queue's Cohort, a Cohort's parent, a LocalQueue's ClusterQueue", _q.parent),
    text("strategy", "of a ClusterQueue: StrictFIFO or BestEffortFIFO", _q.strategy),
    text("stop_policy", "of a queue: None, Hold or HoldAndDrain", _q.stop_policy),
    weight(_q.weight),
    moment("from_at", "since when", _q.from_us),
    ViewColumn("from_seq", "seq", "the event that made it so", _q.from_seq),
    text("author", "who made it so; empty if no policy stamped it", _q.author),
    moment("to_at", "until when; NULL: it is still so", _q.to_us),
    ViewColumn("to_seq", "seq", "the event that ended it", _q.to_seq),
    *copied(_q, "partition"),
)
QUERY = shown(COLUMNS)
