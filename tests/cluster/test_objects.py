"""Objects are made, read, written and deleted alike on every server; so are refusals."""

from __future__ import annotations

import pytest

from tests.cluster.talking import Object, Talk, job
from tidegate.kube.ports import MERGE_PATCH


async def test_what_is_made_can_be_read(kube: Talk) -> None:
    made = await kube.make(kube.maps, {"metadata": {"name": "a"}, "data": {"k": "v"}})
    assert made["metadata"].keys() >= {"uid", "resourceVersion", "creationTimestamp"}
    assert (made["kind"], made["apiVersion"], made["data"]) == ("ConfigMap", "v1", {"k": "v"})
    assert (await kube.get(f"{kube.maps}/a"))["metadata"]["uid"] == made["metadata"]["uid"]


async def test_a_dry_creation_is_checked_and_stores_nothing(kube: Talk) -> None:
    body = {"metadata": {"name": "a"}, "data": {"k": "v"}}
    status, made = await kube.send("POST", kube.maps, body, dryRun="All")
    assert (status, made["kind"], made["data"]) == (201, "ConfigMap", {"k": "v"})
    assert made["metadata"]["uid"]
    assert (await kube.send("GET", f"{kube.maps}/a"))[0] == 404
    await kube.make(kube.maps, body)
    assert (await kube.send("POST", kube.maps, body, dryRun="All"))[0] == 409
    bad = {"metadata": {"name": "A"}}
    assert (await kube.send("POST", kube.maps, bad, dryRun="All"))[0] == 422


async def test_versions_are_numbers_that_grow(kube: Talk) -> None:
    made = await kube.make(kube.maps, {"metadata": {"name": "a"}})
    changed = await kube.merge(f"{kube.maps}/a", {"data": {"k": "v"}})
    versions = [int(obj["metadata"]["resourceVersion"]) for obj in (made, changed)]
    listed = int((await kube.get(kube.maps))["metadata"]["resourceVersion"])
    assert versions[0] < versions[1] <= listed


async def test_a_change_that_changes_nothing_makes_no_version(kube: Talk) -> None:
    made = await kube.make(kube.maps, {"metadata": {"name": "a"}, "data": {"k": "v"}})
    same = await kube.merge(f"{kube.maps}/a", {"data": {"k": "v"}})
    assert same["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


async def test_a_name_can_be_generated(kube: Talk) -> None:
    names = set[str]()
    for _ in range(2):
        made = await kube.make(kube.maps, {"metadata": {"generateName": "a-"}})
        names.add(made["metadata"]["name"])
    assert len(names) == 2
    assert all(len(name) == 7 and name.startswith("a-") for name in names)


async def test_a_list_names_the_kind_of_built_in_items_once(kube: Talk) -> None:
    for name in ("b", "a"):
        await kube.make(kube.maps, {"metadata": {"name": name, "labels": {"of": "test"}}})
    listed = await kube.get(kube.maps, labelSelector="of=test")
    assert [config_map["metadata"]["name"] for config_map in listed["items"]] == ["a", "b"]
    assert (listed["kind"], listed["apiVersion"]) == ("ConfigMapList", "v1")
    assert "kind" not in listed["items"][0]


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("app=x", ["a"]),
        ("app!=x", ["b", "c"]),
        ("app in (x, y)", ["a", "b"]),
        ("app notin (x)", ["b", "c"]),
        ("app,tier", ["b"]),
        ("!app,test", ["c"]),
    ],
)
async def test_labels_select(kube: Talk, selector: str, names: list[str]) -> None:
    labels: dict[str, dict[str, str]] = {
        "a": {"app": "x"},
        "b": {"app": "y", "tier": "1"},
        "c": {},
    }
    for name, own in labels.items():
        await kube.make(kube.maps, {"metadata": {"name": name, "labels": {"test": "1", **own}}})
    listed = await kube.get(kube.maps, labelSelector=f"test,{selector}")
    assert [config_map["metadata"]["name"] for config_map in listed["items"]] == names


async def test_a_field_selects(kube: Talk) -> None:
    for name in ("a", "b"):
        await kube.make(kube.maps, {"metadata": {"name": name}})
    listed = await kube.get(kube.maps, fieldSelector="metadata.name=b")
    assert [config_map["metadata"]["name"] for config_map in listed["items"]] == ["b"]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({"labelSelector": "a in (b"}, 400),
        ({"fieldSelector": "spec.nothing=1"}, 400),
        ({"resourceVersion": "abc"}, 400),
        ({"resourceVersion": "9999999999"}, 504),
    ],
)
async def test_a_wrong_list_is_refused(kube: Talk, query: dict[str, str], code: int) -> None:
    status, answer = await kube.send("GET", kube.jobs, **query)
    assert (status, answer["code"], answer["kind"]) == (code, code, "Status")


REFUSED: list[tuple[str, Object, int, str]] = [
    ("twice", {"metadata": {"name": "there"}}, 409, "AlreadyExists"),
    ("no name", {"metadata": {}}, 422, "Invalid"),
    ("bad name", {"metadata": {"name": "A_b"}}, 422, "Invalid"),
    ("bad label", {"metadata": {"name": "a", "labels": {"a b": "c"}}}, 422, "Invalid"),
    ("bad annotation", {"metadata": {"name": "a", "annotations": {"a~b": "c"}}}, 422, "Invalid"),
    ("other kind", {"kind": "Pod", "metadata": {"name": "a"}}, 400, "BadRequest"),
    ("other version", {"apiVersion": "v2", "metadata": {"name": "a"}}, 400, "BadRequest"),
    ("other namespace", {"metadata": {"name": "a", "namespace": "x"}}, 400, "BadRequest"),
]


