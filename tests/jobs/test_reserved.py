"""What another controller reserved for a Workload, and where it placed its pods."""

from __future__ import annotations

from typing import Any

import pytest

from tidegate.jobs.workload_fields import topology_elsewhere
from tidegate.kinds.decode import read
from tidegate.kinds.kueue_api.workloads.workload import Workload

VALUES = [{"individual": {"prefix": "x", "roots": ["0", "1"]}}]
WHOLE = {"domainCount": 2, "valuesPerLevel": VALUES, "podCounts": {"universal": 3}}


def placed(*slices: dict[str, Any]) -> Workload:
    """Return a Workload that another controller admitted with a place."""
    given = {"name": "main", "topologyAssignment": {"levels": ["host"], "slices": list(slices)}}
    condition = {"type": "QuotaReserved", "status": "True", "reason": "QuotaReserved"}
    manifest = {
        "metadata": {"name": "w", "namespace": "n", "uid": "w", "resourceVersion": "1"},
        "spec": {"podSets": []},
        "status": {
            "conditions": [{**condition, "lastTransitionTime": "2026-01-01T00:00:00Z"}],
            "admission": {"clusterQueue": "cq", "podSetAssignments": [given]},
        },
    }
    return read(manifest, Workload)


def test_a_place_is_taken_over() -> None:
    assert topology_elsewhere(placed(WHOLE)).keys() == {"main"}


@pytest.mark.parametrize(
    "change",
    [
        {"domainCount": 3},
        {"domainCount": 10**9, "valuesPerLevel": [{"universal": "x"}]},
        {"domainCount": -1, "valuesPerLevel": [{"universal": "x"}]},
        {"podCounts": {"universal": 0}},
        {"podCounts": {"individual": [3]}},
        {"podCounts": {"individual": [3, -3]}},
        {"valuesPerLevel": VALUES * 2},
    ],
)
def test_a_place_that_does_not_fit_together_is_none(change: dict[str, Any]) -> None:
    assert topology_elsewhere(placed({**WHOLE, **change})) == {}
