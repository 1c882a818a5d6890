"""What the embedded server lacks it refuses, or says; nothing is pretended."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.api import EmbeddedApi
from apiserver.limits import LIMITS
from tests.cluster.talking import Object, Talk, condition_status, crd, job, pod
from tests.parts.kubernetes import make_namespace
from tests.parts.patches import APPLY_PATCH


@pytest.fixture
async def kube(embedded_api: EmbeddedApi) -> Talk:
    """Lend the embedded server."""
    return Talk(embedded_api, await make_namespace(embedded_api), embedded_api.compact)


async def test_server_side_apply_is_refused(kube: Talk) -> None:
    await kube.make(kube.maps, {"metadata": {"name": "a"}})
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    assert (await kube.send("PATCH", f"{kube.maps}/a", body, APPLY_PATCH))[0] == 415


async def test_protobuf_is_refused(kube: Talk) -> None:
    content = "application/vnd.kubernetes.protobuf"
    assert (await kube.send("POST", kube.maps, {"metadata": {"name": "a"}}, content))[0] == 415


async def test_a_dry_change_is_refused(kube: Talk) -> None:
    made = await kube.make(kube.maps, {"metadata": {"name": "a"}})
    changed = {**made, "data": {"k": "v"}}
    status, _ = await kube.send("PUT", f"{kube.maps}/a", changed, dryRun="All")
    assert status == 400
    assert "data" not in await kube.get(f"{kube.maps}/a")


async def test_a_dry_deletion_is_refused(kube: Talk) -> None:
    await kube.make(kube.maps, {"metadata": {"name": "a"}})
    status, _ = await kube.send("DELETE", f"{kube.maps}/a", {"dryRun": ["All"]})
    assert status == 400
    assert (await kube.send("GET", f"{kube.maps}/a"))[0] == 200


@pytest.mark.parametrize(
    "spec",
    [
        {"podFailurePolicy": {"rules": []}},
        {"successPolicy": {"rules": []}, "completionMode": "Indexed", "completions": 1},
        {"backoffLimitPerIndex": 1, "completionMode": "Indexed", "completions": 1},
    ],
)
async def test_a_job_beyond_its_controller_is_refused(kube: Talk, spec: Any) -> None:  # noqa: ANN401 - any field
    status, answer = await kube.send("POST", kube.jobs, job("a", **spec))
    assert status == 422
    assert "does not know it" in answer["message"]


WISHES: dict[str, Object] = {
    "affinity.podAntiAffinity": {
        "affinity": {
            "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{}]},
        }
    },
    "topologySpreadConstraints": {"topologySpreadConstraints": [{"topologyKey": "zone"}]},
    "resourceClaims": {"resourceClaims": [{"name": "gpu"}]},
}


@pytest.mark.parametrize("wish", WISHES)
async def test_a_pod_beyond_the_scheduler_waits_and_says_why(kube: Talk, wish: str) -> None:
    await kube.make(kube.pods, pod("a", **WISHES[wish]))
    waiting = await kube.until(f"{kube.pods}/a", lambda obj: condition_status(obj, "PodScheduled"))
    (condition,) = waiting["status"]["conditions"]
    assert condition["message"] == f"the embedded scheduler does not know {wish}"


async def test_a_conversion_webhook_is_refused(kube: Talk) -> None:
    body = crd("webs", {"type": "object"})
    body["spec"]["conversion"] = {"strategy": "Webhook"}
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    assert (await kube.send("POST", path, body))[0] == 422


async def test_a_kind_that_nothing_stands_behind_is_not_served(kube: Talk) -> None:
    path = f"/apis/apps/v1/namespaces/{kube.namespace}/deployments"
    assert (await kube.send("GET", path))[0] == 404


def test_the_limits_are_named() -> None:
    words = " ".join(LIMITS)
    for word in ("x-kubernetes-validations", "admission policies", "RBAC", "server-side apply"):
        assert word in words