@pytest.mark.parametrize(
    ("body", "code", "reason"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
async def test_a_wrong_object_is_not_made(kube: Talk, body: Object, code: int, reason: str) -> None:
    await kube.make(kube.maps, {"metadata": {"name": "there"}})
    status, answer = await kube.send("POST", kube.maps, body)
    assert (status, answer["code"], answer["reason"]) == (code, code, reason)


async def test_nothing_is_made_in_a_namespace_that_is_not_there(kube: Talk) -> None:
    path = "/api/v1/namespaces/nowhere/configmaps"
    status, answer = await kube.send("POST", path, {"metadata": {"name": "a"}})
    assert (status, answer["reason"]) == (404, "NotFound")
    assert answer["details"] == {"name": "nowhere", "kind": "namespaces"} | answer["details"]


@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
async def test_what_is_not_there_is_not_found(kube: Talk, method: str) -> None:
    body = {"data": {"k": "v"}} if method == "PATCH" else None
    content = MERGE_PATCH if method == "PATCH" else "application/json"
    status, answer = await kube.send(method, f"{kube.maps}/absent", body, content)
    assert (status, answer["reason"], answer["details"]["kind"]) == (404, "NotFound", "configmaps")


async def test_a_write_on_an_older_version_conflicts(kube: Talk) -> None:
    made = await kube.make(kube.maps, {"metadata": {"name": "a"}})
    await kube.merge(f"{kube.maps}/a", {"data": {"k": "v"}})
    status, answer = await kube.send("PUT", f"{kube.maps}/a", {**made, "data": {"k": "late"}})
    assert (status, answer["reason"]) == (409, "Conflict")
    version = {"metadata": {"resourceVersion": made["metadata"]["resourceVersion"]}}
    status, answer = await kube.send("PATCH", f"{kube.maps}/a", version, MERGE_PATCH)
    assert (status, answer["reason"]) == (409, "Conflict")


async def test_a_namesake_is_not_written(kube: Talk) -> None:
    await kube.make(kube.jobs, job("a", suspend=True))
    other = {"metadata": {"uid": "other-uid", "annotations": {"k": "v"}}}
    patched, answer = await kube.send("PATCH", f"{kube.jobs}/a", other, MERGE_PATCH)
    assert (patched, answer["reason"]) == (422, "Invalid")
    status = {"metadata": {"uid": "other-uid"}, "status": {"active": 1}}
    patched, _ = await kube.send("PATCH", f"{kube.jobs}/a/status", status, MERGE_PATCH)
    assert patched == 422
    body = job("a", suspend=True)
    body["metadata"]["uid"] = "other-uid"
    put, answer = await kube.send("PUT", f"{kube.jobs}/a", body)
    assert (put, answer["reason"]) == (409, "Conflict")


async def test_a_stale_version_is_reported_before_a_wrong_uid(kube: Talk) -> None:
    await kube.make(kube.jobs, job("a", suspend=True))
    both = {"metadata": {"uid": "other-uid", "resourceVersion": "1"}}
    assert (await kube.send("PATCH", f"{kube.jobs}/a", both, MERGE_PATCH))[0] == 409


async def test_what_the_server_writes_cannot_be_written(kube: Talk) -> None:
    made = (await kube.make(kube.jobs, job("a", suspend=True)))["metadata"]
    patch = {"metadata": {"generation": 7, "creationTimestamp": None, "deletionTimestamp": None}}
    left = (await kube.merge(f"{kube.jobs}/a", patch))["metadata"]
    assert left["generation"] == made["generation"] == 1
    assert left["creationTimestamp"] == made["creationTimestamp"]


async def test_generation_counts_changes_of_the_spec_only(kube: Talk) -> None:
    await kube.make(kube.jobs, job("a", suspend=True))
    labelled = await kube.merge(f"{kube.jobs}/a", {"metadata": {"labels": {"k": "v"}}})
    widened = await kube.merge(f"{kube.jobs}/a", {"spec": {"parallelism": 2}})
    assert [obj["metadata"]["generation"] for obj in (labelled, widened)] == [1, 2]


async def test_a_lease_is_made_by_putting_it(kube: Talk) -> None:
    path = f"{kube.leases}/a"
    lease = {"metadata": {"name": "a"}, "spec": {"holderIdentity": "me"}}
    assert (await kube.send("PUT", path, lease))[0] in (200, 201)
    assert (await kube.get(path))["spec"]["holderIdentity"] == "me"


async def test_a_path_that_leads_nowhere_is_404(kube: Talk) -> None:
    await kube.make(kube.jobs, job("a", suspend=True))
    for path in (f"{kube.jobs}/a/nothing", f"{kube.maps}s", "/apis/batch/v9/jobs"):
        answer = await kube.api.request("GET", path)
        assert answer.status == 404


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/livez"])
async def test_the_server_says_that_it_is_well(kube: Talk, path: str) -> None:
    answer = await kube.api.request("GET", path)
    assert (answer.status, answer.body) == (200, b"ok")


async def test_the_server_says_what_it_serves(kube: Talk) -> None:
    rows = (await kube.get("/apis/batch/v1"))["resources"]
    row = next(row for row in rows if row["name"] == "jobs")
    assert (row["kind"], row["namespaced"]) == ("Job", True)
    assert set(row["verbs"]) >= {"create", "delete", "get", "list", "patch", "update", "watch"}
    assert "jobs/status" in [row["name"] for row in rows]
    assert (await kube.get("/version"))["major"] == "1"
