"""The workloads that hold quota now: how much of which flavor, and since when."""

from __future__ import annotations

from sqlalchemy import CTE, Double, cast, func, select

from store.reporting.tables import holding, workload
from store.views.columns import UNIT, ViewColumn, copied, duration, moment, shown, text
from store.views.expressions import ledger_end, same, units


def _held() -> CTE:
    """Return what each workload holds, its podsets added up."""
    row = holding.c
    key = (row.partition, row.workload, row.cluster_queue, row.flavor, row.resource)
    amount = func.sum(cast(row.amount, Double)).label("amount")
    usage = select(*key, func.sum(row.pods).label("pods"), amount)
    return usage.where(row.to_seq.is_(None)).group_by(*key).cte("held")


_w, _h, _end = workload.c, _held(), ledger_end()

COLUMNS = (
    *copied(_w, "cluster"),
    *copied(_h.c, "cluster_queue"),
    *copied(_w, "workload job_kind job_name namespace local_queue author priority_class priority"),
    text("phase", "reserved, admitted or evicting", _w.phase),
    moment("reserved_at", "since when quota is charged for it", _w.reserved_us),
    moment("admitted_at", "since when it may run; NULL: its checks are not ready", _w.admitted_us),
    duration(
        "held_s",
        "since reserved_at, up to the ledger's newest event",
        _end.c.at_us - _w.reserved_us,
    ),
    *copied(_h.c, "flavor resource"),
    ViewColumn("pods", "1", "pods that are charged for", _h.c.pods),
    ViewColumn("amount", UNIT, "what they hold together", units(_h.c.resource, _h.c.amount)),
    *copied(_w, "partition"),
)
QUERY = (
    shown(COLUMNS)
    .select_from(workload)
    .join(_end, _end.c.partition == _w.partition)
    .join(_h, same(_h.c, _w, "partition workload"))
    .where(_w.removed_seq.is_(None))
)
