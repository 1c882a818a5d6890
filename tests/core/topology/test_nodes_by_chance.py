"""Nodes that come, go and change, by chance: what is kept of them is what is built anew.

Some share a hostname, some lack a label, and some belong to no flavor.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.core.topology.cluster import Cluster
from tests.parts.drawn import drawn
from tidegate.contracts import facts
from tidegate.contracts.facts import FactEvent
from tidegate.core.topology.cluster import topologies
from tidegate.model.quota import FlavorSpec
from tidegate.model.topology import HOSTNAME, NodeSpec, Taint

NAMES, HOSTS, RACKS = "abcd", "xyz", "rs"


@st.composite
def changes(draw: st.DrawFn) -> FactEvent:
    name = draw(st.sampled_from(NAMES))
    match draw(st.integers(0, 5)):
        case 0:
            return facts.NodeRemoved(at_us=0, name=name)
        case 1:
            usage = {"cpu": draw(st.sampled_from((0, 500, 3_000))), "pods": 1}
            claimed = {"n/job": {"cpu": 1_000, "pods": 1}} if draw(st.booleans()) else {}
            return facts.NodePodsReported(at_us=0, name=name, usage=usage, claimed=claimed)
        case _:
            labels = {"rack": draw(st.sampled_from(RACKS)), HOSTNAME: draw(st.sampled_from(HOSTS))}
            labels["kind"] = draw(st.sampled_from(("placed", "placed", "other")))
            if draw(st.integers(0, 5)) == 0:
                del labels[draw(st.sampled_from(("rack", HOSTNAME)))]
            spec = NodeSpec(
                labels=labels,
                allocatable={"cpu": draw(st.sampled_from((0, 1_000, 2_000))), "pods": 3},
                ready=draw(st.sampled_from((True, True, True, False, None))),
                unschedulable=draw(st.integers(0, 5)) == 0,
                taints=(Taint(key="t", effect="NoSchedule"),) if draw(st.booleans()) else (),
            )
            return facts.NodeDefined(at_us=0, name=name, spec=spec)


def shown(cluster: Cluster) -> object:
    """Return everything that placement looks at, by leaf."""
    tree = topologies(cluster.state).placers["hosts"].tree
    views = [
        {name: row for name, row in view.rows.items() if any(row)}
        for view in (tree.free, tree.empty)
    ]
    return tree.values, tree.number, tree.present, views, [sorted(node) for node in tree.nodes]


@drawn(60)
@given(events=st.lists(changes(), max_size=25))
def test_what_is_kept_of_nodes_is_what_is_built_anew(events: list[FactEvent]) -> None:
    cluster = Cluster(0)
    spec = FlavorSpec(topology="racks", node_labels={"kind": "placed"})
    cluster.fold(facts.FlavorDefined(at_us=0, name="hosts", spec=spec))
    cluster.job("job", 1)
    for at, event in enumerate(events):
        cluster.fold(event)
        if at % 3 == 0:
            cluster.decide()
        value = shown(cluster)
        topologies(cluster.state).stale = True
        assert value == shown(cluster)
