"""What a ready check adds to the pods counts where they are placed: they start with it."""

from __future__ import annotations

from typing import Literal

import pytest
from msgspec.structs import replace

from tests.core.topology.cluster import Cluster, names
from tidegate.contracts import facts
from tidegate.core.admission.orders import FAILED_TO_START, PODSET_LABEL
from tidegate.core.decide import decide
from tidegate.core.quota.readiness import PROVISIONING
from tidegate.core.state.state import State
from tidegate.model.podset import PodSetUpdate, Toleration
from tidegate.model.policy import Policy
from tidegate.model.quota import CheckRule
from tidegate.model.topology import HOSTNAME, NodeSpec, Taint

Mode = Literal["tidegate", "kueue"]
MODES: list[Mode] = ["tidegate", "kueue"]


def cluster_of(mode: Mode) -> Cluster:
    """Return nodes x0 to x2, of which an autoscaler made the last for one request."""
    cluster = Cluster(2)
    policy = Policy(compatibility=mode)
    cluster.fold(facts.PolicyConfigured(at_us=0, name="policy", policy=policy))
    cluster.fold(facts.CheckDefined(at_us=0, name="nodes", controller=PROVISIONING, active=True))
    spec = cluster.state.objects.cluster_queues["cq"].spec
    spec = replace(spec, checks=(CheckRule(name="nodes"),))
    cluster.fold(facts.ClusterQueueDefined(at_us=0, name="cq", spec=spec))
    made = NodeSpec(
        labels={"rack": "r9", HOSTNAME: "x2", "request": "a"},
        allocatable={"cpu": 2_000, "pods": 10},
        taints=(Taint(key="request", value="a", effect="NoSchedule"),),
        ready=True,
    )
    cluster.fold(facts.NodeDefined(at_us=0, name="x2", spec=made))
    return cluster


def answer(cluster: Cluster, *updates: PodSetUpdate) -> list[str]:
    """Let the check say Ready; return what is decided then."""
    ready = facts.CheckReported(
        at_us=0, workload="n/job", uid="job", check="nodes", state="Ready", updates=updates
    )
    cluster.fold(ready)
    return names(decide(cluster.state))


def asked(mode: Mode) -> Cluster:
    """Return a cluster in which a job waits for its nodes."""
    cluster = cluster_of(mode)
    cluster.job("job", 2, HOSTNAME)
    assert "QuotaReserved" in names(decide(cluster.state))
    assert cluster.state.workloads["n/job"].assignment[0].delayed_topology == "Pending"
    return cluster


@pytest.mark.parametrize("mode", MODES)
def test_pods_are_placed_on_the_nodes_that_the_check_selects(mode: Mode) -> None:
    cluster = asked(mode)
    tolerated = Toleration(key="request", operator="Exists")
    update = PodSetUpdate(name="main", node_selector={"request": "a"}, tolerations=(tolerated,))
    assert "WorkloadAdmitted" in answer(cluster, update)
    assert cluster.where("job") == {"x2": 2}
    cluster.fold(facts.NodePodsReported(at_us=0, name="x2", usage={}, living=()))
    assert "NodeFailed" not in names(decide(cluster.state))


@pytest.mark.parametrize("mode", MODES)
def test_what_is_for_another_podset_does_not_count(mode: Mode) -> None:
    cluster = asked(mode)
    assert "WorkloadAdmitted" in answer(
        cluster, PodSetUpdate(name="other", node_selector={"request": "a"})
    )
    assert "x2" not in cluster.where("job")


@pytest.mark.parametrize("mode", MODES)
def test_no_pods_are_placed_where_they_could_not_run(mode: Mode) -> None:
    cluster = asked(mode)
    only_selected = PodSetUpdate(name="main", node_selector={"request": "a"})
    assert "WorkloadAdmitted" not in answer(cluster, only_selected)
    state: State = cluster.state
    assert state.workloads["n/job"].phase == "reserved"


@pytest.mark.parametrize("mode", MODES)
def test_pods_that_contradict_their_check_are_not_placed(mode: Mode) -> None:
    cluster = asked(mode)
    decisions = answer(cluster, PodSetUpdate(name="main", labels={PODSET_LABEL: "other"}))
    assert decisions[:1] == ["WorkloadEvicted"]
    assert cluster.state.workloads["n/job"].deactivated_cause == FAILED_TO_START


@pytest.mark.parametrize("mode", MODES)
def test_pods_are_placed_once_their_queue_is_open_again(mode: Mode) -> None:
    cluster = asked(mode)
    cluster.fold(facts.CheckDefined(at_us=0, name="nodes", controller=PROVISIONING, active=False))
    assert "WorkloadAdmitted" not in answer(cluster)
    cluster.fold(facts.CheckDefined(at_us=0, name="nodes", controller=PROVISIONING, active=True))
    assert "WorkloadAdmitted" in names(decide(cluster.state))
