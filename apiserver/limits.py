"""The limits of the embedded server, which ``tidegate cluster status`` prints."""

from __future__ import annotations

from apiserver.writes.admission import EQUIVALENTS

LIMITS = (
    "CEL rules of CRDs (x-kubernetes-validations) are stored and not evaluated",
    "admission policies are stored and do nothing, but for those with a built-in equivalent: "
    + ", ".join(EQUIVALENTS),
    "everyone on loopback may do everything: RBAC objects are stored and not enforced",
    "server-side apply is refused with 415; managedFields are not kept",
    "built-in kinds keep fields that they do not know; the real server drops or refuses them",
    "dryRun of anything but a creation is refused with 400",
    "bodies are JSON, and protobuf is refused with 415",
    "kinds beyond those that Tidegate needs are not served: 404",
    "LimitRanges are not applied to pods; nodes get no taint while they are not ready",
    "the scheduler leaves pods pending that ask for affinity between pods, spread or devices",
    "Jobs with podFailurePolicy, successPolicy or backoffLimitPerIndex are refused with 422",
    "controllers write no Events; objects live in memory only",
)
