"""Binding a pod to a node: the one way by which ``spec.nodeName`` comes."""

from __future__ import annotations

from typing import Any

import msgspec

from apiserver.refusals import bad_request, conflict
from apiserver.resources import PODS
from apiserver.writes.registry import Registry

Object = dict[str, Any]


def bind_pod(registry: Registry, namespace: str, name: str, binding: Object) -> Object:
    """Put a pod on the node that a Binding names; return the pod.

    Raises:
        RefusedError: 400, the binding is wrong; 404, the pod is not there; 409, it is gated, bound
            or being deleted.
    """
    metadata, target = binding.get("metadata") or {}, binding.get("target") or {}
    if metadata.get("name", name) != name:
        raise bad_request("name in URL does not match name in Binding object")
    if target.get("kind", "Node") != "Node" or not target.get("name"):
        raise bad_request("a binding's target must be a Node with a name")
    old = registry.find(PODS, namespace, name)
    if metadata.get("uid", old["metadata"]["uid"]) != old["metadata"]["uid"]:
        raise conflict(PODS, name, "the UID in the precondition does not match the UID in record")
    if why := _binding_conflict(old):
        raise conflict(PODS, name, why)
    pod: Object = msgspec.json.decode(registry.state.body(old))
    pod["spec"]["nodeName"] = target["name"]
    condition = {"type": "PodScheduled", "status": "True", "lastTransitionTime": registry.now()}
    others = [c for c in pod["status"].get("conditions") or [] if c["type"] != "PodScheduled"]
    pod["status"]["conditions"] = [*others, condition]
    return registry.store(PODS, pod)


def _binding_conflict(pod: Object) -> str:
    if "deletionTimestamp" in pod["metadata"]:
        return "pod is being deleted, cannot be assigned to a host"
    if pod["spec"].get("nodeName"):
        return f'pod is already assigned to node "{pod["spec"]["nodeName"]}"'
    if pod["spec"].get("schedulingGates"):
        return "pod has non-empty .spec.schedulingGates"
    return ""
