"""Nodes that bear one hostname: a node selector leads to either, so one of their places counts."""

from __future__ import annotations

import pytest

from tests.core.topology.cluster import Cluster, names
from tidegate.contracts import facts
from tidegate.core.topology.cluster import topologies
from tidegate.model.topology import HOSTNAME, NodeSpec


def define(cluster: Cluster, name: str, rack: str, hostname: str = "twin") -> None:
    labels = {"rack": rack, HOSTNAME: hostname}
    spec = NodeSpec(labels=labels, allocatable={"cpu": 2_000, "pods": 10}, ready=True)
    cluster.fold(facts.NodeDefined(at_us=0, name=name, spec=spec))


@pytest.mark.parametrize("built", [True, False], ids=["known before", "come later"])
@pytest.mark.parametrize("order", [("r1", "r2"), ("r2", "r1")])
def test_no_more_is_placed_there_than_one_of_them_has(
    order: tuple[str, str], *, built: bool
) -> None:
    cluster = Cluster(0)
    for name, rack in zip(("a", "b"), order, strict=True):
        define(cluster, name, rack)
        if not built:
            topologies(cluster.state)
    for name in "xyz":
        cluster.job(name, 1)
    lines = names(cluster.decide())
    assert lines.count("WorkloadAdmitted") == 2
    tree = topologies(cluster.state).placers["hosts"].tree
    assert [tree.values[tree.leaf_first + leaf] for leaf in tree.number.values()] == [
        ("r1", "twin")
    ]
    assert tree.free.row("cpu") == [0]


def test_the_other_takes_its_place_when_it_is_gone() -> None:
    cluster = Cluster(0)
    define(cluster, "a", "r1")
    define(cluster, "b", "r2")
    cluster.job("x", 1)
    cluster.decide()
    cluster.fold(facts.NodeRemoved(at_us=0, name="a"))
    cluster.job("y", 1)
    cluster.decide()
    tree = topologies(cluster.state).placers["hosts"].tree
    assert tree.values[tree.leaf_first :] == [("r2", "twin")]
    assert tree.free.row("cpu") == [0]


def test_a_node_that_is_left_out_changes_without_building_anew() -> None:
    cluster = Cluster(2)
    define(cluster, "left-out", "r7", hostname="x0")
    before = topologies(cluster.state).placers["hosts"].tree
    cluster.fold(facts.NodePodsReported(at_us=0, name="left-out", usage={"cpu": 1_000}))
    assert topologies(cluster.state).placers["hosts"].tree is before
    assert before.free.row("cpu") == [2_000, 2_000]
