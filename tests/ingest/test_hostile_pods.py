"""Whatever pods ask for, what is reported of their node stays small, and right for the others."""

from __future__ import annotations

from collections.abc import Mapping

from ingest.nodes.pod_usage import PodUsage
from tidegate.contracts.codec import PAYLOAD_BYTES_MAX, encode
from tidegate.contracts.observed.nodes import NodePodsObserved
from tidegate.kinds.observed import BoundPod, PlacedAnnotations, PodMeta, PodPhase, PodRequests
from tidegate.kinds.pods import Container, Resources
from tidegate.model.topology import NodeSpec

FEW, MANY = 100, 5_000


def pod(name: str, *, requests: Mapping[str, str], **more: str) -> BoundPod:
    placed = PlacedAnnotations(workload=more.get("workload"), unconstrained="true")
    return BoundPod(
        metadata=PodMeta(name=name, namespace="ns", uid=name, annotations=placed),
        spec=PodRequests(
            node_name="n1", containers=(Container(resources=Resources(requests={**requests})),)
        ),
        status=PodPhase(phase=more.get("phase", "Running")),
    )


def pods_observed(*pods: BoundPod) -> NodePodsObserved:
    usage = PodUsage()
    for candidate_pod in pods:
        assert list(usage.observe(candidate_pod)) == []
    observations = [
        observation
        for _, observation in usage.listed(
            [candidate_pod.metadata.uid for candidate_pod in pods], 7
        )
    ]
    observations += [
        observation for _, observation in usage.note_condition("n1", "u1", NodeSpec(ready=False))
    ]
    last = observations[-1]
    assert isinstance(last, NodePodsObserved)
    assert len(encode(last)) <= PAYLOAD_BYTES_MAX
    return last


def test_a_pod_of_endless_resources_hides_no_other() -> None:
    endless = {f"{at:063d}.example.com/{'x' * 63}": "1" for at in range(MANY)}
    observation = pods_observed(
        pod("a", requests={"cpu": "1", **endless}), pod("b", requests={"cpu": "2"})
    )
    assert observation.usage["cpu"] == 3_000
    assert observation.usage["pods"] == 2


def test_endless_ended_workloads_of_endless_names_leave_what_is_used() -> None:
    ended = [
        pod(f"p{at}", requests={}, workload=f"{at}-{'x' * 100_000}", phase="Succeeded")
        for at in range(FEW)
    ]
    short = [pod(f"s{at}", requests={}, workload=f"w{at}", phase="Failed") for at in range(MANY)]
    observation = pods_observed(*ended, *short, pod("b", requests={"cpu": "2"}))
    assert observation.usage["cpu"] == 2_000
    assert observation.ended
    assert observation.living == ()
    assert all(len(text) < 400 for text in observation.ended)


def test_of_more_living_workloads_than_are_reported_it_is_said_that_the_count_is_unknown() -> None:
    observation = pods_observed(
        *(pod(f"p{at}", requests={}, workload=f"w{at}") for at in range(MANY))
    )
    assert (observation.living, observation.ended) == (None, ())


def test_endless_claims_count_as_used_beyond_what_is_reported_them() -> None:
    many = (pod(f"p{at}", requests={"cpu": "1"}, workload=f"w{at}") for at in range(MANY))
    observation = pods_observed(*many)
    claimed = sum(requests["cpu"] for requests in observation.claimed.values())
    assert 0 < len(observation.claimed) < MANY
    assert claimed + observation.usage["cpu"] == MANY * 1_000
