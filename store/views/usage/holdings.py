"""Intervals in which workloads held quota: the basis of all usage reports."""

from __future__ import annotations

from sqlalchemy import func, select

from store.reporting.tables import holding
from store.statements.clock import utc_text
from store.views.columns import (
    AUTHOR,
    CLUSTER,
    CLUSTER_QUEUE,
    FLAVOR,
    LOCAL_QUEUE,
    NAMESPACE,
    PARTITION,
    PRIORITY,
    PRIORITY_CLASS,
    RESOURCE,
    UNIT,
    UNIT_SECONDS,
    WORKLOAD,
    ViewColumn,
)
from store.views.expressions import ledger_end, seconds, units

NAME = "holdings"
COLUMNS = (
    CLUSTER,
    CLUSTER_QUEUE,
    LOCAL_QUEUE,
    NAMESPACE,
    WORKLOAD,
    AUTHOR,
    PRIORITY_CLASS,
    PRIORITY,
    ViewColumn("podset", "", "podset of the workload"),
    FLAVOR,
    RESOURCE,
    ViewColumn("pods", "1", "pods that were charged for"),
    ViewColumn("amount", UNIT, "what they held together"),
    ViewColumn("from_at", "UTC", "since when"),
    ViewColumn("from_seq", "seq", "the event that charged it"),
    ViewColumn("to_at", "UTC", "until when; NULL: it is still held"),
    ViewColumn("to_seq", "seq", "the event that freed it"),
    ViewColumn("held_s", "s", "how long; what lasts: up to the ledger's newest event"),
    ViewColumn("resource_seconds", UNIT_SECONDS, "amount times held_s"),
    PARTITION,
)

_h, _end = holding.c, ledger_end()
_held = seconds(func.coalesce(_h.to_us, _end.c.at_us) - _h.from_us)

QUERY = (
    select(
        _h.cluster,
        _h.cluster_queue,
        _h.local_queue,
        _h.namespace,
        _h.workload,
        _h.author,
        _h.priority_class,
        _h.priority,
        _h.podset,
        _h.flavor,
        _h.resource,
        _h.pods,
        units(_h.resource, _h.amount).label("amount"),
        utc_text(_h.from_us).label("from_at"),
        _h.from_seq,
        utc_text(_h.to_us).label("to_at"),
        _h.to_seq,
        _held.label("held_s"),
        (units(_h.resource, _h.amount) * _held).label("resource_seconds"),
        _h.partition,
    )
    .select_from(holding)
    .join(_end, _end.c.partition == _h.partition)
)
