"""What the admission policies make of an object that is new, from the tables they are made of."""

from __future__ import annotations

from tests.kinds.observed.cases import Case, Object
from tidegate.jobs.templates.paths import parsed, with_value
from tidegate.kinds.names import MANAGED, QUEUE_NAME
from tidegate.kinds.policies.frameworks import FRAMEWORKS


def defaulted(case: Case) -> Object:
    """Return the object as the API server keeps it."""
    group, _, _ = str(case.object["apiVersion"]).rpartition("/")
    framework = next(
        (one for one in FRAMEWORKS if (one.group, one.kind) == (group, case.object["kind"])), None
    )
    if not (_is_queued(case) or case.manage_jobs_without_queue_name):
        return case.object
    if case.object["kind"] == "Pod":
        labelled: Object = with_value(case.object, ("metadata", "labels", MANAGED), "true")
        return labelled
    if framework is None:
        return case.object
    suspended: Object = with_value(case.object, parsed(framework.suspend), value=True)
    return suspended


def _is_queued(case: Case) -> bool:
    return QUEUE_NAME in case.object["metadata"].get("labels", {})
