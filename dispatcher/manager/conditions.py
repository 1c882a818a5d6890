"""The condition Active of MultiKueueClusters and of checks, as patches of their statuses; pure."""

from __future__ import annotations

from collections.abc import Container

from tidegate.jobs.kind import Object
from tidegate.kinds.names import SENDS_AWAY
from tidegate.model.multikueue import CONTROLLER, CheckParameters, activity_of_parameters

ACTIVE = "Active"


def active_patch(obj: Object, *, status: bool, reason: str, message: str, at: str) -> Object:
    """Return the patch that lets an object show this; empty if it does."""
    return _patch(obj, ACTIVE, (status, reason, message), at)


def queue_patch(queue: Object, *, remote: bool, at: str) -> Object:
    """Return the patch that says on a LocalQueue whether its jobs go to worker clusters.

    Empty if it says so, and for one whose jobs never left.
    """
    if not remote and all(each["type"] != SENDS_AWAY for each in _conditions(queue)):
        return {}
    reason, message = _AWAY if remote else _HERE
    patch = _patch(queue, SENDS_AWAY, (remote, reason, message), at)
    version = {"resourceVersion": queue["metadata"]["resourceVersion"]}  # else others' are lost
    return {"metadata": version, **patch} if patch else {}


_AWAY = ("HasMultiKueueCheck", "Jobs go to worker clusters: managedBy is set where none is named")
_HERE = ("NoMultiKueueCheck", "Jobs run in this cluster")


def _conditions(obj: Object) -> list[Object]:
    conditions: list[Object] = (obj.get("status") or {}).get("conditions") or []
    return conditions


def _patch(obj: Object, kind: str, verdict: tuple[bool, str, str], at: str) -> Object:
    status, reason, message = verdict
    conditions = _conditions(obj)
    now = next((condition for condition in conditions if condition["type"] == kind), None)
    text = "True" if status else "False"
    if now is not None and (now["status"], now["reason"], now["message"]) == (
        text,
        reason,
        message,
    ):
        return {}
    same = now is not None and now["status"] == text
    condition = {
        "type": kind,
        "status": text,
        "reason": reason,
        "message": message,
        "observedGeneration": obj["metadata"].get("generation", 0),
        "lastTransitionTime": now["lastTransitionTime"] if now is not None and same else at,
    }
    others = [condition for condition in conditions if condition["type"] != kind]
    return {"status": {"conditions": [*others, condition]}}


def is_multikueue_check(check: Object) -> bool:
    """Return whether a check is MultiKueue's."""
    controller: str = check["spec"]["controllerName"]
    return controller == CONTROLLER


def config_name(check: Object) -> str:
    """Return the name of the object with a check's parameters; empty: it has none."""
    named: Object = check["spec"].get("parameters") or {}
    name: str = named.get("name", "")
    return name


def check_patch(
    check: Object,
    config: Object | None,
    clusters: Container[str],
    usable: Container[str],
    at: str,
) -> Object:
    """Return the patch of a check's condition Active; empty if it is up to date.

    ``config``: the MultiKueueConfig of the name in its parameters.
    """
    named = check["spec"].get("parameters")
    parameters = None
    if named is not None:
        parameters = CheckParameters(
            group=named["apiGroup"], kind=named["kind"], name=named["name"]
        )
    of = {} if config is None else {config_name(check): config["spec"]["clusters"]}
    activity_of_check = activity_of_parameters(parameters, of, clusters, usable)
    return active_patch(
        check,
        status=activity_of_check.active,
        reason=activity_of_check.reason,
        message=activity_of_check.message,
        at=at,
    )
