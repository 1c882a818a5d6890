"""Two flavors with topologies of their own over the same nodes: what one places counts in both."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.core.queues import defined, of_cpu
from tests.core.topology.cluster import Cluster, names
from tidegate.contracts import facts
from tidegate.model.ids import ObjectRef
from tidegate.model.podset import Container, PodSet, TopologyRequest
from tidegate.model.quota import (
    FlavorSpec,
    Quota,
)
from tidegate.model.topology import HOSTNAME


@pytest.fixture
def cluster() -> Cluster:
    """Return two nodes of one rack, and a second queue whose flavor knows them by host alone."""
    made = Cluster(2)
    spec = of_cpu({"others": Quota(nominal=100_000)})
    made.fold(
        facts.TopologyDefined(at_us=0, name="flat", levels=(HOSTNAME,)),
        facts.FlavorDefined(at_us=0, name="others", spec=FlavorSpec(topology="flat")),
        *defined("cq2", spec, local="q2", namespace="n"),
    )
    return made


def beside(cluster: Cluster, name: str, pods: int) -> None:
    """Submit a job to the second queue."""
    podset = PodSet(
        count=pods,
        containers=(Container(requests={"cpu": "1"}),),
        topology=TopologyRequest(required=HOSTNAME),
    )
    job = ObjectRef(kind="batch/job", namespace="n", name=name, uid=name)
    submitted = facts.WorkloadSubmitted(
        at_us=0, workload=f"n/{name}", uid=name, job=job, queue="q", podsets=(podset,)
    )
    cluster.fold(replace(submitted, queue="q2"))


def test_a_workload_of_another_tree_gets_the_nodes_that_are_given_back(cluster: Cluster) -> None:
    cluster.job("racks", 3, "rack")
    cluster.decide()
    beside(cluster, "host", 2)
    assert "QuotaReserved" not in names(cluster.decide())
    cluster.finish("racks")
    assert "WorkloadAdmitted" in names(cluster.decide())
    cluster.job("again", 3, "rack")
    assert "QuotaReserved" not in names(cluster.decide())
    cluster.finish("host")
    assert "WorkloadAdmitted" in names(cluster.decide())


def test_heads_of_both_trees_do_not_take_the_same_nodes_in_one_cycle(cluster: Cluster) -> None:
    cluster.job("racks", 4, "rack")
    beside(cluster, "host", 2)
    assert names(cluster.decide()).count("WorkloadAdmitted") == 1


def test_nodes_that_were_kept_for_a_preemptor_are_free_for_others_once_it_leaves(
    cluster: Cluster,
) -> None:
    cluster.job("low", 4, "rack")
    cluster.decide()
    cluster.job("high", 4, "rack", priority=1)
    beside(cluster, "host", 2)
    assert "PreemptionIntended" in names(cluster.decide())
    cluster.fold(facts.WorkloadRemoved(at_us=0, workload="n/high", uid="high", version=9))
    cluster.fold(facts.WorkloadRemoved(at_us=0, workload="n/low", uid="low", version=9))
    assert "WorkloadAdmitted" in names(cluster.decide())
    assert cluster.where("host")
