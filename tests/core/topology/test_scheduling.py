"""Jobs on a topology, from submission to a lost node: the default mode, by facts alone."""

from __future__ import annotations

import pytest

from tests.core.topology.cluster import Cluster, names
from tidegate.contracts import facts
from tidegate.contracts.codec import type_name
from tidegate.contracts.decision_kinds.placements import TopologyAssigned
from tidegate.contracts.decisions import (
    StartOrdered,
    WorkloadEvicted,
    WorkloadPending,
)
from tidegate.model.topology import HOSTNAME


@pytest.fixture
def cluster() -> Cluster:
    return Cluster(4)


def test_a_job_that_asks_for_no_topology_is_placed_all_the_same(cluster: Cluster) -> None:
    cluster.job("a", 3)
    [order] = [decision for decision in cluster.decide() if isinstance(decision, StartOrdered)]
    assert sum(cluster.where("a").values()) == 3
    assert order.podsets[0].topology == cluster.state.workloads["n/a"].assignment[0].topology


def test_a_rack_holds_all_pods_that_require_it(cluster: Cluster) -> None:
    cluster.job("one", 1, "rack")
    cluster.job("all", 4, "rack")
    cluster.decide()
    [text], [first, second] = cluster.where("one"), cluster.where("all")
    assert {first, second} == ({"x0", "x1"} if text in {"x2", "x3"} else {"x2", "x3"})


def test_an_elastic_job_that_becomes_smaller_gives_the_nodes_of_its_last_pods_back() -> None:
    cluster = Cluster(2)
    cluster.job("shrinks", 4, "rack", elastic=True)
    cluster.decide()
    cluster.job("waits", 2, "rack")
    assert "QuotaReserved" not in names(cluster.decide())
    cluster.resize("shrinks", 2)
    assert "QuotaReserved" in names(cluster.decide())
    assert cluster.where("waits") == {"x1": 2}


def test_pods_of_a_node_that_is_gone_move_and_stay_in_their_rack(cluster: Cluster) -> None:
    cluster.job("a", 2, "rack")
    cluster.decide()
    [lost] = cluster.where("a")
    cluster.fold(facts.NodeRemoved(at_us=0, name=lost))
    [failed, moved] = cluster.decide()
    assert isinstance(moved, TopologyAssigned)
    assert (type_name(failed), moved.replaced) == ("NodeFailed", lost)
    assert sum(cluster.where("a").values()) == 2
    assert lost not in cluster.where("a")


def test_where_no_other_node_does_the_workload_leaves() -> None:
    cluster = Cluster(1)
    cluster.job("a", 2)
    cluster.decide()
    cluster.node(0, ready=None)
    evicted = [decision for decision in cluster.decide() if isinstance(decision, WorkloadEvicted)]
    assert [decision.reason for decision in evicted] == ["NodeFailures"]


def test_a_workload_that_left_for_a_lost_node_is_not_evicted_again() -> None:
    cluster = Cluster(1)
    cluster.job("a", 2)
    cluster.decide()
    cluster.node(0, ready=None)
    cluster.decide()
    cluster.fold(facts.WorkloadStopped(at_us=0, workload="n/a", uid="a"))
    cluster.node(0)
    again = names(cluster.decide())
    assert "WorkloadAdmitted" in again
    assert "WorkloadEvicted" not in again


def test_a_workload_that_lacks_only_nodes_takes_them_from_lower_priority(cluster: Cluster) -> None:
    for name in "abcd":
        cluster.job(name, 2, HOSTNAME)
    cluster.decide()
    cluster.job("first", 4, "rack", priority=1)
    victims = [decision for decision in cluster.decide() if isinstance(decision, WorkloadEvicted)]
    assert len(victims) == 2
    for victim in victims:
        cluster.fold(facts.WorkloadStopped(at_us=0, workload=victim.workload, uid=victim.uid))
    assert "WorkloadAdmitted" in names(cluster.decide())
    assert len(cluster.where("first")) == 2


def test_an_intent_ends_when_its_nodes_are_gone(cluster: Cluster) -> None:
    for name in "abcd":
        cluster.job(name, 2, HOSTNAME)
    cluster.decide()
    cluster.job("first", 4, "rack", priority=1)
    cluster.decide()
    for number in (0, 2):
        cluster.fold(facts.NodeRemoved(at_us=0, name=f"x{number}"))
    assert "PreemptionAbandoned" in names(cluster.decide())


def test_a_queue_whose_topology_is_not_there_admits_no_workload() -> None:
    cluster = Cluster(2, topology=False)
    cluster.job("a", 1)
    cluster.decide()
    assert cluster.state.readiness["cq"][:2] == (False, "TopologyNotFound")
    cluster.fold(facts.TopologyDefined(at_us=0, name="racks", levels=("rack", HOSTNAME)))
    assert "WorkloadAdmitted" in names(cluster.decide())


def test_a_flavor_without_nodes_is_named_instead_of_numbers_of_pods() -> None:
    cluster = Cluster(0)
    cluster.job("a", 1)
    [decision] = [
        decision for decision in cluster.decide() if isinstance(decision, WorkloadPending)
    ]
    assert decision.reason == "TopologyPlacementFailed"
    assert (
        f"hosts has no placement: the flavor has no nodes with label {HOSTNAME}."
        in decision.message
    )


ANYWHERE = {"kueue.x-k8s.io/podset-unconstrained-topology": "true"}


@pytest.mark.parametrize(("level", "marks"), [("rack", {}), ("", ANYWHERE)])
def test_pods_that_are_placed_wait_behind_a_gate_and_say_of_which_workload_they_are(
    cluster: Cluster, level: str, marks: dict[str, str]
) -> None:
    cluster.job("a", 2, required=level)
    [start] = [decision for decision in cluster.decide() if isinstance(decision, StartOrdered)]
    [podset] = start.podsets
    assert podset.gates == ("kueue.x-k8s.io/topology",)
    assert podset.annotations == {"kueue.x-k8s.io/workload": "a"} | marks
    assert podset.labels["kueue.x-k8s.io/podset"] == "main"
