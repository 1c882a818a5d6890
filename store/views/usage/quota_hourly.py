"""Quota by hour: nominal, used, borrowed, lent and idle quota of each ClusterQueue.

Used, borrowed and idle are exact: each is the difference of what was used and nominal at every
moment, summed over time. Every hour of a queue that had quota has its rows. A queue lends, of what
its tree's queues borrowed within the hour beyond the quota of the tree's cohorts, a share by what
it could have lent, and nothing to itself; the tree is the one at the hour's end. Hours that are
over are kept as they were summed when they ended.
"""

from __future__ import annotations

from sqlalchemy import and_, select, union_all

from store.reporting.tables import quota_hour
from store.views.columns import UNIT_SECONDS, ViewColumn, copied, moment, shown, text
from store.views.expressions import requested_span, units
from store.views.usage.lending import SUMS as _AMOUNTS
from store.views.usage.lending import hour_rows
from store.views.usage.levels import by_hour, newest_hour

SUMS = ("nominal_seconds", "used_seconds", "borrowed_seconds", "lent_seconds", "idle_seconds")

_asked, _kept = requested_span(), quota_hour.c
_in_span = and_(_kept.hour_us >= _asked.c.begin_us, _kept.hour_us < _asked.c.end_us)
_COPIED = ("partition", "hour_us", "cluster_queue", "cohort", "flavor", "resource", *_AMOUNTS)
_hour = newest_hour()
_newest = hour_rows(_hour, by_hour(_hour)).cte("newest_rows").c
_line = union_all(
    select(*(_kept[name] for name in _COPIED)).join_from(_asked, quota_hour, _in_span),
    select(*(_newest[name] for name in _COPIED)),
).cte("line")


def _seconds(amount: str, meaning: str) -> ViewColumn:
    value = units(_line.c.resource, _line.c[amount])
    return ViewColumn(f"{amount}_seconds", UNIT_SECONDS, meaning, value)


COLUMNS = (
    moment("hour", "beginning of the hour", _line.c.hour_us),
    *copied(_line.c, "cluster_queue"),
    text("cohort", "the root of its cohort tree at the hour's end; empty if none", _line.c.cohort),
    *copied(_line.c, "flavor resource"),
    _seconds("nominal", "nominal quota times the time that it held"),
    _seconds("used", "held by its workloads"),
    _seconds("borrowed", "of that, above nominal at each moment"),
    _seconds("lent", "its share of what its cohort tree's queues borrowed"),
    _seconds("idle", "nominal at each moment, neither used nor lent"),
    *copied(_line.c, "partition"),
)
QUERY = shown(COLUMNS)
