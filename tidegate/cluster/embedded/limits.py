"""What the embedded server does not do; ``tidegate cluster status`` prints it."""

from __future__ import annotations

LIMITS = (
    "CEL rules of CRDs (x-kubernetes-validations) are stored and not evaluated",
    "admission policies are stored; only Tidegate's own are applied, by built-in equivalents",
    "ValidatingAdmissionPolicies are stored and not evaluated",
    "everyone on loopback may do everything: RBAC objects are stored and not enforced",
    "server-side apply is refused with 415; managedFields are not kept",
    "built-in kinds keep fields that they do not know; the real server drops them",
    "LimitRanges are not applied to pods",
    "the scheduler leaves pods pending that ask for affinity between pods, spread or devices",
    "Jobs with podFailurePolicy, successPolicy or backoffLimitPerIndex are refused with 422",
    "controllers write no Events; objects live in memory only",
)
