"""What a report's column is: its name, its unit, its meaning."""

from __future__ import annotations

from typing import Any, NamedTuple

from sqlalchemy import Select


class ViewColumn(NamedTuple):
    """One column of a SQL report."""

    name: str
    unit: str  # empty for names and texts
    meaning: str


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
CLUSTER = ViewColumn("cluster", "", "the Kubernetes cluster")
CLUSTER_QUEUE = ViewColumn("cluster_queue", "", "ClusterQueue")
LOCAL_QUEUE = ViewColumn("local_queue", "", "LocalQueue, in the namespace")
NAMESPACE = ViewColumn("namespace", "", "the workload's namespace")
WORKLOAD = ViewColumn("workload", "", "namespace/name of the Workload")
JOB_KIND = ViewColumn("job_kind", "", "kind of the job, e.g. batch/job")
JOB_NAME = ViewColumn("job_name", "", "name of the job")
AUTHOR = ViewColumn("author", "", "who created the job; empty if no policy stamped it")
PRIORITY = ViewColumn("priority", "", "its priority, boost included")
PRIORITY_CLASS = ViewColumn("priority_class", "", "WorkloadPriorityClass; empty if none")
FLAVOR = ViewColumn("flavor", "", "ResourceFlavor")
PARTITION = ViewColumn("partition", "", "the ledger's partition, which its seqs are of")
RESOURCE = ViewColumn("resource", "", "resource, e.g. cpu")
