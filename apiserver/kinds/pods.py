"""Pods: defaults, quality of service, and the few fields of a pod that may change."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from apiserver.kinds.templates import check_spec, containers_of, default_requests, default_spec
from apiserver.refusals import Cause, invalid_value, not_allowed

Object = dict[str, Any]
_GRACE = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_CHANGEABLE = ("schedulingGates", "tolerations", "activeDeadlineSeconds", "nodeName")
_GATED = ("nodeSelector", "affinity")
_RESOURCES = ("cpu", "memory")


def default_pod(pod: Object) -> None:
    """Write a pod's defaults, in place.

    Raises:
        RefusedError: 400, a quantity cannot be read.
    """
    spec = pod.setdefault("spec", {})
    default_spec(spec)
    default_requests(spec)
    spec.setdefault("enableServiceLinks", True)
    tolerations = spec.setdefault("tolerations", [])
    for key in _TAINTS:
        if not any(toleration.get("key") in (None, "", key) for toleration in tolerations):
            tolerations.append({"key": key, **_GRACE})
    pod.setdefault("status", {})


def prepare_pod(pod: Object) -> None:
    """Write what the server adds to a new pod, in place; its priority is there already."""
    spec = pod["spec"]
    status: Object = {"phase": "Pending", "qosClass": qos_class(spec)}
    pod["status"] = status
    if spec.get("schedulingGates"):
        status["conditions"] = [
            {
                "type": "PodScheduled",
                "status": "False",
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
                "lastProbeTime": None,
                "lastTransitionTime": pod["metadata"]["creationTimestamp"],
            }
        ]


def qos_class(spec: Object) -> str:
    """Return a pod's class of quality of service."""
    resources = [container["resources"] for container in containers_of(spec)]
    if not any(part.get("requests") or part.get("limits") for part in resources):
        return "BestEffort"
    sure = all(
        (part.get("limits") or {}).get(name)
        and (part.get("requests") or {}).get(name) == part["limits"][name]
        for part in resources
        for name in _RESOURCES
    )
    return "Guaranteed" if sure else "Burstable"


def check_pod(pod: Object) -> Iterator[Cause]:
    """Yield what is wrong with a pod."""
    yield from check_spec(pod["spec"], "spec")
    if pod["spec"].get("schedulingGates") and pod["spec"].get("nodeName"):
        why = "cannot be set until all schedulingGates have been cleared"
        yield not_allowed("spec.nodeName", why)


def check_pod_change(new: Object, old: Object) -> Iterator[Cause]:
    """Yield what a change does to a pod's spec that it may not."""
    spec, before = new["spec"], old["spec"]
    gates = [gate["name"] for gate in before.get("schedulingGates") or []]
    for i, gate in enumerate(spec.get("schedulingGates") or []):
        if gate["name"] not in gates:
            why = f"only deletion is allowed, but found new scheduling gate '{gate['name']}'"
            yield not_allowed(f"spec.schedulingGates[{i}].name", why)
    retained = [
        toleration
        for toleration in before.get("tolerations") or []
        if toleration not in spec.get("tolerations", [])
    ]
    if retained:
        yield not_allowed("spec.tolerations", "existing toleration can not be modified")
    if gates:
        yield from _check_selector(spec, before)
    if _immutable_fields(spec, gated=bool(gates)) != _immutable_fields(before, gated=bool(gates)):
        why = "pod updates may not change fields other than `spec.containers[*].image`"
        yield not_allowed(
            "spec",
            f"{why}, `spec.initContainers[*].image`, `spec.activeDeadlineSeconds`, "
            "`spec.tolerations` (only additions to existing tolerations)",
        )


def _check_selector(spec: Object, before: Object) -> Iterator[Cause]:
    selector = spec.get("nodeSelector") or {}
    if any(selector.get(key) != value for key, value in (before.get("nodeSelector") or {}).items()):
        why = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        yield invalid_value("spec.nodeSelector", selector, why)


def _immutable_fields(spec: Object, *, gated: bool) -> Object:
    free = _CHANGEABLE + (_GATED if gated else ())
    fixed = deepcopy({key: value for key, value in spec.items() if key not in free})
    for container in containers_of(fixed):
        container.pop("image", None)
        container.pop("imagePullPolicy", None)
    return fixed
