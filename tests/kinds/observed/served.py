"""What Tidegate answers of objects that are queued through their pods."""

from __future__ import annotations

from msgspec.structs import replace

from tests.kinds.observed.cases import Case, Object
from tests.kinds.observed.defaults import defaulted
from tests.kinds.observed.orders import shown, told_of, units_of
from tidegate.errors import TidegateError
from tidegate.jobs.job_metadata import asked
from tidegate.jobs.job_status import Loose
from tidegate.jobs.registry import JOB_KINDS, THROUGH_PODS
from tidegate.kinds.decode import read
from tidegate.kinds.names import PREBUILT_WORKLOAD
from tidegate.kinds.policies.templates.serving_kinds import SERVING

SERVED = {one.name.rpartition("/")[2]: one for one in SERVING}
"""The kinds by the names of the cases."""


def served_answers(case: Case) -> Object:
    """Return every answer about an object, none of its own where each pod is queued by itself."""
    told: Object = {"webhook": {"default": {"object": shown(defaulted(case))}}}
    framework = SERVED[case.kind]
    kind = JOB_KINDS["pod" if framework.name in THROUGH_PODS else framework.name]
    found = _without_prebuilt(read(case.object, Loose))
    try:
        if framework.name in THROUGH_PODS:
            asked(kind, found.metadata)
            return told
        observed = kind.observe(found)
        return told | told_of(observed) | {"podSets": units_of(kind.podsets(case.object), observed)}
    except TidegateError as error:
        told["webhook"]["validateCreate"] = {"error": str(error)}
        return told | {"podSetsError": str(error)}


def _without_prebuilt(found: Loose) -> Loose:
    labels = dict(found.metadata.labels)
    labels.pop(PREBUILT_WORKLOAD, None)
    return replace(found, metadata=replace(found.metadata, labels=labels))
