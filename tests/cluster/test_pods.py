"""Pods are defaulted, gated, scheduled, run and ended alike by simulated nodes of both kinds."""

from __future__ import annotations

import pytest

from tests.cluster.talking import Object, Talk, condition_status, container, pod
from tidegate.kube.ports import MERGE_PATCH

GATED: Object = {"schedulingGates": [{"name": "example.com/wait"}]}


async def test_a_pod_gets_its_defaults(kube: Talk) -> None:
    limits = {"cpu": "1", "memory": "1Gi"}
    body = pod("a", **GATED)
    body["spec"]["containers"][0]["resources"] = {"limits": limits, "requests": {"cpu": "500m"}}
    made = await kube.make(kube.pods, body)
    spec = made["spec"]
    assert spec["containers"][0]["resources"]["requests"] == {"cpu": "500m", "memory": "1Gi"}
    expected = {"restartPolicy": "Always", "priority": 0, "enableServiceLinks": True}
    expected |= {"preemptionPolicy": "PreemptLowerPriority", "dnsPolicy": "ClusterFirst"}
    assert {key: spec[key] for key in expected} == expected
    assert [toleration["key"].rpartition("/")[2] for toleration in spec["tolerations"]] == [
        "not-ready",
        "unreachable",
    ]
    assert (made["status"]["phase"], made["status"]["qosClass"]) == ("Pending", "Burstable")


@pytest.mark.parametrize(
    ("resources", "quality"),
    [
        ({}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
    ],
)
async def test_a_pod_has_a_quality(kube: Talk, resources: Object, quality: str) -> None:
    body = pod("a", **GATED)
    body["spec"]["containers"][0]["resources"] = resources
    assert (await kube.make(kube.pods, body))["status"]["qosClass"] == quality


async def test_a_pod_runs_where_it_is_bound(kube: Talk) -> None:
    await kube.make(kube.pods, pod("a"))
    running = await kube.until(
        f"{kube.pods}/a", lambda obj: condition_status(obj, "Ready") == "True"
    )
    assert (running["status"]["phase"], condition_status(running, "PodScheduled")) == (
        "Running",
        "True",
    )
    assert running["spec"]["nodeName"] in ("node-0", "node-1", "node-2")
    assert running["status"]["containerStatuses"][0]["state"].keys() == {"running"}


@pytest.mark.parametrize(("code", "phase"), [("0", "Succeeded"), ("3", "Failed")])
async def test_a_pod_ends_as_its_annotation_says(kube: Talk, code: str, phase: str) -> None:
    body = pod("a", restartPolicy="Never")
    body["metadata"]["annotations"] = {"simulate/seconds": "0.1", "simulate/exit-code": code}
    await kube.make(kube.pods, body)
    ended = await kube.until(f"{kube.pods}/a", lambda obj: obj["status"]["phase"] == phase)
    state = ended["status"]["containerStatuses"][0]["state"]
    assert state["terminated"]["exitCode"] == int(code)
    assert condition_status(ended, "Ready") == "False"


async def test_a_running_pod_that_is_deleted_ends_and_goes(kube: Talk) -> None:
    path = f"{kube.pods}/a"
    await kube.make(kube.pods, pod("a"))
    await kube.until(path, lambda obj: obj["status"]["phase"] == "Running")
    left = await kube.remove(path)
    assert (left["kind"], left["metadata"]["deletionGracePeriodSeconds"]) == ("Pod", 30)
    await kube.until_gone(path)


async def test_a_pod_without_a_node_goes_at_once(kube: Talk) -> None:
    await kube.make(kube.pods, pod("a", **GATED))
    left = await kube.remove(f"{kube.pods}/a")
    assert (left["kind"], left["metadata"]["deletionGracePeriodSeconds"]) == ("Pod", 0)
    assert (await kube.send("GET", f"{kube.pods}/a"))[0] == 404


async def test_a_gated_pod_waits_until_its_gate_is_lifted(kube: Talk) -> None:
    path = f"{kube.pods}/a"
    gated = await kube.make(kube.pods, pod("a", **GATED))
    (condition,) = gated["status"]["conditions"]
    assert (condition["type"], condition["reason"]) == ("PodScheduled", "SchedulingGated")
    patch = {
        "spec": {"schedulingGates": None, "nodeSelector": {"kubernetes.io/hostname": "node-1"}}
    }
    await kube.merge(path, patch)
    running = await kube.until(path, lambda obj: obj["status"]["phase"] == "Running")
    assert running["spec"]["nodeName"] == "node-1"


REFUSED: list[tuple[str, Object, str]] = [
    ("gate", {"schedulingGates": [{"name": "example.com/other"}]}, "spec.schedulingGates"),
    ("policy", {"restartPolicy": "Never"}, "spec"),
    ("selector", {"nodeSelector": {"a": "c"}}, "spec.nodeSelector"),
    ("toleration", {"tolerations": []}, "spec.tolerations"),
]


@pytest.mark.parametrize(
    ("change", "field"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
async def test_most_of_a_pod_stays(kube: Talk, change: Object, field: str) -> None:
    own = {"nodeSelector": {"a": "b"}, "tolerations": [{"key": "k", "operator": "Exists"}]}
    await kube.make(kube.pods, pod("a", **own, **GATED))
    status, answer = await kube.send("PATCH", f"{kube.pods}/a", {"spec": change}, MERGE_PATCH)
    assert (status, answer["reason"]) == (422, "Invalid"), answer
    assert any(cause["field"].startswith(field) for cause in answer["details"]["causes"])


async def test_a_bound_pods_selector_stays(kube: Talk) -> None:
    await kube.make(kube.pods, pod("a", nodeSelector={"a": "b"}))
    patch = {"spec": {"nodeSelector": {"a": "b", "c": "d"}}}
    status, answer = await kube.send("PATCH", f"{kube.pods}/a", patch, MERGE_PATCH)
    assert (status, answer["reason"]) == (422, "Invalid")


WAITING: list[tuple[str, Object]] = [
    ("too big", {"containers": [container(cpu="1000")]}),
    ("other label", {"nodeSelector": {"kind": "none"}}),
    (
        "affinity",
        {
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [
                            {"matchExpressions": [{"key": "kind", "operator": "Exists"}]}
                        ]
                    }
                }
            }
        },
    ),
]


