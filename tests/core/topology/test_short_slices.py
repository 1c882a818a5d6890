"""Jobs in slices of which some pods are done: what is left finds a place, and keeps it."""

from __future__ import annotations

from collections import Counter

import pytest
from msgspec.structs import replace

from tests.core.topology.cluster import Cluster, names
from tidegate.contracts import facts
from tidegate.model.ids import ObjectRef
from tidegate.model.podset import Container, PodSet, SliceLayer, TopologyRequest


def submit(cluster: Cluster, name: str, pods: int, *, size: int = 2, done: int = 0) -> None:
    asked = TopologyRequest(layers=(SliceLayer(level="rack", size=size),))
    podset = PodSet(count=pods, containers=(Container(requests={"cpu": "1"}),), topology=asked)
    cluster.fold(
        facts.WorkloadSubmitted(
            at_us=0,
            workload=f"n/{name}",
            uid=name,
            job=ObjectRef(kind="batch/job", namespace="n", name=name, uid=name),
            queue="q",
            podsets=(podset,),
            reclaimable={"main": done} if done else {},
        )
    )


def racks(cluster: Cluster, name: str) -> list[int]:
    """Return how many pods of a job each of its racks has."""
    counts = Counter[int]()
    for node, pods in cluster.where(name).items():
        counts[int(node[1:]) // 2] += pods
    return sorted(counts.values())


@pytest.mark.parametrize(("size", "done", "left"), [(2, 1, [1, 4]), (4, 1, [1, 4]), (4, 3, [3])])
def test_the_last_slice_is_short_by_what_is_done(size: int, done: int, left: list[int]) -> None:
    cluster = Cluster(6)
    pods = sum(left) + done
    submit(cluster, "a", pods, size=size, done=done)
    decisions = cluster.decide()
    assert "WorkloadAdmitted" in names(decisions), decisions
    assert racks(cluster, "a") == left


def test_a_short_slice_waits_for_the_room_of_a_whole_one_and_is_woken_by_it() -> None:
    cluster = Cluster(2)
    cluster.job("other", 1)
    cluster.decide()
    submit(cluster, "a", 4, size=4, done=1)
    assert names(cluster.decide()) == ["WorkloadPending"]
    cluster.finish("other")
    assert "WorkloadAdmitted" in names(cluster.decide())


def test_a_podset_that_never_was_a_multiple_is_not_placed() -> None:
    cluster = Cluster(6)
    submit(cluster, "a", 5)
    assert names(cluster.decide())[-1] == "WorkloadPending"


@pytest.mark.parametrize("alone", [True, False], ids=["all of it lost", "some of it stays"])
def test_a_node_with_a_short_slice_is_replaced(*, alone: bool) -> None:
    cluster = Cluster(6)
    submit(cluster, "a", 4, size=4, done=2 if alone else 1)
    cluster.decide()
    lost = max(cluster.where("a"))
    before = cluster.where("a")
    cluster.fold(facts.NodeRemoved(at_us=0, name=lost))
    if not alone:  # the other node of its rack is full, so that the rack has to have room again
        known = cluster.state.objects.nodes[min(before)]
        more = replace(known.spec, allocatable={"cpu": 8_000, "pods": 10})
        cluster.fold(facts.NodeDefined(at_us=0, name=known.name, spec=more))
    assert names(cluster.decide()) == ["NodeFailed", "TopologyAssigned"]
    assert lost not in cluster.where("a")
    assert racks(cluster, "a") == [sum(before.values())]
