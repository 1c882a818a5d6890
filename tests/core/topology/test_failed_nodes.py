"""Nodes that are lost after a workload was placed there: before its pods are bound, and behind.

Which pods run on a node is told once something is wrong with it; until then no workload is moved.
"""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.core.queues import of_cpu
from tests.core.topology.cluster import Cluster, names
from tidegate.contracts import facts
from tidegate.contracts.codec import type_name
from tidegate.contracts.decision_kinds.placements import NodeFailed, SecondPassFailed
from tidegate.contracts.decisions import WorkloadEvicted
from tidegate.core.decide import VERSION
from tidegate.core.quota.readiness import PROVISIONING
from tidegate.core.topology.cluster import topologies
from tidegate.model.ids import ObjectRef
from tidegate.model.podset import Container, PodSet, TopologyRequest
from tidegate.model.policy import Policy
from tidegate.model.quota import CheckRule, Quota
from tidegate.model.topology import HOSTNAME, Taint, unpack

TAINT = Taint(key="broken", effect="NoSchedule")


@pytest.fixture
def cluster() -> Cluster:
    """Return two racks of two nodes, and a job on one of these."""
    made = Cluster(4)
    made.job("a", 2, "rack")
    made.decide()
    return made


def fail(cluster: Cluster, name: str, *, ready: bool = True, tainted: bool = False) -> None:
    known = cluster.state.objects.nodes[name]
    spec = replace(known.spec, ready=ready, taints=(TAINT,) if tainted else ())
    cluster.fold(facts.NodeDefined(at_us=0, name=name, spec=spec))


def tell(cluster: Cluster, name: str, *living: str, ended: tuple[str, ...] = ()) -> None:
    event = facts.NodePodsReported(at_us=0, name=name, living=living, ended=ended)
    cluster.fold(event)


WAYS = pytest.mark.parametrize(
    ("ready", "tainted", "reason"), [(False, False, "NotReady"), (True, True, "Tainted")]
)


@WAYS
def test_pods_that_were_never_bound_get_another_node(
    cluster: Cluster, reason: str, *, ready: bool, tainted: bool
) -> None:
    [lost] = cluster.where("a")
    rack = cluster.rack("a")
    fail(cluster, lost, ready=ready, tainted=tainted)
    assert cluster.decide() == []  # which pods run there is not observed yet
    tell(cluster, lost)
    failed, *_ = decisions = cluster.decide()
    assert isinstance(failed, NodeFailed)
    assert (failed.node, failed.reason, names(decisions)[1]) == (lost, reason, "TopologyAssigned")
    assert lost not in cluster.where("a")
    assert cluster.rack("a") == rack


@WAYS
def test_pods_that_live_on_such_a_node_stay_until_they_have_ended(
    cluster: Cluster, reason: str, *, ready: bool, tainted: bool
) -> None:
    [lost] = cluster.where("a")
    fail(cluster, lost, ready=ready, tainted=tainted)
    tell(cluster, lost, "n/a")
    assert cluster.decide() == []
    tell(cluster, lost, ended=("n/a",))
    [failed, _] = cluster.decide()
    assert isinstance(failed, NodeFailed)
    assert failed.reason == reason


def test_a_workload_without_another_node_leaves_before_its_pods_were_bound() -> None:
    cluster = Cluster(1)
    cluster.job("a", 2)
    cluster.decide()
    fail(cluster, "x0", ready=False)
    tell(cluster, "x0")
    [evicted] = [decision for decision in cluster.decide() if isinstance(decision, WorkloadEvicted)]
    assert evicted.reason == "NodeFailures"


def test_pods_of_an_elastic_job_may_name_any_of_its_slices() -> None:
    cluster = Cluster(2)
    cluster.job("b", 1, elastic=True)
    cluster.decide()
    [lost] = cluster.where("b")
    fail(cluster, lost, ready=False)
    tell(cluster, lost, "n/b-first")  # a slice that is not in the state any more
    assert cluster.decide() == []
    tell(cluster, lost)
    assert names(cluster.decide()) == ["NodeFailed", "TopologyAssigned"]


