"""A CRD's resource is served with its schema: pruned, defaulted, checked, in every version."""

from __future__ import annotations

import secrets

import pytest

from tests.cluster.conftest import Things
from tests.cluster.talking import CRDS, Object, Talk, condition_status, crd, eventually
from tidegate.kube.ports import MERGE_PATCH


async def test_a_definition_is_established(kube: Talk, things: Things) -> None:
    obj = await kube.until(
        things.name, lambda definition: condition_status(definition, "Established") == "True"
    )
    assert condition_status(obj, "NamesAccepted") == "True"
    assert obj["status"]["storedVersions"] == ["v1"]
    assert obj["spec"]["names"]["listKind"].endswith("List")


async def test_defaults_are_filled_in_at_every_depth(kube: Talk, things: Things) -> None:
    made = await kube.make(things.path, things.one("a", spec={"parts": [{"name": "x"}]}))
    assert made["spec"] == {"size": 3, "parts": [{"name": "x", "count": 1}]}


async def test_what_the_schema_does_not_know_is_dropped(kube: Talk, things: Things) -> None:
    spec = {"size": 1, "other": 1, "free": {"any": [1, {"thing": None}]}, "labels": {"a": "b"}}
    made = await kube.make(things.path, things.one("a", spec=spec, more=1))
    kept = {key: value for key, value in spec.items() if key != "other"}
    assert made["spec"] == kept
    assert "more" not in made


async def test_a_strict_write_refuses_what_would_be_dropped(kube: Talk, things: Things) -> None:
    body = things.one("a", spec={"size": 1, "other": 1})
    status, answer = await kube.send("POST", things.path, body, fieldValidation="Strict")
    assert status == 400
    assert 'unknown field "spec.other"' in answer["message"]


async def test_nulls_go_unless_they_are_allowed(kube: Talk, things: Things) -> None:
    spec = {"size": None, "color": None, "maybe": None}
    made = await kube.make(things.path, things.one("a", spec=spec))
    assert made["spec"] == {"size": 3, "maybe": None}


WRONG: list[tuple[str, object, str]] = [
    ("type", {"size": "one"}, "spec.size"),
    ("enum", {"color": "green"}, "spec.color"),
    ("minimum", {"size": 0}, "spec.size"),
    ("maximum", {"size": 10}, "spec.size"),
    ("pattern", {"code": "ABC"}, "spec.code"),
    ("length", {"code": "abcdef"}, "spec.code"),
    ("count", {"parts": [{"name": "a"}, {"name": "b"}, {"name": "c"}]}, "spec.parts"),
    ("twice", {"parts": [{"name": "a"}, {"name": "a"}]}, "spec.parts[1]"),
    ("required", {"parts": [{}]}, "spec.parts[0].name"),
    ("either", {"amount": True}, "spec.amount"),
    ("value", {"labels": {"a": 1}}, "spec.labels.a"),
    ("object", [], "spec"),
]


@pytest.mark.parametrize(
    ("spec", "field"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG]
)
async def test_what_breaks_the_schema_is_refused_and_named(
    kube: Talk, things: Things, spec: object, field: str
) -> None:
    status, answer = await kube.send("POST", things.path, things.one("a", spec=spec))
    assert (status, answer["reason"]) == (422, "Invalid"), answer
    assert field in [cause["field"] for cause in answer["details"]["causes"]]


@pytest.mark.parametrize("spec", [{"amount": 1}, {"amount": "1"}, {"size": 9, "color": "red"}])
async def test_what_keeps_the_schema_is_taken(kube: Talk, things: Things, spec: Object) -> None:
    made = await kube.make(things.path, things.one("a", spec=spec))
    assert made["spec"] == {"size": 3, **spec}


async def test_status_and_the_rest_are_written_apart(kube: Talk, things: Things) -> None:
    body = things.one("a", spec={"size": 1}, status={"at": "creation"})
    made = await kube.make(things.path, body)
    assert "status" not in made
    path = f"{things.path}/a"
    changed = await kube.merge(
        f"{path}/status",
        {"metadata": {"labels": {"a": "b"}}, "spec": {"size": 2}, "status": {"ready": True}},
    )
    assert (changed["spec"], changed["status"]) == ({"size": 1}, {"ready": True})
    assert "labels" not in changed["metadata"]
    changed = await kube.merge(path, {"spec": {"size": 2}, "status": {"ready": False}})
    assert (changed["spec"], changed["status"]) == ({"size": 2}, {"ready": True})
    assert changed["metadata"]["generation"] == 2


