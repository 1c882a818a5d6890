"""The columns of a report: name, unit, meaning and value in SQL."""

from __future__ import annotations

from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Double, Select, cast, literal, select

from store.statements.clock import utc_text
from store.views.expressions import per, seconds
from tidegate.model.quota import WEIGHT_ONE


class ViewColumn(NamedTuple):
    """One column of a SQL report."""

    name: str
    unit: str  # empty for names and texts
    meaning: str
    value: ColumnElement[Any]


class View(NamedTuple):
    """One SQL report: the same name, columns and rows on SQLite and PostgreSQL."""

    name: str
    about: str  # one sentence
    columns: tuple[ViewColumn, ...]
    query: Select[Any]
    postgresql: Select[Any] | None = None  # the same rows as PostgreSQL gives them sooner
    sums: tuple[str, ...] = ()  # the columns that may be added up over rows


UNIT = "cores or the resource's own unit"
"""CPU counts in cores, everything else as Kubernetes does: bytes, devices, pods."""
UNIT_SECONDS = "unit · s"
_MEANINGS = {
    "cluster": "the Kubernetes cluster",
    "cluster_queue": "ClusterQueue",
    "local_queue": "LocalQueue, in the namespace",
    "namespace": "the workload's namespace",
    "workload": "namespace/name of the Workload",
    "job_kind": "kind of the job, e.g. batch/job",
    "job_name": "name of the job",
    "author": "who created the job; empty if no policy stamped it",
    "priority": "its priority, boost included",
    "priority_class": "WorkloadPriorityClass; empty if none",
    "flavor": "ResourceFlavor",
    "partition": "the ledger's partition, which its seqs are of",
    "resource": "resource, e.g. cpu",
}
"""Of the columns that several reports have."""


def known(name: str, value: ColumnElement[Any]) -> ViewColumn:
    """Return a column that several reports have."""
    return text(name, _MEANINGS[name], value)


def copied(row: Any, names: str) -> list[ViewColumn]:  # noqa: ANN401 - a table's columns
    """Return such columns as a table has them; their names have spaces between."""
    return [known(name, row[name]) for name in names.split()]


def text(name: str, meaning: str, value: ColumnElement[Any]) -> ViewColumn:
    """Return a column of names or texts."""
    return ViewColumn(name, "", meaning, value)


def moment(name: str, meaning: str, at_us: ColumnElement[Any]) -> ViewColumn:
    """Return a column of times, as text."""
    return ViewColumn(name, "UTC", meaning, utc_text(at_us))


def duration(name: str, meaning: str, duration_us: ColumnElement[Any]) -> ViewColumn:
    """Return a column of durations in seconds."""
    return ViewColumn(name, "s", meaning, seconds(duration_us))


def weight(thousandths: ColumnElement[Any]) -> ViewColumn:
    """Return the column of fair-sharing weights."""
    value = per(cast(thousandths, Double), literal(float(WEIGHT_ONE)))
    return ViewColumn("weight", "1", "fair-sharing weight", value)


def shown(columns: tuple[ViewColumn, ...]) -> Select[Any]:
    """Return the query that reads the columns, each under its name."""
    return select(*map(_named, columns))


def _named(column: ViewColumn) -> ColumnElement[Any]:
    is_so = getattr(column.value, "name", None) == column.name
    return column.value if is_so else column.value.label(column.name)
