"""Pod templates in the core's words."""

from __future__ import annotations

from typing import Any

import pytest

from tests.kinds.cluster import DATA, documents
from tidegate.errors import UndecodableError
from tidegate.kinds.decode import read
from tidegate.kinds.kueue_api.workloads.topologies import topology_request
from tidegate.kinds.kueue_api.workloads.workload import Workload
from tidegate.kinds.pods import PodTemplateSpec
from tidegate.kinds.podsets import pod_set, quantity_text, workload_podsets
from tidegate.model.podset import (
    Container,
    NodeTerm,
    Requirement,
    SliceLayer,
    Toleration,
    TopologyRequest,
)

LAYERS = "slice-required-topology-constraints"
PREFIX = "kueue.x-k8s.io/podset-"
WORKERS = documents(DATA / "samples/v1beta2/workloads.yaml")[1]


def shape(**spec: Any) -> str:  # noqa: ANN401 - fields of a pod
    return pod_set(read({"spec": spec}, PodTemplateSpec)).shape


def test_a_direct_workload_gives_its_podsets() -> None:
    driver, workers = workload_podsets(read(WORKERS, Workload))
    assert (driver.name, driver.count, driver.min_count) == ("driver", 1, None)
    assert (workers.name, workers.count, workers.min_count) == ("workers", 12, 4)


def test_requests_stay_as_they_were_written() -> None:
    driver, workers = workload_podsets(read(WORKERS, Workload))
    limits = {"cpu": "1", "memory": "1Gi"}
    assert driver.containers == (Container(requests={"cpu": "500m"}, limits=limits),)
    assert driver.init_containers == (Container(requests={"cpu": "100m"}, sidecar=True),)
    assert driver.overhead == {"cpu": "10m"}
    asked = {"cpu": "1.5", "memory": "3Gi", "nvidia.com/gpu": "1"}
    assert workers.containers == (Container(requests=asked),)


def _asking(**spec: Any) -> None:  # noqa: ANN401 - fields of a pod
    pod_set(read({"spec": spec}, PodTemplateSpec))


def _affinity(terms: int, values: int) -> dict[str, Any]:
    fields = {"key": "zone", "operator": "In", "values": ["a"] * values}
    required = {"nodeSelectorTerms": [{"matchExpressions": [fields]}] * terms}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def test_nodes_are_asked_for_as_much_as_can_be_looked_for_and_no_more() -> None:
    """Each requirement is held against each node: 5,000 took 9 s of everybody's time."""
    _asking(affinity=_affinity(100, 20))
    _asking(tolerations=[{"operator": "Exists"}] * 100)
    for spec in (
        {"affinity": _affinity(101, 1)},
        {"affinity": _affinity(1, 2_001)},
        {"affinity": _affinity(1, 1), "tolerations": [{"operator": "Exists"}] * 100},
    ):
        with pytest.raises(UndecodableError, match="at most 100 and 2000 are looked for"):
            _asking(**spec)


def test_where_pods_may_go_comes_through() -> None:
    _, workers = workload_podsets(read(WORKERS, Workload))
    zone = Requirement(key="zone", operator="In", values=("a", "b"))
    node = Requirement(key="metadata.name", operator="NotIn", values=("n1",))
    cores = Requirement(key="cores", operator="Gt", values=("8",))
    assert workers.node_selector == {"disk": "ssd"}
    assert workers.node_affinity == (NodeTerm(expressions=(zone,)), NodeTerm(fields=(node,)))
    assert workers.preferred_affinity == (NodeTerm(expressions=(cores,), weight=5),)
    assert workers.tolerations == (Toleration(key="spot", operator="Exists"),)
    assert (workers.runtime_class, workers.priority_class) == ("sandbox", "calm")


def test_a_workload_asks_for_its_topology() -> None:
    driver, workers = workload_podsets(read(WORKERS, Workload))
    assert driver.topology is None
    assert workers.topology == TopologyRequest(
        preferred="example.com/rack",
        slice_required="kubernetes.io/hostname",
        slice_size=2,
        index_label="batch.kubernetes.io/job-completion-index",
    )


