"""What Tidegate answers of objects that are queued through their pods."""

from __future__ import annotations

from msgspec.structs import replace

from tests.kinds.observed.cases import Case, Object
from tests.kinds.observed.defaults import defaulted
from tests.kinds.observed.orders import as_reported, shown, units_of
from tidegate.errors import TidegateError
from tidegate.jobs.job_metadata import managed_job
from tidegate.jobs.job_status import UntypedObject
from tidegate.jobs.registry import JOB_KINDS, THROUGH_PODS
from tidegate.kinds.decode import read
from tidegate.kinds.names import PREBUILT_WORKLOAD
from tidegate.kinds.policies.templates.serving_kinds import SERVING

SERVED = {kind.name.rpartition("/")[2]: kind for kind in SERVING}
"""The kinds by the names of the cases."""


def served_answers(case: Case) -> Object:
    """Return every answer about an object, none of its own where each pod is queued by itself."""
    fields: Object = {"webhook": {"default": {"object": shown(defaulted(case))}}}
    framework = SERVED[case.kind]
    kind = JOB_KINDS["pod" if framework.name in THROUGH_PODS else framework.name]
    job = _without_prebuilt(read(case.object, UntypedObject))
    try:
        if framework.name in THROUGH_PODS:
            managed_job(kind, job.metadata)
            return fields
        observed = kind.observe(job)
        return (
            fields
            | as_reported(observed)
            | {"podSets": units_of(kind.podsets(case.object), observed)}
        )
    except TidegateError as error:
        fields["webhook"]["validateCreate"] = {"error": str(error)}
        return fields | {"podSetsError": str(error)}


def _without_prebuilt(job: UntypedObject) -> UntypedObject:
    labels = dict(job.metadata.labels)
    labels.pop(PREBUILT_WORKLOAD, None)
    return replace(job, metadata=replace(job.metadata, labels=labels))
