"""First lists of a cluster with running work: which jobs are adopted, under which flavors, when."""

from __future__ import annotations

import pytest

from tests.core.telling import (
    FLAVORS,
    JOBS,
    RUNNING,
    Bus,
    Fields,
    beat,
    completed,
    flavor,
    job,
    queues,
    started,
    types,
)
from tidegate.contracts import observations
from tidegate.contracts.observed.nodes import NodeObserved, TopologyObserved
from tidegate.core.topology.cluster import topologies
from tidegate.model.podset import PodSet
from tidegate.model.quota import FlavorSpec
from tidegate.model.topology import (
    HOSTNAME,
    NodeSpec,
    TopologyAssignment,
    TopologyDomain,
    pack,
)

TEAM = observations.NamespaceObserved(name="team", uid="ns", version=1, session="a")


@pytest.fixture
def bus() -> Bus:
    return Bus().opened()


def listing(bus: Bus, *actual_observations: observations.JobObserved) -> list[str]:
    """Tell queues and jobs as running clusters have them, and complete the first round."""
    bus.tell(beat(1, JOBS), TEAM, *queues(), started(), *actual_observations)
    return types(bus.tell(completed(50, *(each.uid for each in actual_observations))))


@pytest.mark.parametrize(
    "fields",
    [
        {"state": RUNNING},
        {"held_quota": True},
        {"state": observations.JobState(suspended=False, decision="another/7")},
    ],
)
def test_what_runs_or_holds_quota_when_the_first_rounds_end_is_adopted(
    bus: Bus, fields: Fields
) -> None:
    assert listing(bus, job("idle"), job(**fields)) == ["SyncCompleted", "WorkloadAdopted"]
    adopted = bus.state.workloads["team/job-uid-train"]
    assert (adopted.phase, adopted.cluster_queue) == ("admitted", "cq")
    [given] = adopted.assignment
    assert (given.flavors, given.usage) == ({"cpu": "big"}, {"cpu": 2_000})


def test_quota_that_another_held_counts_until_the_first_rounds_end(bus: Bus) -> None:
    bus.tell(beat(1, JOBS), TEAM, *queues(), started(), job(), job("late"))
    assert types(bus.tell(job(held_quota=True))) == ["WorkloadChanged"]
    events = bus.tell(completed(50, "uid-train", "uid-late"))
    assert types(events) == ["SyncCompleted", "WorkloadAdopted"]
    assert bus.tell(job("late", held_quota=True), job(held_quota=True)) == []


def test_adoption_reads_the_flavor_from_the_node_selector(bus: Bus) -> None:
    small = PodSet(count=3, node_selector={"size": "small"}, containers=job().podsets[0].containers)
    listing(bus, job(podsets=(small,), reclaimable={"main": 1}, state=RUNNING))
    [given] = bus.only().assignment
    assert (given.count, given.flavors, given.usage) == (2, {"cpu": "small"}, {"cpu": 4_000})


PLACE = pack((HOSTNAME,), [TopologyDomain(values=("x",), count=2)])


@pytest.mark.parametrize(
    ("topology", "place", "charged"),
    [
        ("racks", PLACE, {"x": 2}),
        ("", PLACE, {}),  # the flavor is of no topology any more
        ("racks", pack(("rack", HOSTNAME), [TopologyDomain(values=("r", "x"), count=2)]), {}),
        ("racks", pack((HOSTNAME,), [TopologyDomain(values=("x",), count=3)]), {}),
    ],
)
def test_what_another_controller_placed_is_charged_where_it_stands(
    bus: Bus, topology: str, place: TopologyAssignment, charged: dict[str, int]
) -> None:
    on_nodes = flavor("big", version=3, spec=FlavorSpec(topology=topology))
    racks = TopologyObserved(
        name="racks", uid="racks", version=1, session="a", levels=("rack", HOSTNAME)
    )
    labels = {"rack": "r", HOSTNAME: "x"}
    spec = NodeSpec(labels=labels, allocatable={"cpu": 2_000, "pods": 9}, ready=True)
    node = NodeObserved(name="x", uid="x", version=1, session="a", spec=spec)
    pods = PodSet(count=2, containers=job().podsets[0].containers)
    kept = job(podsets=(pods,), held_quota=True, held_places={"main": place}, state=RUNNING)
    bus.tell(beat(1, JOBS), TEAM, *queues(), racks, on_nodes, node, started(), kept)
    bus.tell(completed(50, "uid-train"))
    held = topologies(bus.state).placed.get("team/job-uid-train", ())
    assert {placed_pods.values[-1]: placed_pods.pods for placed_pods in held} == charged
    assert bus.state.workloads["team/job-uid-train"].phase == "admitted"


def test_adoption_takes_the_first_flavor_if_the_node_selector_names_none(bus: Bus) -> None:
    plain = flavor("small", version=2, spec=FlavorSpec())
    bus.tell(beat(1, JOBS), *queues(), plain, started(), job(state=RUNNING))
    bus.tell(completed(50, "uid-train"))
    assert [given.flavors for given in bus.only().assignment] == [{"cpu": "big"}]


def test_adoption_waits_for_the_last_of_the_expected_resources(bus: Bus) -> None:
    bus.tell(beat(1, JOBS, FLAVORS))
    assert listing(bus, job(state=RUNNING)) == ["SyncCompleted"]
    flavors = completed(60, "uid-big", "uid-small", resource=FLAVORS)
    names = types(bus.tell(started(FLAVORS), flavors))
    assert names == ["SyncStarted", "SyncCompleted", "WorkloadAdopted"]


def test_adoption_happens_when_the_heartbeat_comes_last(bus: Bus) -> None:
    bus.tell(*queues(), started(), job(state=RUNNING), completed(50, "uid-train"))
    assert types(bus.tell(beat(1, JOBS))) == ["WatchesExpected", "WorkloadAdopted"]


def test_a_job_whose_queue_leads_nowhere_is_not_adopted(bus: Bus) -> None:
    assert listing(bus, job(queue="nowhere", state=RUNNING)) == ["SyncCompleted"]


def test_what_runs_without_admission_later_is_due_for_a_stop(bus: Bus) -> None:
    listing(bus)
    assert types(bus.tell(job(version=60, state=RUNNING))) == ["WorkloadSubmitted"]
    assert list(bus.state.deadlines.due) == ["repair/team/job-uid-train"]