def test_a_workload_that_lost_several_nodes_at_once_begins_anew() -> None:
    cluster = Cluster(4)
    cluster.job("a", 4, "rack")
    cluster.decide()
    lost = list(cluster.where("a"))
    assert len(lost) == 2
    cluster.fold(*(facts.NodeRemoved(at_us=0, name=name) for name in lost))
    decisions = cluster.decide()
    assert names(decisions)[:3] == ["NodeFailed", "NodeFailed", "WorkloadEvicted"]
    [evicted] = [decision for decision in decisions if isinstance(decision, WorkloadEvicted)]
    assert evicted.reason == "NodeFailures"
    assert evicted.message == (
        f"No other place for the pods of node {', '.join(sorted(lost))}: "
        "more than one of its nodes failed."
    )
    cluster.fold(facts.WorkloadStopped(at_us=0, workload="n/a", uid="a"))
    assert "WorkloadAdmitted" in names(cluster.decide())
    assert not set(lost) & set(cluster.where("a"))


def test_without_the_gate_pods_wait_for_their_node(cluster: Cluster) -> None:
    closed, opened = (
        Policy(rules=VERSION, gates={"TASFailedNodeReplacement": value}) for value in (False, True)
    )
    cluster.fold(facts.PolicyConfigured(at_us=0, name="policy", policy=closed))
    [lost] = cluster.where("a")
    cluster.fold(facts.NodeRemoved(at_us=0, name=lost))
    assert cluster.decide() == []
    assert list(cluster.where("a")) == [lost]
    cluster.fold(facts.PolicyConfigured(at_us=0, name="policy", policy=opened))
    assert names(cluster.decide()) == ["NodeFailed", "TopologyAssigned"]
    assert list(cluster.where("a")) != [lost]


def test_nodes_that_were_provisioned_are_waited_for_until_all_pods_fit() -> None:
    cluster = Cluster(0)
    spec = of_cpu({"hosts": Quota(nominal=100_000)})
    cluster.fold(
        facts.CheckDefined(at_us=0, name="c", controller=PROVISIONING, active=True),
        facts.ClusterQueueDefined(
            at_us=0, name="cq", spec=replace(spec, checks=(CheckRule(name="c"),))
        ),
    )
    cluster.job("a", 4, "rack")
    assert "QuotaReserved" in names(cluster.decide())
    cluster.node(0)
    cluster.fold(facts.CheckReported(at_us=0, workload="n/a", uid="a", check="c", state="Ready"))
    [failed] = cluster.decide()
    assert isinstance(failed, SecondPassFailed)
    assert failed.message == "only 2 of 4 pods fit"
    assert cluster.state.workloads["n/a"].phase == "reserved"
    cluster.node(1)
    assert names(cluster.decide()) == ["TopologyAssigned", "WorkloadAdmitted", "StartOrdered"]
    assert cluster.where("a") == {"x0": 2, "x1": 2}


@pytest.mark.parametrize("gone", [True, False], ids=["gone", "not ready"])
def test_a_node_lost_while_checks_were_asked_is_replaced_when_they_are_ready(*, gone: bool) -> None:
    cluster = Cluster(2)
    spec = of_cpu({"hosts": Quota(nominal=100_000)})
    checked = replace(spec, checks=(CheckRule(name="c"),))
    cluster.fold(
        facts.CheckDefined(at_us=0, name="c", controller="x", active=True),
        facts.ClusterQueueDefined(at_us=0, name="cq", spec=checked),
    )
    cluster.job("a", 2, "rack")
    assert "WorkloadAdmitted" not in names(cluster.decide())
    [lost] = cluster.where("a")
    if gone:
        cluster.fold(facts.NodeRemoved(at_us=0, name=lost))
    else:
        fail(cluster, lost, ready=False)
        tell(cluster, lost)
    assert cluster.decide() == []
    cluster.fold(facts.CheckReported(at_us=0, workload="n/a", uid="a", check="c", state="Ready"))
    decisions = cluster.decide()
    assert [type_name(decision) for decision in decisions if isinstance(decision, NodeFailed)] == [
        "NodeFailed"
    ]
    assert names(decisions)[-1] == "TopologyAssigned"
    assert lost not in cluster.where("a")


