"""Usage of each hour as own and borrowed quota, where some price tells the two apart.

What a ClusterQueue borrowed of a flavor's resource in an hour is shared out among those who used it
in that hour, by how much each did. Where no price tells them apart, nothing is computed.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import CTE, Double, and_, case, cast, exists, func, literal, select, union_all

from store.reporting.tables import price
from store.views.expressions import asked, per
from store.views.usage.levels import by_hour, hours
from store.views.usage.usage_hourly import ALL_USAGE

_zero = cast(0, Double)
_tells_apart = exists(select(price.c.quota).where(price.c.quota != "").correlate(None))


def _asked() -> CTE:
    """Return the time that is asked for, or none if no price tells own from borrowed."""
    every = asked()
    return select(every.c.begin_us, every.c.end_us).where(_tells_apart).cte("asked_apart")


def _shares() -> CTE:
    """Return which part of an hour's usage of a queue was borrowed; no row: none of it."""
    time_span = _asked()
    level = by_hour(time_span, hours(time_span)).c
    key = [level[name] for name in ("partition", "hour_us", "cluster_queue", "flavor", "resource")]
    share = per(level.borrowed, func.nullif(level.used, _zero)).label("share")
    return select(*key, share).where(level.borrowed > _zero).cte("borrowed_share")


def usage_by_quota() -> Any:  # noqa: ANN401 - SQLAlchemy's CompoundSelect
    """Return ``ALL_USAGE`` with ``quota``: own, borrowed, or empty where no price asks."""
    row, share = ALL_USAGE.c, _shares()
    same = and_(
        *(
            row[name] == share.c[name]
            for name in ("partition", "hour_us", "cluster_queue", "flavor", "resource")
        )
    )
    names = [name for name in row.keys() if name != "unit_seconds"]  # noqa: SIM118 - columns
    columns = [row[name] for name in names]
    own = row.unit_seconds * (literal(1.0) - func.coalesce(share.c.share, _zero))
    kind = case((_tells_apart, "own"), else_="").label("quota")
    within = select(*columns, kind, own.label("unit_seconds")).outerjoin_from(
        ALL_USAGE, share, same
    )
    above = select(
        *columns,
        literal("borrowed").label("quota"),
        (row.unit_seconds * share.c.share).label("unit_seconds"),
    ).join_from(ALL_USAGE, share, same)
    return union_all(within, above)
