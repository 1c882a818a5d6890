"""Patches change the same things on every server, and are refused alike."""

from __future__ import annotations

import pytest

from tests.cluster.talking import Object, Talk, job
from tidegate.kube.ports import JSON_PATCH, MERGE_PATCH

STRATEGIC = "application/strategic-merge-patch+json"


@pytest.fixture
async def path(kube: Talk) -> str:
    """Make a ConfigMap and return its path."""
    metadata = {"name": "a", "labels": {"keep": "1", "drop": "1"}}
    await kube.make(kube.maps, {"metadata": metadata, "data": {"k": "v", "l": "w"}})
    return f"{kube.maps}/a"


async def test_a_merge_patch_adds_replaces_and_removes(kube: Talk, path: str) -> None:
    patch = {"metadata": {"labels": {"drop": None, "new": "1"}}, "data": {"k": "x", "l": None}}
    changed = await kube.merge(path, patch)
    assert changed["metadata"]["labels"] == {"keep": "1", "new": "1"}
    assert changed["data"] == {"k": "x"}


async def test_a_json_patch_tests_and_changes(kube: Talk, path: str) -> None:
    obj = await kube.get(path)
    operations = [
        {"op": "test", "path": "/metadata/uid", "value": obj["metadata"]["uid"]},
        {"op": "replace", "path": "/data/k", "value": "x"},
        {"op": "remove", "path": "/data/l"},
        {"op": "add", "path": "/metadata/annotations", "value": {}},
        {"op": "add", "path": "/metadata/annotations/example.com~1a", "value": "1"},
    ]
    status, changed = await kube.send("PATCH", path, operations, JSON_PATCH)
    assert status == 200
    assert changed["data"] == {"k": "x"}
    assert changed["metadata"]["annotations"] == {"example.com/a": "1"}


@pytest.mark.parametrize(
    ("content", "patch", "code"),
    [
        (JSON_PATCH, [{"op": "test", "path": "/data/k", "value": "other"}], 422),
        (JSON_PATCH, [{"op": "remove", "path": "/data/nothing"}], 422),
        (JSON_PATCH, {"op": "remove"}, 400),
        (MERGE_PATCH, ["no object"], 400),
        ("application/json", {}, 415),
        (MERGE_PATCH, {"metadata": {"name": "other"}}, 400),
        (MERGE_PATCH, {"metadata": {"labels": {"a b": "c"}}}, 422),
    ],
)
async def test_a_wrong_patch_changes_nothing(
    kube: Talk, path: str, content: str, patch: object, code: int
) -> None:
    before = await kube.get(path)
    status, answer = await kube.send("PATCH", path, patch, content)
    assert (status, answer["code"]) == (code, code)
    assert await kube.get(path) == before


async def test_a_strategic_patch_merges_lists_by_their_key(kube: Talk) -> None:
    await kube.make(kube.jobs, job("a", suspend=True))
    containers: list[Object] = [{"name": "main", "resources": {"requests": {"cpu": "2"}}}]
    patch = {"spec": {"template": {"spec": {"containers": containers}}}}
    status, changed = await kube.send("PATCH", f"{kube.jobs}/a", patch, STRATEGIC)
    assert status == 200, changed
    merged = changed["spec"]["template"]["spec"]["containers"]
    assert [(container["image"], container["resources"]) for container in merged] == [
        ("example.com/work:1", {"requests": {"cpu": "2"}})
    ]


async def test_the_status_is_written_apart_from_the_rest(kube: Talk) -> None:
    await kube.make(kube.jobs, job("a", suspend=True, managedBy="example.com/absent"))
    patch: Object = {"spec": {"parallelism": 5}, "status": {"ready": 0, "terminating": 3}}
    changed = await kube.merge(f"{kube.jobs}/a/status", patch)
    assert (changed["spec"]["parallelism"], changed["status"]["terminating"]) == (1, 3)
    changed = await kube.merge(f"{kube.jobs}/a", {"status": {"terminating": 5}})
    assert changed["status"]["terminating"] == 3


async def test_a_status_patch_may_annotate_a_built_in_kind(kube: Talk) -> None:
    await kube.make(kube.jobs, job("a", suspend=True))
    patch = {"metadata": {"annotations": {"example.com/seen": "1"}}, "status": {}}
    changed = await kube.merge(f"{kube.jobs}/a/status", patch)
    assert changed["metadata"]["annotations"]["example.com/seen"] == "1"
    assert (await kube.get(f"{kube.jobs}/a/status"))["kind"] == "Job"