def test_podsets_that_lost_one_node_together_take_no_room_twice() -> None:
    cluster = Cluster(2)
    container = Container(requests={"cpu": "1"})
    cluster.fold(
        facts.WorkloadSubmitted(
            at_us=0,
            workload="n/a",
            uid="a",
            job=ObjectRef(kind="batch/job", namespace="n", name="a", uid="a"),
            queue="q",
            podsets=tuple(
                PodSet(name=name, count=count, containers=(container,))
                for name, count in (("first", 1), ("second", 3))
            ),
        )
    )
    cluster.decide()
    known = cluster.state.objects.nodes["x1"]
    more = replace(known.spec, allocatable={"cpu": 3_000, "pods": 10})
    cluster.fold(facts.NodeDefined(at_us=0, name="x1", spec=more))
    cluster.node(2)
    cluster.fold(facts.NodeRemoved(at_us=0, name="x0"))
    assert names(cluster.decide()) == ["NodeFailed", "TopologyAssigned"]
    free = topologies(cluster.state).placers["hosts"].tree.free.row("cpu")
    assert sorted(free) == [0, 1_000]


@pytest.mark.parametrize("workers", [1, 3], ids=["the leader's node", "the node of all"])
def test_a_group_stays_in_one_rack_when_a_node_is_lost(workers: int) -> None:
    cluster = Cluster(6)
    submit_group(cluster, workers)
    cluster.decide()
    [lost] = places(cluster, "leader")
    rack = int(lost[1:]) // 2
    others = [
        f"x{number}"
        for number in range(6)
        if f"x{number}" not in {lost, *places(cluster, "workers")}
    ]
    full = next(other for other in others if int(other[1:]) // 2 != rack)
    cluster.fold(  # a fuller node elsewhere is what a leader alone would take
        facts.NodePodsReported(at_us=0, name=full, usage={"cpu": 1_500 if workers == 3 else 0}),
        facts.NodeRemoved(at_us=0, name=lost),
    )
    lines = names(cluster.decide())
    assert lines[0] == "NodeFailed"
    if lines[1:] == ["TopologyAssigned"]:
        both = {*places(cluster, "leader"), *places(cluster, "workers")}
        assert len({int(text[1:]) // 2 for text in both}) == 1
    else:
        assert "WorkloadEvicted" in lines


def submit_group(cluster: Cluster, workers: int) -> None:
    """Submit a leader and its workers: one that fills its node, or leaves room there for three."""
    asked = TopologyRequest(required="rack", group="g")
    cpu = {1: "2", 3: "500m"}[workers]
    podsets = tuple(
        PodSet(
            name=name,
            count=count,
            containers=(Container(requests={"cpu": each}),),
            topology=asked,
        )
        for name, count, each in (("leader", 1, cpu), ("workers", workers, "500m"))
    )
    job = ObjectRef(kind="batch/job", namespace="n", name="a", uid="a")
    event = facts.WorkloadSubmitted(
        at_us=0, workload="n/a", uid="a", job=job, queue="q", podsets=podsets
    )
    cluster.fold(event)


def places(cluster: Cluster, podset: str) -> dict[str, int]:
    """Return the nodes of a podset."""
    given = next(
        assignment
        for assignment in cluster.state.workloads["n/a"].assignment
        if assignment.name == podset
    )
    assert given.topology is not None
    return {
        topology_domain.values[0]: topology_domain.count
        for topology_domain in unpack(given.topology)
    }


@pytest.mark.parametrize("label", ["rack", HOSTNAME])
def test_a_node_that_lost_a_label_counts_as_gone(cluster: Cluster, label: str) -> None:
    [lost] = cluster.where("a")
    known = cluster.state.objects.nodes[lost]
    labels = {key: value for key, value in known.spec.labels.items() if key != label}
    cluster.fold(
        facts.NodeDefined(at_us=0, name=lost, spec=replace(known.spec, labels=labels)),
    )
    failed, *_ = cluster.decide()
    assert isinstance(failed, NodeFailed)
    assert (failed.node, failed.reason) == (lost, "Gone")
    assert lost not in cluster.where("a")


def test_a_node_that_comes_into_another_rack_keeps_its_pods(cluster: Cluster) -> None:
    [host] = cluster.where("a")
    known = cluster.state.objects.nodes[host]
    labels = {**known.spec.labels, "rack": "elsewhere"}
    cluster.fold(facts.NodeDefined(at_us=0, name=host, spec=replace(known.spec, labels=labels)))
    assert cluster.decide() == []
    assert list(cluster.where("a")) == [host]
