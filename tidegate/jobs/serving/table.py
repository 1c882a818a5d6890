"""Every kind that is queued through its pods and has Workloads of its own."""

from __future__ import annotations

from tidegate.jobs.serving import leader_worker_set, stateful_set
from tidegate.jobs.serving.kinds import ServingSet

SETS: dict[str, ServingSet] = {
    one.row.name: one for one in (stateful_set.SET, leader_worker_set.SET)
}
"""By Kueue's name."""