async def test_a_custom_object_is_not_put_without_a_version(kube: Talk, things: Things) -> None:
    made = await kube.make(things.path, things.one("a", spec={"size": 1}))
    bare = things.one("a", spec={"size": 2})
    status, answer = await kube.send("PUT", f"{things.path}/a", bare)
    assert (status, answer["reason"]) == (422, "Invalid")
    status, changed = await kube.send("PUT", f"{things.path}/a", {**made, "spec": {"size": 2}})
    assert (status, changed["spec"]) == (200, {"size": 2})


async def test_a_custom_list_names_the_kind_of_each_item(kube: Talk, things: Things) -> None:
    await kube.make(things.path, things.one("a", spec={"size": 1}))
    listed = await kube.get(things.path)
    assert listed["items"][0]["kind"] == things.crd["spec"]["names"]["kind"]


async def test_a_namesake_of_a_custom_object_is_not_written(kube: Talk, things: Things) -> None:
    await kube.make(things.path, things.one("a", spec={"size": 1}))
    other = {"metadata": {"uid": "other-uid"}, "spec": {"size": 2}}
    status, answer = await kube.send("PATCH", f"{things.path}/a", other, MERGE_PATCH)
    assert (status, answer["reason"]) == (422, "Invalid")


async def test_a_second_version_is_another_view_of_the_same_objects(kube: Talk) -> None:
    objects = Things(kube, f"views{secrets.token_hex(4)}", {"type": "object", "properties": {}})
    first = objects.crd["spec"]["versions"][0]
    for version in ("v1", "v2"):
        size: Object = {"type": "integer", "default": 7} if version == "v2" else {"type": "integer"}
        spec = {"type": "object", "properties": {"size": size}}
        schema = {"type": "object", "properties": {"spec": spec}}
        row = {**first, "name": version, "schema": {"openAPIV3Schema": schema}}
        objects.crd["spec"]["versions"].append(row | {"storage": version == "v1"})
    del objects.crd["spec"]["versions"][0]
    await objects.define()
    newer = objects.path.replace("/v1/", "/v2/")
    await eventually(lambda: kube.send("GET", newer), lambda got: got[0] == 200)
    await kube.make(objects.path, objects.one("a", spec={}))
    await kube.make(newer, objects.one("b", spec={}) | {"apiVersion": "example.com/v2"})
    seen = {obj["metadata"]["name"]: obj for obj in (await kube.get(newer))["items"]}
    assert {obj["apiVersion"] for obj in seen.values()} == {"example.com/v2"}
    assert (seen["a"]["spec"], seen["b"]["spec"]) == ({}, {"size": 7})  # defaults come on writing
    assert (await kube.get(f"{objects.path}/b"))["spec"] == {"size": 7}
    await kube.remove(objects.name)


async def test_a_definition_that_goes_takes_its_objects_along(kube: Talk) -> None:
    objects = Things(kube, f"gone{secrets.token_hex(4)}", {"type": "object"})
    await objects.define()
    await kube.make(objects.path, objects.one("a"))
    await kube.remove(objects.name)
    await kube.until_gone(objects.name)
    await kube.until_gone(f"{objects.path}/a")


@pytest.mark.parametrize("field", ["apiVersion", "kind"])
async def test_a_custom_object_says_what_it_is(kube: Talk, things: Things, field: str) -> None:
    body = things.one("a", spec={"size": 1})
    del body[field]
    status, answer = await kube.send("POST", things.path, body)
    assert (status, answer["reason"]) == (400, "BadRequest")


@pytest.mark.parametrize("field", ["scope", "versions", "names"])
async def test_a_wrong_definition_is_refused(kube: Talk, field: str) -> None:
    wrong: Object = {"scope": "Nowhere", "versions": [], "names": {"plural": "others", "kind": "O"}}
    body = crd("wrongs", {"type": "object"})
    body["spec"][field] = wrong[field]
    status, answer = await kube.send("POST", CRDS, body)
    assert (status, answer["reason"]) == (422, "Invalid")
