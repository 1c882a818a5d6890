"""The stub of the API server in the pipeline's benchmark: what the services rely on holds there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from random import Random
from typing import Any

import msgspec
import pytest

from apiserver.requests.patches import merge
from bench.pipeline import player
from bench.pipeline.objects import WORKLOADS
from bench.pipeline.stub import Stub, parse_path
from tidegate.errors import ApiStatusError
from tidegate.kube.client import KubernetesClient, connect
from tidegate.kube.credentials import Access
from tidegate.kube.ports import MERGE_PATCH

JOBS = "/apis/batch/v1/namespaces/team-a/jobs"
EVERYWHERE = "/apis/batch/v1/jobs"


@pytest.fixture
def stub() -> Stub:
    return Stub(lambda *_: None)


@pytest.fixture
async def api(stub: Stub) -> AsyncIterator[KubernetesClient]:
    async with stub.serve() as url, connect(Access(url=url)) as client:
        yield client


async def patched(api: KubernetesClient, path: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = await api.request(
        "PATCH", path, body=msgspec.json.encode(body), content_type=MERGE_PATCH
    )
    if answer.status >= 400:
        raise ApiStatusError(answer.status, answer.body.decode())
    return msgspec.json.decode(answer.body, type=dict[str, Any])


def test_a_path_names_a_resource_wherever_its_namespace_stands() -> None:
    assert parse_path(f"{JOBS}/train/status") == ("batch/v1/jobs", "team-a", "train", "status")
    assert parse_path(EVERYWHERE).resource == parse_path(JOBS).resource
    assert parse_path("/api/v1/namespaces/team-a") == ("v1/namespaces", "", "team-a", "")


def test_a_merge_patch_removes_with_null_and_leaves_what_it_does_not_name() -> None:
    fields = {"spec": {"a": 1, "b": {"c": 2}}, "status": {}}
    assert merge(fields, {"spec": {"b": {"d": 3}, "a": None}}) == {
        "spec": {"b": {"c": 2, "d": 3}},
        "status": {},
    }


async def test_a_patch_for_another_version_meets_a_conflict(
    stub: Stub, api: KubernetesClient
) -> None:
    made = stub.put(f"{JOBS}/train", {"metadata": {"name": "train"}, "spec": {"suspend": True}})
    pins = {"resourceVersion": made["metadata"]["resourceVersion"]}
    body = {"metadata": pins, "spec": {"suspend": False}}
    assert (await patched(api, f"{JOBS}/train", body))["spec"] == {"suspend": False}
    with pytest.raises(ApiStatusError):
        await patched(api, f"{JOBS}/train", body)


async def test_a_watch_begins_with_what_came_after_its_version(
    stub: Stub, api: KubernetesClient
) -> None:
    since = stub.put(f"{JOBS}/a", {"metadata": {"name": "a"}})["metadata"]["resourceVersion"]
    stub.put(f"{JOBS}/b", {"metadata": {"name": "b"}})
    query = {"resourceVersion": since, "timeoutSeconds": "60"}
    async with api.watch(EVERYWHERE, query) as lines:
        values = [msgspec.json.decode(await anext(lines))]
        stub.put(f"{JOBS}/a", {"metadata": {"name": "a"}})
        values.append(msgspec.json.decode(await anext(lines)))
    seen = [(event["type"], event["object"]["metadata"]["name"]) for event in values]
    assert seen == [("ADDED", "b"), ("MODIFIED", "a")]


async def test_a_workload_without_a_job_is_finished_once_it_has_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(player, "RUN_S", 0.0)
    played = player.Player(queues=1, random=Random(1), workloads=True)
    playing = asyncio.ensure_future(played.play("alone", 1, 0.0))
    async with played.stub.serve() as url, connect(Access(url=url)) as client:
        await asyncio.sleep(0)
        admitted = {"type": "Admitted", "status": "True"}
        body = {"metadata": {}, "status": {"conditions": [admitted]}}
        await patched(client, f"{WORKLOADS}/alone-0/status", body)
        await playing
    workload = played.stub.find(f"{WORKLOADS}/alone-0")
    assert workload is not None
    assert [each["type"] for each in workload["status"]["conditions"]] == ["Admitted", "Finished"]
