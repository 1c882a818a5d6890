"""The scheduler: pods without a node go to the first that fits, the highest priority first.

It preempts no pod. A pod with a field that it does not support stays pending, with a message.
"""

from __future__ import annotations

from typing import Any

import msgspec

from apiserver.controllers.index import Index
from apiserver.controllers.node_fit import (
    fits,
    free_of,
    matches_node,
    requests_of,
    unsupported_constraint,
)
from apiserver.resources import NODES, PODS
from apiserver.writes.binding import bind_pod
from apiserver.writes.registry import Registry

Object = dict[str, Any]
_NAME = "default-scheduler"


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
