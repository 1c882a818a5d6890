"""A Workload that waits for nodes, its requests and a configuration, as a row tells them."""

from __future__ import annotations

from typing import Any

from actuator.provisioning.observed import ProvisioningRequest
from actuator.provisioning.templates import request_name, template_name
from tidegate.kinds.decode import read
from tidegate.kinds.kueue_api.checks import ProvisioningRequestConfigSpec

Object = dict[str, Any]
AT = "2026-03-01T08:00:00Z"
UID = "11111111-2222"


def podset(name: str, count: int, requests: Object, **more: Any) -> Object:  # noqa: ANN401 - of a pod's spec
    container = {"name": "c", "image": "i", "resources": {"requests": requests, **more}}
    return {"name": name, "count": count, "template": {"spec": {"containers": [container]}}}


def workload(row: Object) -> Object:
    """Return a Workload that holds quota, and what a row says of it."""
    sets = [
        podset("main", 3, {"cpu": "1"}, limits={"memory": "1Gi"}),
        podset("gpu", 2, {"nvidia.com/gpu": "1"}),
    ]
    true = {"QuotaReserved": "True", **row.get("conditions", {})}
    assigned = [{"name": set_["name"], "count": set_["count"]} for set_ in sets]
    state = {"name": "c", "state": "Pending", "message": "", "lastTransitionTime": AT}
    return {
        "metadata": {
            "name": "w",
            "namespace": "ns",
            "uid": UID,
            "annotations": row.get("annotations", {}),
        },
        "spec": {"podSets": sets, "active": row.get("active", True)},
        "status": {
            "conditions": [{"type": kind, "status": status} for kind, status in true.items()],
            "admission": {"clusterQueue": "cq", "podSetAssignments": assigned},
            "admissionChecks": [{**state, **row.get("state", {})}],
        },
    }


def request(obj: Object) -> ProvisioningRequest:
    """Return a request by its attempt and by what its conditions say."""
    name = request_name("w", obj.get("check", "c"), obj["attempt"])
    parts = obj.get("parts", {"main": 3, "gpu": 2})
    sets = [
        {"podTemplateRef": {"name": template_name(name, part)}, "count": count}
        for part, count in parts.items()
    ]
    spec = {"provisioningClassName": "queued", "podSets": sets}
    spec["parameters"] = obj.get("parameters", {})
    conditions = [_condition(kind, "True", value) for kind, value in obj.get("holds", {}).items()]
    conditions += [_condition(kind, "False", value) for kind, value in obj.get("waits", {}).items()]
    status = {"conditions": conditions, "provisioningClassDetails": obj.get("details", {})}
    meta = {"name": name, "namespace": "ns", "uid": f"r{obj['attempt']}{obj.get('check', '')}"}
    return read({"metadata": meta, "spec": spec, "status": status}, ProvisioningRequest)


def config(obj: Object | None) -> ProvisioningRequestConfigSpec | None:
    """Return the configuration that a row names; None if it names none."""
    if obj is None:
        return None
    return read({"provisioningClassName": "queued", **obj}, ProvisioningRequestConfigSpec)


def _condition(kind: str, status: str, text: str) -> Object:
    condition = {"type": kind, "status": status, "reason": kind, "message": text}
    return {**condition, "lastTransitionTime": AT}
