"""Where a workload's pods go, as its Workload shows it, and as that is read back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from actuator.projection.objects import workload_status
from actuator.projection.read_model import ReadModel
from actuator.projection.rehydrate import view_of_workload
from actuator.projection.workload_view import WorkloadView
from tests.actuator.placing import WORKLOAD, assigned, node_failed, replaced
from tests.parts.drawn import drawn
from tests.parts.stage import Object, kueue
from tidegate.kinds.decode import read
from tidegate.kinds.kueue_api.workloads.conversion import topology_assignment, written_assignment
from tidegate.kinds.kueue_api.workloads.status import TopologyAssignment
from tidegate.kinds.kueue_api.workloads.workload import Workload
from tidegate.model.ids import ObjectRef
from tidegate.model.podset import PodSetAssignment
from tidegate.model.topology import TopologyDomain, pack

NAMES = st.text("ab1-", min_size=1, max_size=5)


@drawn(100)
@given(st.dictionaries(st.tuples(NAMES, NAMES), st.integers(1, 3), min_size=1, max_size=6))
def test_a_placement_is_read_back_as_it_was_written(places: dict[tuple[str, str], int]) -> None:
    domains = [TopologyDomain(values=values, count=count) for values, count in places.items()]
    actual_topology_assignment = pack(("rack", "kubernetes.io/hostname"), domains)
    assert (
        topology_assignment(
            read(written_assignment(actual_topology_assignment), TopologyAssignment)
        )
        == actual_topology_assignment
    )


def test_a_status_shows_where_pods_go_and_which_of_their_nodes_failed() -> None:
    model = shown(assigned(a=2, b=2))
    model.apply_event(node_failed("b"), "L1/2")
    fields = workload_status(model.workloads[WORKLOAD], {})
    assert fields["unhealthyNodes"] == [{"name": "b"}]
    assert given_to(fields)["topologyAssignment"] == {
        "levels": ["kubernetes.io/hostname"],
        "slices": [
            {
                "domainCount": 2,
                "valuesPerLevel": [{"individual": {"roots": ["a", "b"]}}],
                "podCounts": {"universal": 2},
            }
        ],
    }
    model.apply_event(replaced("b", assigned(a=3, c=1)), "L1/3")
    fields = workload_status(model.workloads[WORKLOAD], fields)
    assert "unhealthyNodes" not in fields
    slices = given_to(fields)["topologyAssignment"]["slices"]
    assert slices[0]["podCounts"] == {"individual": [3, 1]}


def test_what_is_shown_of_a_placement_is_known_again_after_a_restart() -> None:
    model = shown(assigned(a=2, b=1))
    model.apply_event(node_failed("b"), "L1/2")
    before = model.workloads[WORKLOAD]
    obj = kueue("Workload", "train", queueName="main", podSets=[])
    obj["metadata"] |= {"namespace": "default", "annotations": {"tidegate.dev/decision": "L1/2"}}
    after = view_of_workload(read({**obj, "status": workload_status(before, {})}, Workload))
    assert after is not None
    assert (after.assignment, after.failed_nodes) == (before.assignment, before.failed_nodes)


def shown(given: PodSetAssignment) -> ReadModel:
    """Return what is known of one workload that was placed."""
    job = ObjectRef(kind="workload", namespace="default", name="train", uid="u")
    view = WorkloadView(
        key=WORKLOAD, uid="u", job=job, phase="admitted", cluster_queue="cq", assignment=(given,)
    )
    model = ReadModel()
    model.workloads[WORKLOAD] = view
    return model


def given_to(status: Object) -> Object:
    (value,) = status["admission"]["podSetAssignments"]
    assert isinstance(value, dict)
    return value