@pytest.mark.parametrize(
    ("annotations", "asked"),
    [
        ({}, None),
        ({"required-topology": "rack"}, TopologyRequest(required="rack")),
        ({"unconstrained-topology": "true"}, TopologyRequest(unconstrained=True)),
        ({"unconstrained-topology": "false"}, None),
        (
            {"preferred-topology": "rack", "group-name": "a"},
            TopologyRequest(preferred="rack", group="a"),
        ),
        (
            {"slice-required-topology": "rack", "slice-size": "4"},
            TopologyRequest(slice_required="rack", slice_size=4),
        ),
        (
            {LAYERS: '[{"topology": "block", "size": 8}, {"topology": "rack", "size": 4}]'},
            TopologyRequest(
                layers=(SliceLayer(level="block", size=8), SliceLayer(level="rack", size=4))
            ),
        ),
    ],
)
def test_annotations_of_a_template_ask_for_a_topology(
    annotations: dict[str, str], asked: TopologyRequest | None
) -> None:
    assert topology_request({PREFIX + key: text for key, text in annotations.items()}) == asked


@pytest.mark.parametrize(
    ("annotations", "text"),
    [
        ({"required-topology": "a", "preferred-topology": "b"}, "one of required, preferred"),
        ({"slice-required-topology": "a"}, "both a required topology and a size"),
        ({"slice-required-topology": "a", "slice-size": "0"}, "'0' is not a positive number"),
        ({"slice-size": "many"}, "slice-size: 'many'"),
        ({LAYERS: "[]"}, "lists 1 to 3 layers"),
        ({LAYERS: '[{"topology": "a", "size": 0}]'}, "lists 1 to 3 layers"),
        ({LAYERS: "{"}, LAYERS),
        (
            {LAYERS: '[{"topology": "a", "size": 8}, {"topology": "b", "size": 3}]'},
            "Slices of 8 at a do not consist of slices of 3 at b",
        ),
        (
            {
                LAYERS: '[{"topology": "a", "size": 8}]',
                "slice-required-topology": "a",
                "slice-size": "4",
            },
            "several and then no group",
        ),
    ],
)
def test_annotations_that_contradict_each_other_are_an_error(
    annotations: dict[str, str], text: str
) -> None:
    with pytest.raises(UndecodableError) as caught:
        topology_request({PREFIX + key: text for key, text in annotations.items()})
    assert text in str(caught.value)


def test_a_pod_has_a_shape_only_if_something_else_matters() -> None:
    assert shape(containers=[{"name": "a", "image": "b"}], nodeSelector={"c": "d"}) == ""
    ports = [{"containerPort": 80}]
    assert len(shape(containers=[{"name": "a", "ports": ports}])) == 16


@pytest.mark.parametrize(
    "spec",
    [
        {"containers": [{"ports": [{"containerPort": 80}]}]},
        {"initContainers": [{"ports": [{"containerPort": 80}]}]},
        {"topologySpreadConstraints": [{"maxSkew": 1}]},
        {"resourceClaims": [{"name": "gpu"}]},
        {"affinity": {"podAffinity": {"a": 1}}},
        {"affinity": {"podAntiAffinity": {"a": 1}}},
        {"priority": 7},
    ],
)
def test_each_thing_that_matters_gives_a_shape_of_its_own(spec: dict[str, Any]) -> None:
    assert shape(**spec) not in {"", shape(topologySpreadConstraints=[{"maxSkew": 2}])}


def test_names_do_not_change_the_shape() -> None:
    ports = [{"containerPort": 80, "protocol": "TCP"}]
    turned = [{"protocol": "TCP", "containerPort": 80}]
    first = shape(containers=[{"name": "a", "ports": ports}])
    assert first == shape(containers=[{"name": "b", "ports": turned}])


@pytest.mark.parametrize(
    ("quantity", "text"), [("500m", "500m"), (2, "2"), (0.5, "0.5"), (1e-7, "0.0000001")]
)
def test_a_quantity_is_text_whatever_it_was(quantity: str | float, text: str) -> None:
    assert quantity_text(quantity) == text
