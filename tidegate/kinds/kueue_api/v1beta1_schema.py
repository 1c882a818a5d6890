"""Schemas of the fields that v1beta1 spells otherwise: both versions accept both spellings.

The API server converts nothing between the versions (strategy None), so what is stored may be
spelled either way; ``tidegate.kinds.kueue_api.v1beta1`` reads both.
"""

from __future__ import annotations

from typing import Any

from tidegate.kinds.kueue_api import checks
from tidegate.kinds.kueue_api.queues import objects, policies
from tidegate.kinds.kueue_api.workloads import status, workload
from tidegate.kinds.markers import NAME_PATTERN
from tidegate.kinds.schema import Schema

_NAME: Schema = {"type": "string", "maxLength": 253, "pattern": NAME_PATTERN}
_ANYTHING: Schema = {"x-kubernetes-preserve-unknown-fields": True}
_DOMAIN: Schema = {
    "type": "object",
    "required": ["count", "values"],
    "properties": {
        "count": {"type": "integer", "format": "int32", "minimum": 1},
        "values": {"type": "array", "minItems": 1, "maxItems": 16, "items": {"type": "string"}},
    },
}


def _old(new: str, **schema: Any) -> Schema:  # noqa: ANN401  # any JSON schema keyword
    return {"description": f"Deprecated: v1beta1's spelling of {new}, respelled on write."} | schema


def _gone(**schema: Any) -> Schema:  # noqa: ANN401  # any JSON schema keyword
    return {"description": "Deprecated: v1beta1 only, dropped on write."} | schema


SPELLINGS: dict[type, dict[str, Schema]] = {
    objects.ClusterQueueSpec: {
        "cohort": _old("cohortName", **_NAME),
        "admissionChecks": _old(
            "admissionChecksStrategy",
            type="array",
            maxItems=64,
            items={"type": "string", "minLength": 1, "maxLength": 316},
        ),
    },
    policies.FlavorFungibility: {
        "whenCanBorrow": {"enum": ["MayStopSearch", "TryNextFlavor", "Borrow"]},
        "whenCanPreempt": {"enum": ["MayStopSearch", "TryNextFlavor", "Preempt"]},
    },
    objects.ClusterQueueStatus: {"pendingWorkloadsStatus": _gone(type="object", **_ANYTHING)},
    objects.CohortSpec: {"parent": _old("parentName", **_NAME)},
    objects.LocalQueueStatus: {
        "flavorUsage": _old(
            "flavorsUsage", type="array", maxItems=64, items={"type": "object"} | _ANYTHING
        ),
        "flavors": _gone(type="array", maxItems=64, items={"type": "object"} | _ANYTHING),
    },
    workload.WorkloadSpec: {
        "priorityClassName": _old("priorityClassRef.name", **_NAME),
        "priorityClassSource": _old(
            "priorityClassRef.group and .kind",
            type="string",
            enum=[
                "kueue.x-k8s.io/workloadpriorityclass",
                "scheduling.k8s.io/priorityclass",
                "",
            ],
        ),
    },
    status.WorkloadStatus: {
        "accumulatedPastExexcutionTimeSeconds": _old(
            "accumulatedPastExecutionTimeSeconds", type="integer", format="int32"
        ),
    },
    status.TopologyAssignment: {
        "domains": _old("slices", type="array", maxItems=100_000, items=_DOMAIN),
    },
    checks.AdmissionCheckSpec: {"retryDelayMinutes": _gone(type="integer", format="int64")},
    checks.MultiKueueClusterSpec: {
        "kubeConfig": _old(
            "clusterSource.kubeConfig",
            type="object",
            required=["location"],
            properties={
                "location": {"type": "string", "minLength": 1, "maxLength": 256},
                "locationType": {"type": "string", "enum": ["Secret", "Path"], "default": "Secret"},
            },
        ),
        "clusterProfileRef": _old(
            "clusterSource.clusterProfileRef",
            type="object",
            required=["name"],
            properties={"name": {"type": "string", "minLength": 1, "maxLength": 256}},
        ),
    },
}
