"""Racks and nodes with what runs where, in each form; and why pods found no nodes, as a tree."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from tests.core.topology.cluster import Cluster
from tidegate.cli.commands.decisions.why import story_lines
from tidegate.cli.figures.racks import topology_svg, workload_colour
from tidegate.cli.ledger.racks import domain_rows, topology_views
from tidegate.contracts import facts
from tidegate.contracts.codec import encode
from tidegate.contracts.decisions import WorkloadPending
from tidegate.contracts.entry import Entry
from tidegate.errors import UnknownNameError
from tidegate.replay.story.why import story_of

SPACE = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def cluster() -> Cluster:
    """Four nodes of two CPUs in two racks: one workload, other pods, and a node that is lost."""
    made = Cluster(4)
    made.job("wide", 3, "rack")
    made.decide()
    used = {"cpu": 500, "pods": 1}
    made.fold(facts.NodePodsReported(at_us=0, name="x2", uid="x2", version=1, usage=used))
    made.node(3, ready=False)
    return made


def test_a_rack_adds_up_its_nodes_and_a_node_says_what_runs_there(cluster: Cluster) -> None:
    [actual_drawn] = topology_views(cluster.state, "racks")
    mapping = {row["name"]: row for row in domain_rows(actual_drawn)}
    assert (mapping["r0"]["used"], mapping["r0"]["allocatable"], mapping["r0"]["nodes"]) == (
        "3",
        "4",
        2,
    )
    assert mapping["r0"]["workloads"] == "n/wide (3)"
    assert {mapping["  x0"]["workloads"], mapping["  x1"]["workloads"]} == {
        "n/wide (2)",
        "n/wide (1)",
    }
    assert (mapping["  x2"]["bar"], mapping["  x2"]["others"]) == (
        "▒▒▒░░░░░░░░░",
        "cpu=500m pods=1",
    )
    assert (mapping["  x3"]["state"], mapping["r1"]["state"]) == ("not ready", "1 not ready")
    assert [row["name"] for row in domain_rows(actual_drawn, "rack")] == ["r0", "r1"]


def test_an_unknown_topology_is_named_with_those_that_there_are(cluster: Cluster) -> None:
    assert topology_views(cluster.state, "hosts")[0].topology == "racks"
    with pytest.raises(UnknownNameError, match="There are: racks"):
        topology_views(cluster.state, "rings")


def test_the_drawing_has_a_cell_for_each_node_and_a_colour_for_each_workload(
    cluster: Cluster,
) -> None:
    root = ET.fromstring(topology_svg(topology_views(cluster.state)))  # noqa: S314 - of our own making
    titles = [element.text or "" for element in root.iter(f"{SPACE}title")]
    assert [title.partition(":")[0] for title in titles] == ["x0", "x1", "x2", "x3"]
    assert "other pods: cpu=500m pods=1" in titles[2]
    fills = [element.get("fill") for element in root.iter(f"{SPACE}rect")]
    assert fills.count(workload_colour("n/wide")) == 2


def test_why_tells_for_each_level_how_many_domains_could_take_how_many_pods() -> None:
    made = Cluster(4)
    made.node(3, ready=False)
    made.job("wide", 5, "rack")
    [decision] = [decision for decision in made.decide() if isinstance(decision, WorkloadPending)]
    payload = encode(decision).decode()
    entry = Entry(1, 1, 1, 1, 0, "local", "WorkloadPending", "s", payload, bytes(32))
    lines = list(story_lines(story_of([entry], "n/wide"), {}, wide=False))
    assert lines[2:6] == [
        "         podset main, flavor hosts, topology racks: 4 of 5 pods find a place",
        "         └─ rack: 2 domains, 0 for all of them; 1 could take 4, 1 could take 2",
        "            └─ kubernetes.io/hostname: 3 domains, 0 for all of them; 3 could take 2",
    ]
