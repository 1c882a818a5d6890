"""The scheduler: pods without a node go to the first that fits, the highest priority first.

It preempts no pod. A pod with a field that it does not support stays pending, with a message.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from apiserver.controllers.index import Index
from apiserver.resources import NODES, PODS
from apiserver.writes.binding import bind_pod
from apiserver.writes.registry import Registry
from tidegate.model.quantity import amount

Object = dict[str, Any]
_NAME = "default-scheduler"
Amounts = dict[str, int]
_EFFECTS = ("NoSchedule", "NoExecute")


def schedule_pods(registry: Registry, index: Index, waiting: set[tuple[str, str]]) -> None:
    """Bind each waiting pod that fits somewhere; those that need no node leave ``waiting``."""
    nodes = list(registry.state.items(NODES.key))
    free = {n["metadata"]["name"]: free_of(n, index.pods_on(n["metadata"]["name"])) for n in nodes}
    for pod in _pods_by_priority(registry, waiting):
        requests = requests_of(pod["spec"])
        constraint = unsupported_constraint(pod["spec"])
        fitting = [
            node["metadata"]["name"]
            for node in nodes
            if not constraint
            and matches_node(pod["spec"], node)
            and fits(requests, free[node["metadata"]["name"]])
        ]
        if not fitting:
            _set_unschedulable(registry, pod, constraint, len(nodes))
            continue
        for name, units in requests.items():
            free[fitting[0]][name] = free[fitting[0]].get(name, 0) - units
        waiting.discard((pod["metadata"]["namespace"], pod["metadata"]["name"]))
        bind_pod(
            registry,
            pod["metadata"]["namespace"],
            pod["metadata"]["name"],
            {"target": {"kind": "Node", "name": fitting[0]}},
        )


def needs_node(pod: Object) -> bool:
    """Return whether a pod waits for this scheduler."""
    spec = pod["spec"]
    ready = not spec.get("nodeName") and not spec.get("schedulingGates")
    alive = "deletionTimestamp" not in pod["metadata"] and pod["status"].get("phase") == "Pending"
    return ready and alive and spec["schedulerName"] == _NAME


def _pods_by_priority(registry: Registry, waiting: set[tuple[str, str]]) -> list[Object]:
    pods = list[Object]()
    for where in sorted(waiting):
        pod = registry.state.get(PODS.key, *where)
        if pod is None or not needs_node(pod):
            waiting.discard(where)
        else:
            pods.append(pod)
    return sorted(pods, key=lambda pod: -pod["spec"].get("priority", 0))  # stable: then by name


def _set_unschedulable(registry: Registry, pod: Object, constraint: str, nodes_count: int) -> None:
    message = f"0/{nodes_count} nodes are available: none has room and suits"
    if constraint:
        message = f"the embedded scheduler does not know {constraint}"
    unschedulable = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    unschedulable |= {"message": message}
    for condition in pod["status"].get("conditions") or ():
        if condition["type"] == "PodScheduled" and condition.get("message") == message:
            return
    status = {
        **pod["status"],
        "conditions": [unschedulable | {"lastTransitionTime": registry.now()}],
    }
    changed: Object = msgspec.json.decode(msgspec.json.encode(pod | {"status": status}))
    registry.store(PODS, changed)


def requests_of(spec: Object) -> Amounts:
    """Return what a pod takes of a node, in base units: sidecars stay, initial containers pass."""
    running, peak = Amounts(), Amounts()
    for container in spec.get("initContainers") or ():
        requests = _amounts((container.get("resources") or {}).get("requests"))
        if container.get("restartPolicy") == "Always":
            running = _sum(running, requests)
            peak = _max(peak, running)
        else:
            peak = _max(peak, _sum(running, requests))
    for container in spec["containers"]:
        running = _sum(running, _amounts((container.get("resources") or {}).get("requests")))
    total = _sum(_max(peak, running), _amounts(spec.get("overhead")))
    return total | {"pods": 1}


def free_of(node: Object, pods: list[Object]) -> Amounts:
    """Return what a node has left beside the pods that run on it."""
    free = _amounts(node["status"].get("allocatable"))
    for pod in pods:
        if pod["status"].get("phase") not in ("Succeeded", "Failed"):
            for name, units in requests_of(pod["spec"]).items():
                free[name] = free.get(name, 0) - units
    return free


def fits(requests: Amounts, free: Amounts) -> bool:
    """Return whether a node has enough left; a node that counts no pods has room for them."""
    considered = requests if "pods" in free else {k: v for k, v in requests.items() if k != "pods"}
    return all(units <= free.get(name, 0) for name, units in considered.items() if units)


def matches_node(spec: Object, node: Object) -> bool:
    """Return whether a node matches a pod's selector and the pod tolerates all its taints."""
    labels = {**(node["metadata"].get("labels") or {}), "metadata.name": node["metadata"]["name"]}
    if any(labels.get(key) != value for key, value in (spec.get("nodeSelector") or {}).items()):
        return False
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required and not any(_matches_term(term, labels) for term in required["nodeSelectorTerms"]):
        return False
    taints = [t for t in node["spec"].get("taints") or () if t["effect"] in _EFFECTS]
    tolerations = spec.get("tolerations") or []
    bears = all(
        any(_tolerates(toleration, taint) for toleration in tolerations) for taint in taints
    )
    return bears and not node["spec"].get("unschedulable")


def unsupported_constraint(spec: Object) -> str:
    """Return what a pod asks for that the embedded scheduler does not know; empty: nothing."""
    affinity = spec.get("affinity") or {}
    for field in ("podAffinity", "podAntiAffinity"):
        if "requiredDuringSchedulingIgnoredDuringExecution" in (affinity.get(field) or {}):
            return f"affinity.{field}"
    for constraint in spec.get("topologySpreadConstraints") or ():
        if constraint.get("whenUnsatisfiable") != "ScheduleAnyway":
            return "topologySpreadConstraints"
    return "resourceClaims" if spec.get("resourceClaims") else ""


def _matches_term(term: Object, labels: Mapping[str, str]) -> bool:
    tests = [*(term.get("matchExpressions") or ()), *(term.get("matchFields") or ())]
    return bool(tests) and all(_matches_expression(test, labels.get(test["key"])) for test in tests)


def _matches_expression(test: Object, value: str | None) -> bool:
    values = test.get("values") or []
    match test["operator"]:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt":
            return value is not None and int(value) > int(values[0])
        case "Lt":
            return value is not None and int(value) < int(values[0])
        case _:
            return False


def _tolerates(toleration: Object, taint: Object) -> bool:
    if toleration.get("effect") not in (None, "", taint["effect"]):
        return False
    if toleration.get("key") not in (None, "", taint["key"]):
        return False
    exists = toleration.get("operator") == "Exists"
    return exists or (toleration.get("value") or "") == (taint.get("value") or "")


def _amounts(quantities: Mapping[str, str] | None) -> Amounts:
    return {name: amount(name, text) for name, text in (quantities or {}).items()}


def _sum(first: Amounts, other: Amounts) -> Amounts:
    return {name: first.get(name, 0) + other.get(name, 0) for name in first | other}


def _max(first: Amounts, other: Amounts) -> Amounts:
    return {name: max(first.get(name, 0), other.get(name, 0)) for name in first | other}
