"""Reasons of Kueue's conditions that more than one part of Tidegate names."""

from __future__ import annotations

UNSATISFIED_CHECKS = "UnsatisfiedAdmissionChecks"
"""Of Admitted=False: quota is reserved, and an admission check is not ready (behaviour.md 8.3)."""
NOT_WATCHED = "NotWatched"
"""Why a workload is removed though its job may be there."""
