"""A workload that would be in more domains than one message can tell of waits, and says so."""

from __future__ import annotations

from unittest.mock import patch

import pytest

from tests.core.topology.cluster import Cluster, names
from tidegate.contracts.decisions import WorkloadPending
from tidegate.core.flavors.placement import DOMAINS_MAX


@pytest.mark.parametrize("lower", [False, True], ids=["alone", "beside one of lower priority"])
def test_a_workload_of_too_many_domains_waits_until_it_needs_fewer(*, lower: bool) -> None:
    with patch("tidegate.core.flavors.placement.DOMAINS_MAX", 2):
        cluster = Cluster(4)
        if lower:
            cluster.job("other", 1, priority=-1)
            cluster.decide()
        cluster.job("a", 6)
        [decision] = [
            decision for decision in cluster.decide() if isinstance(decision, WorkloadPending)
        ]
        assert [placement.error for placement in decision.placements] == [
            "its pods would be in 3 domains, and 2 is the most for one workload"
        ]
        cluster.node(4)
        assert names(cluster.decide()) == []
        if lower:
            cluster.finish("other")
            assert names(cluster.decide()) == []
        cluster.job("b", 4)
        assert "WorkloadAdmitted" in names(cluster.decide())


def test_so_many_domains_of_long_names_fit_into_a_message() -> None:
    assert DOMAINS_MAX * (63 + len('"",')) + 256 * 1024 < 1024 * 1024
