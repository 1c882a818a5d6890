"""Jobs that find no nodes: what is reported of them, and when they are looked at again."""

from __future__ import annotations

import pytest

from tests.core.topology.cluster import Cluster, names
from tidegate.contracts import facts
from tidegate.contracts.decisions import (
    WorkloadPending,
)
from tidegate.core.decide import decide
from tidegate.core.nomination.nominate import Nominee, nominate
from tidegate.core.state.cluster_queues import ClusterQueueState
from tidegate.core.state.state import State, Workload
from tidegate.model.podset import LabelSelector
from tidegate.model.quota import (
    ClusterQueueSpec,
    FlavorQuotas,
    FlavorSpec,
    Quota,
    ResourceGroup,
)
from tidegate.model.topology import HOSTNAME, NodeSpec


@pytest.fixture
def cluster() -> Cluster:
    return Cluster(4)


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note which workloads are looked at."""
    lines = list[str]()

    def note(state: State, cq: ClusterQueueState, workload: Workload) -> Nominee:
        lines.append(workload.job.name)
        return nominate(state, cq, workload)

    monkeypatch.setattr("tidegate.core.cycle.cycle.nominate", note)
    return lines


def test_whose_pods_no_nodes_could_take_is_looked_at_again_when_a_node_comes(
    looks: list[str],
) -> None:
    cluster = Cluster(3)
    cluster.job("wide", 3, "rack")
    cluster.job("never", 6, "rack")
    decide(cluster.state)
    looks.clear()
    cluster.job("small", 1, "rack")
    decide(cluster.state)
    cluster.fold(facts.WorkloadRemoved(at_us=0, workload="n/wide", uid="wide", version=9))
    decide(cluster.state)
    assert "never" not in looks
    for number in (3, 8):
        labels = {"rack": "r1", HOSTNAME: f"x{number}"}
        spec = NodeSpec(labels=labels, allocatable={"cpu": 2_000, "pods": 10}, ready=True)
        cluster.fold(facts.NodeDefined(at_us=0, name=f"x{number}", spec=spec))
    assert "QuotaReserved" in names(decide(cluster.state))
    assert sum(cluster.where("never").values()) == 6


def test_a_pending_workload_is_looked_at_again_when_a_level_has_room(looks: list[str]) -> None:
    cluster = Cluster(2)
    for name in "abc":
        cluster.job(name, 1, HOSTNAME)
    cluster.job("wide", 3, "rack")
    decide(cluster.state)
    looks.clear()
    for number in range(3):
        cluster.job(f"small{number}", 1, HOSTNAME)
        decide(cluster.state)
        cluster.finish(f"small{number}")
        decide(cluster.state)
    cluster.finish("a")
    decide(cluster.state)
    cluster.fold(facts.NodePodsReported(at_us=0, name="x0", usage={"cpu": 1_000, "pods": 1}))
    cluster.finish("b")
    decide(cluster.state)
    assert "small0" in looks
    assert "wide" not in looks  # two would fit, and it has three
    cluster.fold(facts.NodePodsCleared(at_us=0, name="x0"))
    assert "QuotaReserved" in names(decide(cluster.state))


def test_a_workload_that_may_evict_another_in_vain_is_not_looked_at_until_it_would_help(
    looks: list[str],
) -> None:
    cluster = Cluster(2)
    cluster.job("above", 2, HOSTNAME, priority=5)
    cluster.job("below", 1, HOSTNAME, priority=1)
    decide(cluster.state)
    cluster.job("wide", 3, "rack", priority=3)
    decide(cluster.state)
    looks.clear()
    for number in range(3):
        cluster.job(f"small{number}", 1, HOSTNAME, priority=1)
        decide(cluster.state)
        cluster.finish(f"small{number}")
        decide(cluster.state)
    assert "small0" in looks
    assert "wide" not in looks  # without those of lower priority there is room for two
    cluster.finish("above")
    assert "WorkloadAdmitted" in names(decide(cluster.state))
    assert sum(cluster.where("wide").values()) == 3


def test_podsets_of_two_flavors_with_topologies_are_refused_once(cluster: Cluster) -> None:
    """It was told anew in every turn."""
    quotas = [
        ResourceGroup(
            resources=(resource,),
            flavors=(FlavorQuotas(flavor=flavor, quotas={resource: Quota(nominal=100_000)}),),
        )
        for resource, flavor in (("cpu", "hosts"), ("gpu", "gpus"))
    ]
    spec = ClusterQueueSpec(groups=tuple(quotas), namespace_selector=LabelSelector())
    cluster.fold(
        facts.FlavorDefined(at_us=0, name="gpus", spec=FlavorSpec(topology="racks")),
        facts.ClusterQueueDefined(at_us=0, name="cq", spec=spec),
    )
    cluster.job("both", 1, "rack", requests={"cpu": "1", "gpu": "1"})
    [decision] = [
        decision for decision in cluster.decide() if isinstance(decision, WorkloadPending)
    ]
    assert "not exactly one of its flavors has one" in decision.message
    cluster.job("a", 1)
    cluster.decide()
    cluster.finish("a")
    assert "WorkloadPending" not in names(cluster.decide())


def test_a_workload_without_nodes_waits_and_its_reason_says_how_many_there_are(
    cluster: Cluster,
) -> None:
    cluster.job("wide", 5, "rack")
    [decision] = [
        decision for decision in cluster.decide() if isinstance(decision, WorkloadPending)
    ]
    [why] = decision.placements
    assert (decision.reason, why.fits, why.of) == ("TopologyPlacementFailed", 4, 5)
    assert [(level.level, level.domains, level.fitting, level.pods) for level in why.levels] == [
        ("rack", 2, 0, ((4, 2),)),
        (HOSTNAME, 4, 0, ((2, 4),)),
    ]
    cluster.job("wait", 4, "rack")
    cluster.job("more", 4, "rack")
    cluster.job("last", 1)
    assert names(cluster.decide()).count("WorkloadAdmitted") == 2


def test_a_node_that_comes_admits_the_workload_that_waited_for_it() -> None:
    cluster = Cluster(1)
    cluster.job("wide", 3, "rack")
    assert "WorkloadPending" in names(cluster.decide())
    cluster.node(1)
    assert "WorkloadAdmitted" in names(cluster.decide())
    assert cluster.where("wide").keys() == {"x0", "x1"}


def test_a_workload_that_may_evict_another_by_now_is_looked_at_though_no_more_pods_fit() -> None:
    cluster = Cluster(1)
    cluster.job("above", 1, HOSTNAME, priority=5)
    cluster.job("waits", 2, HOSTNAME, priority=3)
    decide(cluster.state)
    cluster.job("below", 1, HOSTNAME, priority=1)
    decide(cluster.state)
    cluster.finish("above")
    assert "WorkloadPreempted" in names(decide(cluster.state))
