"""What is made: names, which podsets a request is for, and the templates of their pods."""

from __future__ import annotations

import pytest

from actuator.provisioning.podsets import MergedPodSets, merged_podsets
from actuator.provisioning.templates import (
    RequestToCreate,
    attempt_of,
    request_name,
    template_name,
    template_object,
)
from tests.provisioning.standing import Object, config, podset, workload
from tidegate.errors import NotSupportedError
from tidegate.kinds.kueue_api.flavors import ResourceFlavorSpec
from tidegate.kinds.pods import Toleration

ASK = RequestToCreate(check="c", name="w-c-1", class_name="queued", parameters={}, parts=())
LONG = "w" * 240
SPOT = ResourceFlavorSpec(
    node_labels={"pool": "spot"}, tolerations=(Toleration(key="spot", operator="Exists"),)
)


def test_long_names_are_cut_and_distinguished_by_a_hash() -> None:
    names = {request_name(LONG, "check", attempt) for attempt in range(1, 20)}
    assert len(names) == 19
    assert {len(name) for name in names} == {253}
    assert all(name.startswith(f"{LONG}-check-") for name in names)
    assert len(template_name(request_name(LONG, "check", 1), "main")) == 253


@pytest.mark.parametrize("workload", ["w", LONG])
def test_the_attempt_is_read_from_a_name(workload: str) -> None:
    for attempt in (1, 2, 17):
        assert attempt_of(request_name(workload, "check", attempt), workload, "check") == attempt
    for other in ("other", "check-1", "chec"):
        assert attempt_of(request_name(workload, other, 2), workload, "check") == 0


def sized(policy: str | None, *podsets: Object) -> list[tuple[tuple[str, ...], int]]:
    """Return which podsets a request merges, and how many pods each part has."""
    obj = workload({})
    obj["spec"]["podSets"] = list(podsets)
    assigned = [
        {"name": candidate_podset["name"], "count": candidate_podset["count"]}
        for candidate_podset in podsets
    ]
    obj["status"]["admission"]["podSetAssignments"] = assigned
    spec = config({"podSetMergePolicy": policy} if policy else {})
    assert spec is not None
    return [(part.names, part.count) for part in merged_podsets(obj, spec) or ()]


def test_podsets_are_merged_as_far_as_the_policy_goes() -> None:
    fields, same = podset("a", 1, {"cpu": "1"}), podset("b", 2, {"cpu": "1000m"})
    other, runs_else = podset("c", 3, {"cpu": "2"}), podset("d", 4, {"cpu": 1})
    runs_else["template"]["spec"]["containers"][0]["image"] = "another"
    all_of = (fields, same, other, runs_else)
    assert sized(None, *all_of) == [(("a",), 1), (("b",), 2), (("c",), 3), (("d",), 4)]
    assert sized("IdenticalPodTemplates", *all_of) == [(("a", "b"), 3), (("c",), 3), (("d",), 4)]
    policy = "IdenticalWorkloadSchedulingRequirements"
    assert sized(policy, *all_of) == [(("a", "b", "d"), 7), (("c",), 3)]
    runs_else["template"]["spec"]["nodeSelector"] = {"disk": "fast"}
    assert sized(policy, *all_of) == [(("a", "b"), 3), (("c",), 3), (("d",), 4)]


def test_a_podset_without_pods_needs_no_nodes() -> None:
    assert sized(None, podset("a", 0, {"cpu": "1"}), podset("b", 1, {})) == [(("b",), 1)]


def test_a_template_is_what_the_pods_will_be() -> None:
    spec = podset("main", 1, {"cpu": "1"}, limits={"cpu": "2", "memory": "1Gi"})["template"]["spec"]
    spec |= {"schedulingGates": [{"name": "g"}], "nodeSelector": {"disk": "fast"}}
    stale = {"autoscaling.x-k8s.io/consume-provisioning-request": "old", "mine": "m"}
    template = {"metadata": {"annotations": stale}, "spec": spec}
    part = MergedPodSets(names=("main",), count=3, template=template, flavors=("spot",))
    made = template_object(workload({}), ASK, part, [SPOT])
    assert made["metadata"]["name"] == "ppt-w-c-1-main"
    assert made["metadata"]["labels"] == {"kueue.x-k8s.io/managed": "true"}
    assert made["metadata"]["ownerReferences"][0]["kind"] == "Workload"
    assert made["template"]["metadata"]["annotations"] == {"mine": "m"}
    of_pods = made["template"]["spec"]
    assert "schedulingGates" not in of_pods
    assert of_pods["nodeSelector"] == {"disk": "fast", "pool": "spot"}
    assert of_pods["tolerations"] == [{"key": "spot", "operator": "Exists"}]
    requests = of_pods["containers"][0]["resources"]["requests"]
    assert requests == {"cpu": "1", "memory": "1Gi"}
    assert spec["schedulingGates"] == [{"name": "g"}]  # the Workload's own stays as it is


def test_pods_and_flavors_that_contradict_each_other_are_named() -> None:
    template = {"spec": {"containers": [], "nodeSelector": {"pool": "large"}}}
    part = MergedPodSets(names=("main",), count=1, template=template, flavors=("spot",))
    with pytest.raises(NotSupportedError, match="nodeSelector pool is large"):
        template_object(workload({}), ASK, part, [SPOT])