@pytest.mark.parametrize("spec", [row[1] for row in WAITING], ids=[row[0] for row in WAITING])
async def test_a_pod_that_fits_nowhere_waits_and_says_so(kube: Talk, spec: Object) -> None:
    await kube.make(kube.pods, pod("a", **spec))
    waiting = await kube.until(f"{kube.pods}/a", lambda obj: condition_status(obj, "PodScheduled"))
    (condition,) = waiting["status"]["conditions"]
    assert (condition["status"], condition["reason"]) == ("False", "Unschedulable")
    assert "nodeName" not in waiting["spec"]


async def test_a_pod_has_the_priority_of_its_class(kube: Talk) -> None:
    name = f"class-{kube.namespace}"
    path = "/apis/scheduling.k8s.io/v1/priorityclasses"
    made = await kube.make(path, {"metadata": {"name": name}, "value": 7})
    assert made["preemptionPolicy"] == "PreemptLowerPriority"
    body = pod("a", priorityClassName=name, **GATED)
    assert (await kube.make(kube.pods, body))["spec"]["priority"] == 7
    status, answer = await kube.send("PATCH", f"{path}/{name}", {"value": 8}, MERGE_PATCH)
    assert (status, answer["reason"]) == (422, "Invalid")
    await kube.remove(f"{path}/{name}")


async def test_a_pod_of_no_such_class_is_refused(kube: Talk) -> None:
    body = pod("a", priorityClassName="nothing-like-it")
    status, answer = await kube.send("POST", kube.pods, body)
    assert (status, answer["reason"]) == (403, "Forbidden")


async def test_only_a_pod_that_is_free_and_open_is_bound(kube: Talk) -> None:
    binding = {"metadata": {"name": "a"}, "target": {"kind": "Node", "name": "node-0"}}
    await kube.make(kube.pods, pod("a", schedulerName="example.com/absent", **GATED))
    status, answer = await kube.send("POST", f"{kube.pods}/a/binding", binding)
    assert (status, answer["reason"]) == (409, "Conflict")
    await kube.merge(f"{kube.pods}/a", {"spec": {"schedulingGates": None}})
    assert (await kube.send("POST", f"{kube.pods}/a/binding", binding))[0] == 201
    status, answer = await kube.send("POST", f"{kube.pods}/a/binding", binding)
    assert (status, answer["reason"]) == (409, "Conflict")
    await kube.until(f"{kube.pods}/a", lambda obj: obj["status"]["phase"] == "Running")


async def test_nodes_have_what_their_pods_may_take(kube: Talk) -> None:
    nodes = (await kube.get("/api/v1/nodes"))["items"]
    assert len(nodes) >= 2
    for node in nodes:
        assert condition_status(node, "Ready") == "True"
        assert node["status"]["allocatable"] == {"cpu": "8", "memory": "32Gi", "pods": "110"}
        assert node["metadata"]["labels"]["kubernetes.io/hostname"] == node["metadata"]["name"]
