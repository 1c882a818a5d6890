"""What happens to a new object between its defaults and its checks.

Policies' CEL is not evaluated. Tidegate's own policies have a built-in equivalent each, which acts
only while the policy and a binding of it are stored; the contract suite holds the pair together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tidegate.cluster.embedded.refusals import RefusedError, forbidden, not_found
from tidegate.cluster.embedded.resources import (
    JOBS,
    NAMESPACES,
    PODS,
    POLICIES,
    POLICY_BINDINGS,
    PRIORITY_CLASSES,
    Resource,
)
from tidegate.cluster.embedded.state import State

Object = dict[str, Any]
_Policy = Callable[[State, Object], None]

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
ADMISSION_GATE = "kueue.x-k8s.io/admission"
_LOCAL_QUEUES, _DEFAULT_QUEUE = "localqueues.kueue.x-k8s.io", "default"


def admit(state: State, resource: Resource, obj: Object) -> None:
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
        if key == resource.key and _is_bound(state, name):
            policy(state, obj)


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
    found = _priority_class(state, spec.get("priorityClassName", ""))
    if found is None and "priorityClassName" in spec:
        why = f"no PriorityClass with name {spec['priorityClassName']} was found"
        raise forbidden(resource, pod["metadata"].get("name", ""), why)
    if found is not None:
        spec["priorityClassName"] = found["metadata"]["name"]
    spec["priority"] = found["value"] if found else 0
    spec.setdefault(
        "preemptionPolicy", (found or {}).get("preemptionPolicy", "PreemptLowerPriority")
    )


def _priority_class(state: State, name: str) -> Object | None:
    if name:
        return state.get(PRIORITY_CLASSES.key, "", name)
    defaults = [row for row in state.items(PRIORITY_CLASSES.key) if row.get("globalDefault")]
    return min(defaults, key=lambda row: row["value"], default=None)


def _is_bound(state: State, name: str) -> bool:
    bindings = state.items(POLICY_BINDINGS.key)
    return state.get(POLICIES.key, "", name) is not None and any(
        binding.get("spec", {}).get("policyName") == name for binding in bindings
    )


def _labels(obj: Object) -> Mapping[str, str]:
    return obj["metadata"].get("labels") or {}


def _default_queue(state: State, job: Object) -> None:
    namespace = job["metadata"]["namespace"]
    if QUEUE_LABEL not in _labels(job) and state.get(_LOCAL_QUEUES, namespace, _DEFAULT_QUEUE):
        job["metadata"]["labels"] = {**_labels(job), QUEUE_LABEL: _DEFAULT_QUEUE}


def _suspend_job(_: State, job: Object) -> None:
    if QUEUE_LABEL in _labels(job):
        job["spec"]["suspend"] = True


def _gate_pod(_: State, pod: Object) -> None:
    owners = pod["metadata"].get("ownerReferences") or []
    of_a_job = any(owner["kind"] == "Job" and owner.get("controller") for owner in owners)
    gates = pod["spec"].get("schedulingGates") or []
    gated = any(gate["name"] == ADMISSION_GATE for gate in gates)
    if QUEUE_LABEL in _labels(pod) and not of_a_job and not gated:
        pod["spec"]["schedulingGates"] = [*gates, {"name": ADMISSION_GATE}]


_POLICIES: tuple[tuple[str, str, _Policy], ...] = (
    ("tidegate-default-queue", JOBS.key, _default_queue),  # before those that look at the label
    ("tidegate-suspend-queued-jobs", JOBS.key, _suspend_job),
    ("tidegate-gate-queued-pods", PODS.key, _gate_pod),
)
