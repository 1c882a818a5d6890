"""Pods that say that a topology placed them: believed as far as the ledger did, foreign beyond."""

from __future__ import annotations

import pytest

from tests.core.topology.cluster import Cluster, names
from tidegate.contracts import facts
from tidegate.core.topology.claims import uncharged_claims
from tidegate.core.topology.cluster import topologies

ONE = {"cpu": 1_000, "pods": 1}


@pytest.fixture
def cluster() -> Cluster:
    """Return one node of two CPUs."""
    return Cluster(1)


def claim(cluster: Cluster, key: str, used: dict[str, int]) -> None:
    """Have pods on the node name a workload; a fact reports what no workload is charged for."""
    claimed = uncharged_claims(cluster.state, "x0", {key: used})
    cluster.fold(facts.NodePodsReported(at_us=0, name="x0", claimed=claimed))


def free(cluster: Cluster) -> int:
    """Return what is free of the node's CPU, the same in a state that was built anew."""
    actual_topologies = topologies(cluster.state)
    kept = actual_topologies.placers["hosts"].tree.free.row("cpu")[0]
    actual_topologies.stale = True
    assert topologies(cluster.state).placers["hosts"].tree.free.row("cpu")[0] == kept
    return kept


def test_pods_of_an_unknown_workload_are_foreign(cluster: Cluster) -> None:
    claim(cluster, "n/absent", ONE)
    cluster.job("a", 2)
    assert "QuotaReserved" not in names(cluster.decide())
    cluster.fold(facts.NodePodsCleared(at_us=0, name="x0"))
    assert "QuotaReserved" in names(cluster.decide())


def test_pods_that_name_an_admitted_workload_count_once(cluster: Cluster) -> None:
    cluster.job("a", 1)
    cluster.decide()
    claim(cluster, "n/a", ONE)
    assert free(cluster) == 1_000
    claim(cluster, "n/a", {"cpu": 1_500, "pods": 2})  # and beyond that a pod which is not its own
    assert free(cluster) == 500


def test_what_was_reported_before_the_workload_was_charged_counts_once(cluster: Cluster) -> None:
    """As in a ledger that begins anew: its pods are reported first."""
    claim(cluster, "n/a", ONE)
    assert free(cluster) == 1_000
    cluster.job("a", 1)
    assert "QuotaReserved" in names(cluster.decide())
    assert free(cluster) == 1_000
    cluster.finish("a")
    assert free(cluster) == 1_000  # its pods go on
    claim(cluster, "n/a", {})
    assert free(cluster) == 2_000


def test_pods_of_an_elastic_job_may_name_an_earlier_slice(cluster: Cluster) -> None:
    claim(cluster, "n/earlier", ONE)
    cluster.job("a", 1, elastic=True)
    cluster.decide()
    assert free(cluster) == 1_000
    cluster.finish("a")
    assert free(cluster) == 1_000
