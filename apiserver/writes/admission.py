"""Mutating admission of a new object, between its defaults and its validation.

Policies' CEL is not evaluated. Tidegate's own policies have a built-in equivalent each, which acts
only while the policy and a binding of it are stored; the contract suite holds the pair together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from apiserver.refusals import RefusedError, forbidden, not_found
from apiserver.resources import (
    JOBS,
    NAMESPACES,
    PODS,
    POLICIES,
    POLICY_BINDINGS,
    PRIORITY_CLASSES,
    Resource,
)
from apiserver.state import State
from tidegate.kinds.names import (
    ADMISSION_GATE,
    GROUP,
    MANAGED,
    PLACED,
    PLACEMENT,
    PRIORITY_CLASS,
    QUEUE_NAME,
    SENDS_AWAY,
    TOPOLOGY_GATE,
)
from tidegate.kinds.policies.forms import NAMESPACES_LEFT_ALONE, PREFIX
from tidegate.kinds.policies.frameworks import FRAMEWORKS, MULTIKUEUE, framework
from tidegate.kinds.policies.jobs import MIRROR

Object = dict[str, Any]
_Policy = Callable[[State, Object, str], None]  # the name of its parameter

_LOCAL_QUEUES = f"localqueues.{GROUP}"
_WORKLOAD_PRIORITY_CLASSES = f"workloadpriorityclasses.{GROUP}"


def apply_admission(state: State, resource: Resource, obj: Object) -> None:
    """Change a new object as admission does, in place.

    Raises:
        RefusedError: 403, its namespace is ending or its priority class is not there; 404, its
            namespace is not there.
    """
    if resource.namespaced:
        _check_namespace(state, resource, obj)
    if resource.key == PODS.key:
        _set_priority(state, resource, obj)
    for name, key, policy in _POLICIES:
        if key == resource.key and (binding := binding_of(state, name)) and not is_exempt(obj):
            policy(state, obj, (binding["spec"].get("paramRef") or {}).get("name", ""))


def binding_of(
    state: State, policy: str, stored: tuple[Resource, Resource] = (POLICIES, POLICY_BINDINGS)
) -> Object | None:
    """Return the binding that puts a stored policy into force, or None."""
    if state.get(stored[0].key, "", policy) is None:
        return None
    bindings = state.items(stored[1].key)
    return next(
        (binding for binding in bindings if binding.get("spec", {}).get("policyName") == policy),
        None,
    )


def is_exempt(obj: Object) -> bool:
    """Return whether an object is the cluster's own, or was created by a job's controller."""
    owners = obj["metadata"].get("ownerReferences") or ()
    child = any(
        owner.get("controller") and (owner["apiVersion"].split("/")[0], owner["kind"]) in _PARENTS
        for owner in owners
    )
    return child or is_in_system_namespace(obj)


def is_in_system_namespace(obj: Object) -> bool:
    """Return whether an object is in a namespace that policies leave alone."""
    return obj["metadata"].get("namespace", "") in NAMESPACES_LEFT_ALONE


def _check_namespace(state: State, resource: Resource, obj: Object) -> None:
    name = obj["metadata"]["namespace"]
    namespace = state.get(NAMESPACES.key, "", name)
    if namespace is None:
        raise not_found(NAMESPACES, name)
    if "deletionTimestamp" in namespace["metadata"]:
        why = f"unable to create new content in namespace {name} because it is being terminated"
        refusal = forbidden(resource, obj["metadata"].get("name", ""), why)
        causes = [{"reason": "NamespaceTerminating", "message": why, "field": "metadata.namespace"}]
        details = (refusal.details or {}) | {"causes": causes}
        raise RefusedError(refusal.code, refusal.reason, refusal.message, details)


def _set_priority(state: State, resource: Resource, pod: Object) -> None:
    spec = pod["spec"]
    priority_class = _priority_class(state, spec.get("priorityClassName", ""))
    if priority_class is None and "priorityClassName" in spec:
        why = f"no PriorityClass with name {spec['priorityClassName']} was found"
        raise forbidden(resource, pod["metadata"].get("name", ""), why)
    if priority_class is not None:
        spec["priorityClassName"] = priority_class["metadata"]["name"]
    spec["priority"] = priority_class["value"] if priority_class else 0
    spec.setdefault(
        "preemptionPolicy", (priority_class or {}).get("preemptionPolicy", "PreemptLowerPriority")
    )


def _priority_class(state: State, name: str) -> Object | None:
    if name:
        return state.get(PRIORITY_CLASSES.key, "", name)
    defaults = [row for row in state.items(PRIORITY_CLASSES.key) if row.get("globalDefault")]
    return min(defaults, key=lambda row: row["value"], default=None)


def _default_queue(state: State, job: Object, parameter: str) -> None:
    local_queue = state.get(_LOCAL_QUEUES, job["metadata"]["namespace"], parameter)
    if local_queue is not None and not _label(job, QUEUE_NAME):
        _set_label(job, QUEUE_NAME, parameter)


def _default_priority(state: State, job: Object, parameter: str) -> None:
    priority_class = state.get(_WORKLOAD_PRIORITY_CLASSES, "", parameter)
    if priority_class is not None and _label(job, QUEUE_NAME) and not _label(job, PRIORITY_CLASS):
        _set_label(job, PRIORITY_CLASS, parameter)


def _default_managed_by(state: State, job: Object, _: str) -> None:
    queue = state.get(_LOCAL_QUEUES, job["metadata"]["namespace"], _label(job, QUEUE_NAME))
    conditions = ((queue or {}).get("status") or {}).get("conditions") or ()
    away = any(each["type"] == SENDS_AWAY and each["status"] == "True" for each in conditions)
    notes = (queue or {"metadata": {}})["metadata"].get("annotations") or {}
    named = MULTIKUEUE if away else PLACED if notes.get(PLACEMENT) == "any" else ""
    if named and job["spec"].get("managedBy", "") in ("", _JOB.controller):
        job["spec"]["managedBy"] = named


def _suspend_job(_: State, job: Object, __: str) -> None:
    if _label(job, QUEUE_NAME):
        job["spec"]["suspend"] = True


def _gate_pod(_: State, pod: Object, __: str) -> None:
    gates = pod["spec"].get("schedulingGates") or []
    names = {gate["name"] for gate in gates}
    new = [{"name": name} for name in (ADMISSION_GATE, TOPOLOGY_GATE) if name not in names]
    if _label(pod, QUEUE_NAME) and not (pod["metadata"].get("annotations") or {}).get(MIRROR):
        _set_label(pod, MANAGED, "true")
        pod["spec"]["schedulingGates"] = [*gates, *new]


def _label(obj: Object, name: str) -> str:
    value: str = (obj["metadata"].get("labels") or {}).get(name, "")
    return value


def _set_label(obj: Object, name: str, value: str) -> None:
    obj["metadata"]["labels"] = {**(obj["metadata"].get("labels") or {}), name: value}


_JOB = framework("batch/job")
_PARENTS = frozenset((row.group, row.kind) for row in FRAMEWORKS)
# Those that give labels stand before those that look at them; a real server runs the latter again.
_POLICIES: tuple[tuple[str, str, _Policy], ...] = (
    (f"{PREFIX}default-queue", JOBS.key, _default_queue),
    (f"{PREFIX}default-priority", JOBS.key, _default_priority),
    (f"{PREFIX}manage-batch-job", JOBS.key, _default_managed_by),
    (f"{PREFIX}suspend-batch-job", JOBS.key, _suspend_job),
    (f"{PREFIX}gate-pods", PODS.key, _gate_pod),
)
EQUIVALENTS = tuple(name for name, _, _ in _POLICIES)
"""The policies that have a built-in equivalent."""
