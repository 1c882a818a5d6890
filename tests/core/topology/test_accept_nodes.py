"""Topologies, nodes and foreign pods become facts, in the state by name, once for each change."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.core.telling import Bus, completed, gone, started, types
from tests.parts.drawn import drawn
from tidegate.contracts.observed.nodes import (
    NODE_PODS,
    NODES,
    TOPOLOGIES,
    NodeObserved,
    NodePodsObserved,
    TopologyObserved,
)
from tidegate.core.folding.snapshot import decode, encode
from tidegate.model.topology import NodeSpec, Taint, TopologyDomain, pack, unpack

READY = NodeSpec(labels={"rack": "r1"}, allocatable={"cpu": 8_000, "pods": 110}, ready=True)
TEXTS = st.text("ab1-", max_size=6)


@pytest.fixture
def bus() -> Bus:
    return Bus().opened()


def node(spec: NodeSpec, version: int) -> NodeObserved:
    return NodeObserved(name="x", uid="u", version=version, session="a", spec=spec)


def pods(usage: dict[str, int], version: int) -> NodePodsObserved:
    return NodePodsObserved(name="x", uid="x", version=version, session="a", usage=usage)


def test_a_node_is_reported_when_something_of_it_changed_and_not_otherwise(bus: Bus) -> None:
    assert types(bus.tell(node(READY, 1), node(READY, 2))) == ["NodeDefined"]
    tainted = replace(READY, taints=(Taint(key="k", effect="NoSchedule"),))
    assert types(bus.tell(node(tainted, 3), node(READY, 2))) == ["NodeDefined"]
    assert bus.state.objects.nodes["x"].spec == tainted
    assert types(bus.tell(gone("x", 4, NODES, uid="u"))) == ["NodeRemoved"]
    assert not bus.state.objects.nodes


def test_pods_of_a_node_come_and_go_under_one_name(bus: Bus) -> None:
    assert types(bus.tell(pods({"cpu": 500}, 1), pods({"cpu": 700}, 2))) == ["NodePodsReported"] * 2
    assert types(bus.tell(gone("x", 3, NODE_PODS, uid="x"))) == ["NodePodsCleared"]
    assert types(bus.tell(pods({"cpu": 100}, 2), pods({"cpu": 200}, 4))) == ["NodePodsReported"]
    assert bus.state.objects.node_pods["x"].usage == {"cpu": 200}


def test_what_pods_claim_is_a_fact_only_as_far_as_no_workload_is_charged_for_it(bus: Bus) -> None:
    claims = {"n/a": {"cpu": 500, "pods": 1}}
    observation = replace(pods({}, 1), claimed=claims)
    assert types(bus.tell(observation)) == ["NodePodsReported"]
    assert bus.state.objects.node_pods["x"].claimed == claims
    assert types(bus.tell(pods({}, 2))) == ["NodePodsReported"]  # they are gone
    other = replace(pods({}, 3), name="y", uid="y")
    assert types(bus.tell(other)) == []  # and of another node nothing is known at all


def test_a_topology_that_a_round_does_not_have_is_gone_and_a_snapshot_keeps_the_rest(
    bus: Bus,
) -> None:
    observation = TopologyObserved(
        name="t", uid="u-t", version=1, session="a", levels=("block", "rack")
    )
    bus.tell(observation, node(READY, 1), pods({"pods": 2}, 1))
    assert decode(encode(bus.state)).objects == bus.state.objects
    begun, ended = started(TOPOLOGIES, 1), completed(9, resource=TOPOLOGIES, number=1)
    assert "TopologyRemoved" in types(bus.tell(begun, ended))
    assert not bus.state.objects.topologies


@drawn(100)
@given(rows=st.lists(st.tuples(st.tuples(TEXTS, TEXTS), st.integers(1, 9)), max_size=12))
def test_what_is_packed_is_unpacked_as_it_was(rows: list[tuple[tuple[str, str], int]]) -> None:
    domains = tuple(TopologyDomain(values=values, count=count) for values, count in rows)
    assert unpack(pack(("rack", "host"), domains)) == domains


def test_a_common_prefix_and_suffix_are_written_once() -> None:
    domains = [TopologyDomain(values=(f"node-{n}.example",), count=4) for n in (1, 2, 10)]
    [topology_slice] = pack(("host",), domains).slices
    assert (topology_slice.pods, topology_slice.pods_each) == (4, ())
    [values] = topology_slice.values
    assert (values.prefix, values.roots, values.suffix) == ("node-", ("1", "2", "10"), ".example")
