"""Claimed devices are charged as they are, after every transformation, and take no node's room."""

from __future__ import annotations

from tidegate.core.quota.requests import placement_requests, pod_requests
from tidegate.core.state.state import Objects
from tidegate.model.podset import Container, PodSet
from tidegate.model.policy import Policy, Transformation

GPU = "example.com/gpu"
POLICY = Policy(
    exclude_resource_prefixes=("example.com/",),
    transformations=(Transformation(input=GPU, strategy="Replace", outputs={"credits": "10"}),),
)


def test_devices_are_added_to_what_was_transformed() -> None:
    podset = PodSet(containers=(Container(requests={"cpu": "1"}),), devices={GPU: 3})
    assert pod_requests(Objects(), "", podset, POLICY) == {"cpu": 1_000, GPU: 3}


def test_devices_add_up_with_what_a_container_asks_for_by_the_same_name() -> None:
    podset = PodSet(containers=(Container(requests={GPU: "2"}),), devices={GPU: 3})
    assert pod_requests(Objects(), "", podset, Policy()) == {GPU: 5}
    assert placement_requests(Objects(), "", podset) == {GPU: 2}
