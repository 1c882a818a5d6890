"""What Tidegate answers of pods that are a job together."""

from __future__ import annotations

from collections.abc import Sequence

from tests.jobs.walking import merged
from tests.kinds.observed.cases import Case, Object
from tests.kinds.observed.defaults import gated
from tests.kinds.observed.orders import as_reported, shown, start_of, units_of
from tidegate.contracts.observations import JobObserved
from tidegate.errors import TidegateError
from tidegate.jobs.kind import Patch, Refused
from tidegate.jobs.pods import pod_group
from tidegate.kinds.decode import read
from tidegate.kinds.names import ADMISSION_GATE, ROLE_HASH
from tidegate.kinds.pods import Pod


def group_answers(case: Case) -> Object:
    """Return every answer about a case's group of pods."""
    pods = [_with_role(gated(pod, ADMISSION_GATE), case) for pod in case.object["items"]]
    fields: Object = {
        "gvk": {"group": "", "kind": "Pod", "version": "v1"},
        "skip": False,
    }
    try:
        observed = pod_group.observe_group([read(pod, Pod) for pod in pods], 1, was_whole=False)
        podsets = pod_group.podsets({"items": pods})
    except TidegateError as error:
        return fields | {"composableWorkload": {"error": str(error)}}
    return (
        fields
        | as_reported(observed)
        | {"podSets": units_of(podsets, observed), "run": _started(case, observed, pods)}
    )


def _with_role(pod: Object, case: Case) -> Object:
    """Return a pod as Kueue's webhook would have named its role when it was made."""
    annotations = pod["metadata"].get("annotations", {})
    like = [
        podset for podset in case.expected["podSets"] if _spec(podset["template"]) == _spec(pod)
    ]
    if ROLE_HASH in annotations or not like:
        return pod
    named = {**annotations, ROLE_HASH: like[0]["name"]}
    return {**pod, "metadata": {**pod["metadata"], "annotations": named}}


def _spec(obj: Object) -> Object:
    return {key: value for key, value in obj["spec"].items() if key != "schedulingGates"}


def _started(case: Case, observed: JobObserved, pods: Sequence[Object]) -> Object:
    start = start_of(case.infos or (), uid=observed.uid)
    steps = pod_group.start_members(start, pods)
    refused = next((step for _, step in steps if isinstance(step, Refused)), None)
    if refused is not None:
        return {"error": refused.message, "permanent": refused.reason == "invalid"}
    changed = {
        pod["metadata"]["uid"]: merged(pod, step.body)
        for pod, step in steps
        if isinstance(step, Patch)
    }
    after = [changed.get(pod["metadata"]["uid"], pod) for pod in pods]
    observed = pod_group.observe_group([read(pod, Pod) for pod in after], 2, was_whole=True)
    return {"pods": [shown(pod) for pod in after], "isSuspended": observed.state.suspended}
