"""Jobs on a topology, from submission to a lost node: the default mode, by facts alone."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from msgspec.structs import replace

from tidegate.contracts import facts
from tidegate.contracts.codec import type_name
from tidegate.contracts.decision_kinds.placements import TopologyAssigned
from tidegate.contracts.decisions import (
    DecisionEvent,
    StartOrdered,
    WorkloadEvicted,
    WorkloadPending,
)
from tidegate.contracts.facts import FactEvent
from tidegate.core.decide import decide
from tidegate.core.folding.fold import apply
from tidegate.core.folding.snapshot import decode, encode
from tidegate.core.state.cluster_queues import ClusterQueueState
from tidegate.core.state.shapes import unpark
from tidegate.core.state.state import State
from tidegate.core.state.workload import Shape
from tidegate.model.ids import ObjectRef
from tidegate.model.podset import Container, LabelSelector, PodSet, TopologyRequest
from tidegate.model.quota import (
    ClusterQueueSpec,
    FlavorQuotas,
    FlavorSpec,
    LocalQueueSpec,
    Preemption,
    Quota,
    ResourceGroup,
)
from tidegate.model.topology import HOSTNAME, NodeSpec, unpack


class Cluster:
    """A queue over nodes of two CPUs, two in a rack."""

    def __init__(self, nodes: int, *, topology: bool = True) -> None:
        self.state = State()
        quota = FlavorQuotas(flavor="hosts", quotas={"cpu": Quota(nominal=100_000)})
        spec = ClusterQueueSpec(
            groups=(ResourceGroup(resources=("cpu",), flavors=(quota,)),),
            namespace_selector=LabelSelector(),
            preemption=Preemption(within_cluster_queue="LowerPriority"),
        )
        self.fold(
            facts.LedgerOpened(at_us=0, ledger_id="topology"),
            facts.WatchesExpected(at_us=0, resources=()),
            facts.FlavorDefined(at_us=0, name="hosts", spec=FlavorSpec(topology="racks")),
            facts.NamespaceDefined(at_us=0, name="n"),
            facts.ClusterQueueDefined(at_us=0, name="cq", spec=spec),
            facts.LocalQueueDefined(
                at_us=0, name="q", namespace="n", spec=LocalQueueSpec(cluster_queue="cq")
            ),
        )
        if topology:
            levels = ("rack", HOSTNAME)
            self.fold(facts.TopologyDefined(at_us=0, name="racks", levels=levels))
        for number in range(nodes):
            self.node(number)

    def fold(self, *events: FactEvent) -> None:
        for event in events:
            apply(self.state, event)

    def node(self, number: int, *, ready: bool | None = True) -> None:
        name = f"x{number}"
        labels = {"rack": f"r{number // 2}", HOSTNAME: name}
        spec = NodeSpec(labels=labels, allocatable={"cpu": 2_000, "pods": 10}, ready=ready)
        self.fold(facts.NodeDefined(at_us=0, name=name, spec=spec))

    def job(
        self,
        name: str,
        pods: int,
        required: str = "",
        priority: int = 0,
        *,
        elastic: bool = False,
    ) -> None:
        asked = TopologyRequest(required=required) if required else None
        podset = PodSet(count=pods, containers=(Container(requests={"cpu": "1"}),), topology=asked)
        job = ObjectRef(kind="batch/job", namespace="n", name=name, uid=name)
        self.fold(
            facts.WorkloadSubmitted(
                at_us=0,
                workload=f"n/{name}",
                uid=name,
                job=job,
                queue="q",
                podsets=(podset,),
                priority=priority,
                elastic=elastic,
            )
        )

    def resize(self, name: str, pods: int) -> None:
        """Change how many pods an elastic job has."""
        known = self.state.workloads[f"n/{name}"]
        podsets = (replace(known.podsets[0], count=pods),)
        self.fold(
            facts.WorkloadChanged(
                at_us=0, workload=known.key, uid=known.uid, queue="q", podsets=podsets, elastic=True
            )
        )

    def decide(self) -> list[DecisionEvent]:
        """Decide until nothing follows; a state that was read back decides the same."""
        copy = decode(encode(self.state))
        found = decide(self.state)
        assert decide(copy) == found
        assert decide(self.state) == []
        return found

    def where(self, name: str) -> dict[str, int]:
        [given] = self.state.workloads[f"n/{name}"].assignment
        assert given.topology is not None
        return {one.values[0]: one.count for one in unpack(given.topology)}


@pytest.fixture
def cluster() -> Cluster:
    return Cluster(4)


def names(decisions: Iterable[DecisionEvent]) -> list[str]:
    return [type_name(one) for one in decisions]


def test_a_job_that_asks_for_no_topology_is_placed_all_the_same(cluster: Cluster) -> None:
    cluster.job("a", 3)
    [order] = [one for one in cluster.decide() if isinstance(one, StartOrdered)]
    assert sum(cluster.where("a").values()) == 3
    assert order.podsets[0].topology == cluster.state.workloads["n/a"].assignment[0].topology


def test_a_rack_holds_all_pods_that_require_it(cluster: Cluster) -> None:
    cluster.job("one", 1, "rack")
    cluster.job("all", 4, "rack")
    cluster.decide()
    [one], [first, second] = cluster.where("one"), cluster.where("all")
    assert {first, second} == ({"x0", "x1"} if one in {"x2", "x3"} else {"x2", "x3"})


def test_an_elastic_job_that_becomes_smaller_gives_the_nodes_of_its_last_pods_back() -> None:
    cluster = Cluster(2)
    cluster.job("shrinks", 4, "rack", elastic=True)
    cluster.decide()
    cluster.job("waits", 2, "rack")
    assert "QuotaReserved" not in names(cluster.decide())
    cluster.resize("shrinks", 2)
    assert "QuotaReserved" in names(cluster.decide())
    assert cluster.where("waits") == {"x1": 2}


def test_whose_pods_no_nodes_could_take_is_looked_at_again_when_a_node_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked_at = list[str]()

    def note(cq: ClusterQueueState, shape: Shape) -> None:
        looked_at.append(cq.name)
        unpark(cq, shape)

    monkeypatch.setattr("tidegate.core.nomination.watches.unpark", note)
    cluster = Cluster(3)
    cluster.job("wide", 3, "rack")
    cluster.job("never", 6, "rack")
    cluster.decide()
    cluster.job("small", 1, "rack")
    cluster.decide()
    cluster.fold(facts.WorkloadRemoved(at_us=0, workload="n/wide", uid="wide", version=9))
    cluster.decide()
    assert not looked_at
    for number in (3, 8):
        labels = {"rack": "r1", HOSTNAME: f"x{number}"}
        spec = NodeSpec(labels=labels, allocatable={"cpu": 2_000, "pods": 10}, ready=True)
        cluster.fold(facts.NodeDefined(at_us=0, name=f"x{number}", spec=spec))
    assert "QuotaReserved" in names(cluster.decide())
    assert sum(cluster.where("never").values()) == 6


def test_who_finds_no_nodes_waits_and_is_told_how_many_there_are(cluster: Cluster) -> None:
    cluster.job("wide", 5, "rack")
    [told] = [one for one in cluster.decide() if isinstance(one, WorkloadPending)]
    [why] = told.placements
    assert (told.reason, why.fits, why.of) == ("TopologyPlacementFailed", 4, 5)
    assert [(one.level, one.domains, one.fitting, one.pods) for one in why.levels] == [
        ("rack", 2, 0, ((4, 2),)),
        (HOSTNAME, 4, 0, ((2, 4),)),
    ]
    cluster.job("wait", 4, "rack")
    cluster.job("more", 4, "rack")
    cluster.job("last", 1)
    assert names(cluster.decide()).count("WorkloadAdmitted") == 2


def test_a_node_that_comes_lets_in_who_waited_for_it() -> None:
    cluster = Cluster(1)
    cluster.job("wide", 3, "rack")
    assert "WorkloadPending" in names(cluster.decide())
    cluster.node(1)
    assert "WorkloadAdmitted" in names(cluster.decide())
    assert cluster.where("wide").keys() == {"x0", "x1"}


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
    evicted = [one for one in cluster.decide() if isinstance(one, WorkloadEvicted)]
    assert [one.reason for one in evicted] == ["NodeFailures"]


def test_who_left_for_a_lost_node_is_not_asked_to_leave_again() -> None:
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


def test_who_lacks_only_nodes_takes_them_from_lower_priority(cluster: Cluster) -> None:
    for name in "abcd":
        cluster.job(name, 2, HOSTNAME)
    cluster.decide()
    cluster.job("first", 4, "rack", priority=1)
    victims = [one for one in cluster.decide() if isinstance(one, WorkloadEvicted)]
    assert len(victims) == 2
    for one in victims:
        cluster.fold(facts.WorkloadStopped(at_us=0, workload=one.workload, uid=one.uid))
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


def test_a_queue_whose_topology_is_not_there_admits_nobody() -> None:
    cluster = Cluster(2, topology=False)
    cluster.job("a", 1)
    cluster.decide()
    assert cluster.state.readiness["cq"][:2] == (False, "TopologyNotFound")
    cluster.fold(facts.TopologyDefined(at_us=0, name="racks", levels=("rack", HOSTNAME)))
    assert "WorkloadAdmitted" in names(cluster.decide())


def test_a_flavor_without_nodes_is_named_instead_of_numbers_of_pods() -> None:
    cluster = Cluster(0)
    cluster.job("a", 1)
    [told] = [one for one in cluster.decide() if isinstance(one, WorkloadPending)]
    assert told.reason == "TopologyPlacementFailed"
    assert f"hosts has no place: the flavor has no nodes with label {HOSTNAME}." in told.message


ANYWHERE = {"kueue.x-k8s.io/podset-unconstrained-topology": "true"}


@pytest.mark.parametrize(("level", "marks"), [("rack", {}), ("", ANYWHERE)])
def test_pods_that_are_placed_wait_behind_a_gate_and_say_of_which_workload_they_are(
    cluster: Cluster, level: str, marks: dict[str, str]
) -> None:
    cluster.job("a", 2, required=level)
    [start] = [one for one in cluster.decide() if isinstance(one, StartOrdered)]
    [podset] = start.podsets
    assert podset.gates == ("kueue.x-k8s.io/topology",)
    assert podset.annotations == {"kueue.x-k8s.io/workload": "a"} | marks
    assert podset.labels["kueue.x-k8s.io/podset"] == "main"
