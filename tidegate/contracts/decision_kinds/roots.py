"""The root of the decisions about one workload."""

from __future__ import annotations

from tidegate.contracts.decision_kinds.queue_decisions import Decision


class WorkloadDecision(Decision, frozen=True, kw_only=True, omit_defaults=True):
    """A decision about one workload."""

    workload: str  # "<namespace>/<name>"
    uid: str = ""
    cluster_queue: str = ""
    cycle: int = 0  # the scheduling cycle that took it, where scans of flavors hang on it; else 0
