"""Slices of an elastic job: what the next one keeps of the places of the one before."""

from __future__ import annotations

from tests.core.topology.cluster import Cluster
from tidegate.contracts import facts
from tidegate.core.topology.cluster import topologies
from tidegate.model.ids import ObjectRef
from tidegate.model.podset import Container, PodSet, TopologyRequest
from tidegate.model.policy import Policy

GATES = {"ElasticJobsViaWorkloadSlicesWithTAS": True, "ElasticJobsViaWorkloadSlices": True}


def submit(cluster: Cluster, name: str, pods: int, replaces: str = "") -> None:
    container = Container(requests={"cpu": "500m"})
    asked = TopologyRequest(unconstrained=True)
    cluster.fold(
        facts.WorkloadSubmitted(
            at_us=0,
            workload=f"n/{name}",
            uid=f"job/{name}",
            job=ObjectRef(kind="batch/job", namespace="n", name="job", uid="job"),
            queue="q",
            podsets=(PodSet(count=pods, containers=(container,), topology=asked),),
            elastic=True,
            replaces=replaces,
        )
    )


def test_a_larger_slice_keeps_only_what_the_smaller_one_still_had() -> None:
    cluster = Cluster(2)
    cluster.fold(facts.PolicyConfigured(at_us=0, name="", policy=Policy(gates=GATES)))
    submit(cluster, "a", 4)
    cluster.decide()
    cluster.resize("a", 1)
    cluster.decide()
    [host] = cluster.where("a")
    cluster.fold(facts.NodePodsReported(at_us=0, name=host, usage={"cpu": 1_500, "pods": 1}))
    submit(cluster, "b", 3, replaces="n/a")
    cluster.decide()
    assert cluster.where("b")[host] == 1
    free = topologies(cluster.state).placers["hosts"].tree.free.row("cpu")
    assert min(free) == 0


def test_a_smaller_job_that_loses_a_node_goes_nowhere_that_it_has_given_back() -> None:
    cluster = Cluster(3)
    cluster.fold(facts.PolicyConfigured(at_us=0, name="", policy=Policy(gates=GATES)))
    submit(cluster, "a", 6)
    cluster.decide()
    assert cluster.where("a") == {"x0": 4, "x1": 2}
    cluster.resize("a", 1)
    cluster.job("b", 4, requests={"cpu": "500m"})
    cluster.decide()
    assert cluster.where("b") == {"x1": 4}
    cluster.fold(facts.NodeRemoved(at_us=0, name="x0"))
    cluster.decide()
    assert cluster.where("a") == {"x2": 1}
    assert min(topologies(cluster.state).placers["hosts"].tree.free.row("cpu")) >= 0
    [assigned] = cluster.state.workloads["n/a"].assignment
    assert (assigned.count, assigned.usage) == (1, {"cpu": 500})
