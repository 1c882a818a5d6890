"""Absurd topologies, nodes and requests: bounded, told, and others go on."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest import definitions
from tests.core.topology.cluster import Cluster, names
from tests.parts.drawn import drawn
from tidegate.contracts import facts
from tidegate.contracts.codec import encode
from tidegate.contracts.decision_kinds.queues import WorkloadDecision
from tidegate.contracts.decisions import DecisionEvent, WorkloadPending
from tidegate.core.decide import decide
from tidegate.errors import TidegateError
from tidegate.kinds.decode import read
from tidegate.kinds.kueue_api.flavors import Topology
from tidegate.kinds.kueue_api.workloads.topologies import topology_request
from tidegate.kinds.observed import Node
from tidegate.model.ids import ObjectRef
from tidegate.model.podset import Container, PodSet, SliceLayer, TopologyRequest
from tidegate.model.quantity import UNLIMITED
from tidegate.model.texts import INT32_MAX
from tidegate.model.topology import HOSTNAME, NodeSpec, Taint

DIGITS = "9" * 5_000
AMOUNTS = st.sampled_from((-(10**18), -1, 0, 1, 2_000, 10**18, UNLIMITED))
SIZES = st.sampled_from((-1, 0, 1, 2, 3, 5, 7, INT32_MAX))
LEVELS = st.sampled_from(("", "rack", HOSTNAME, "absent", "x" * 100_000))
COUNTS = st.sampled_from((0, 1, 2, 3, 10, INT32_MAX))


@st.composite
def requests(draw: st.DrawFn) -> TopologyRequest:
    """Draw what a podset may ask for, without any validation."""
    layers = st.builds(SliceLayer, level=LEVELS, size=SIZES)
    return TopologyRequest(
        required=draw(LEVELS),
        preferred=draw(LEVELS),
        unconstrained=draw(st.booleans()),
        group=draw(st.sampled_from(("", "g", "h"))),
        slice_required=draw(LEVELS),
        slice_size=draw(SIZES),
        layers=tuple(draw(st.lists(layers, max_size=4))),
    )


@st.composite
def nodes(draw: st.DrawFn) -> NodeSpec:
    """Draw a node that may lack labels, or say that it has less than nothing."""
    keys = st.sampled_from(("rack", HOSTNAME, "kind", "y" * 5_000))
    values = st.sampled_from(("", "a", "b", "x0", "z" * 5_000))
    resources = st.sampled_from(("cpu", "memory", "pods", "gpu"))
    taint = Taint(key=draw(values), value=draw(values), effect=draw(values))
    return NodeSpec(
        labels=draw(st.dictionaries(keys, values)),
        allocatable=draw(st.dictionaries(resources, AMOUNTS)),
        taints=(taint,) if draw(st.booleans()) else (),
        ready=draw(st.sampled_from((True, True, False, None))),
    )


def _of(decision: DecisionEvent, name: str) -> bool:
    return isinstance(decision, WorkloadDecision) and decision.workload == f"n/{name}"


@drawn(60)
@given(st.lists(nodes(), max_size=4), st.lists(st.tuples(requests(), COUNTS), max_size=4))
def test_whatever_is_asked_of_whichever_nodes_others_are_placed(
    given_nodes: list[NodeSpec], asked: list[tuple[TopologyRequest, int]]
) -> None:
    cluster = Cluster(2)
    for number, spec in enumerate(given_nodes):
        cluster.fold(facts.NodeDefined(at_us=0, name=f"odd{number}", spec=spec))
    podsets = tuple(
        PodSet(
            name=f"p{at}",
            count=count,
            containers=(Container(requests={"cpu": "1" if at % 2 else "0"}),),
            topology=request,
        )
        for at, (request, count) in enumerate(asked)
    )
    job = ObjectRef(kind="batch/job", namespace="n", name="odd", uid="odd")
    cluster.fold(
        facts.WorkloadSubmitted(
            at_us=0, workload="n/odd", uid="odd", job=job, queue="q", podsets=podsets, priority=1
        )
    )
    cluster.job("sane", 1, HOSTNAME)
    decisions = decide(cluster.state)
    assert [encode(decision) for decision in decisions]
    cluster.fold(facts.WorkloadRemoved(at_us=0, workload="n/odd", uid="odd", version=9))
    decisions += decide(cluster.state)
    assert "WorkloadAdmitted" in names(decision for decision in decisions if _of(decision, "sane"))
    assert sum(cluster.where("sane").values()) == 1


def _asking(name: str, count: int, **asked: Any) -> PodSet:  # noqa: ANN401 - any of its fields
    each = (Container(requests={"cpu": "1"}),)
    return PodSet(name=name, count=count, containers=each, topology=TopologyRequest(**asked))


LAYERS = (SliceLayer(level="rack", size=5), SliceLayer(level=HOSTNAME, size=3))


@pytest.mark.parametrize(
    ("podsets", "text"),
    [
        ([_asking("a", 5, layers=LAYERS)], "slices of 5 pods do not consist of slices of 3"),
        (
            [_asking(name, 1, required="rack", group="g") for name in "abc"],
            "a group is of two podsets, and not of 3",
        ),
        ([_asking("a", 1, preferred="rack", layers=LAYERS[1:])], "1 pods are no multiple"),
    ],
)
def test_a_request_that_makes_no_sense_is_reported_so(podsets: list[PodSet], text: str) -> None:
    """The first one ended the scheduler, of the second one podset was started without a place."""
    cluster = Cluster(4)
    job = ObjectRef(kind="batch/job", namespace="n", name="odd", uid="odd")
    cluster.fold(
        facts.WorkloadSubmitted(
            at_us=0, workload="n/odd", uid="odd", job=job, queue="q", podsets=tuple(podsets)
        )
    )
    [decision] = [
        decision for decision in cluster.decide() if isinstance(decision, WorkloadPending)
    ]
    assert text in decision.message


def test_numbers_that_no_node_has_can_be_observed() -> None:
    cluster = Cluster(0)
    for number in range(4):
        labels = {"rack": f"r{number}", HOSTNAME: f"x{number}"}
        spec = NodeSpec(
            labels=labels, allocatable={"cpu": UNLIMITED, "pods": UNLIMITED}, ready=True
        )
        cluster.fold(facts.NodeDefined(at_us=0, name=f"x{number}", spec=spec))
    for name, pods in (("first", INT32_MAX), ("wide", 5 * INT32_MAX)):
        cluster.job(name, pods, requests={"cpu": "0"})
    [decision] = [
        decision for decision in cluster.decide() if isinstance(decision, WorkloadPending)
    ]
    assert encode(decision)


def test_a_topology_of_thousands_of_levels_is_refused() -> None:
    levels = [{"nodeLabel": f"level-{number}"} for number in range(5_000)]
    topology = read({"metadata": {"name": "deep"}, "spec": {"levels": levels}}, Topology)
    with pytest.raises(TidegateError, match="5000 levels"):
        definitions.topology(topology)


@pytest.mark.parametrize("amount", [DIGITS, "1e999999999", "-1e999999999", "NaN", "x"])
def test_an_amount_that_no_node_has_is_refused_or_bounded(amount: str) -> None:
    status = {"allocatable": {"cpu": amount, "memory": "1Gi"}}
    node = read({"metadata": {"name": "odd"}, "status": status}, Node)
    fields: dict[str, int] = {}
    with suppress(TidegateError):
        fields = definitions.node(node).spec.allocatable
    assert abs(fields.get("cpu", 0)) <= UNLIMITED


@pytest.mark.parametrize(
    "annotations",
    [
        {"podset-slice-required-topology": "rack", "podset-slice-size": DIGITS},
        {"podset-slice-required-topology": "rack", "podset-slice-size": f"-{DIGITS}"},
        {
            "podset-slice-required-topology-constraints": '[{"topology": "rack", "size": '
            + DIGITS
            + "}]"
        },
        {"podset-slice-required-topology-constraints": "[" * 3_000},
        {"podset-required-topology": "x" * 300_000},
    ],
)
def test_a_request_that_no_quota_could_meet_is_refused_in_few_words(
    annotations: dict[str, str],
) -> None:
    written = {f"kueue.x-k8s.io/{name}": value for name, value in annotations.items()}
    with pytest.raises(TidegateError) as caught:
        topology_request(written)
    assert len(str(caught.value)) < 1_000
