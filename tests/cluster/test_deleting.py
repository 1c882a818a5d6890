"""What is deleted goes, takes its dependents along or waits for its finalizers, everywhere."""

from __future__ import annotations

import pytest

from tests.cluster.talking import Object, Talk, condition_status, job
from tidegate.kube.ports import MERGE_PATCH

HELD: Object = {"metadata": {"name": "a", "finalizers": ["example.com/hold"]}}


async def test_a_deletion_says_what_went(kube: Talk) -> None:
    made = await kube.make(kube.maps, {"metadata": {"name": "a"}})
    left = await kube.remove(f"{kube.maps}/a")
    assert (left["kind"], left["status"]) == ("Status", "Success")
    assert left["details"]["uid"] == made["metadata"]["uid"]
    assert (await kube.send("GET", f"{kube.maps}/a"))[0] == 404


@pytest.mark.parametrize("field", ["uid", "resourceVersion"])
async def test_a_precondition_that_fails_keeps_the_object(kube: Talk, field: str) -> None:
    await kube.make(kube.maps, {"metadata": {"name": "a"}})
    options = {"preconditions": {field: "1"}}
    status, answer = await kube.send("DELETE", f"{kube.maps}/a", options)
    assert (status, answer["reason"]) == (409, "Conflict")
    await kube.get(f"{kube.maps}/a")


async def test_preconditions_that_hold_let_it_go(kube: Talk) -> None:
    metadata = (await kube.make(kube.maps, {"metadata": {"name": "a"}}))["metadata"]
    wanted = {field: metadata[field] for field in ("uid", "resourceVersion")}
    status, _ = await kube.send("DELETE", f"{kube.maps}/a", {"preconditions": wanted})
    assert status == 200


async def test_a_finalizer_holds_an_object(kube: Talk) -> None:
    path = f"{kube.maps}/a"
    made = await kube.make(kube.maps, HELD)
    left = await kube.remove(path)
    assert left["metadata"]["uid"] == made["metadata"]["uid"]
    assert "deletionTimestamp" in left["metadata"]
    again = await kube.remove(path)
    assert again["metadata"]["deletionTimestamp"] == left["metadata"]["deletionTimestamp"]
    await kube.merge(path, {"metadata": {"finalizers": None}})
    assert (await kube.send("GET", path))[0] == 404


async def test_nothing_new_may_hold_what_is_being_deleted(kube: Talk) -> None:
    path = f"{kube.maps}/a"
    await kube.make(kube.maps, HELD)
    await kube.remove(path)
    patch = {"metadata": {"finalizers": ["example.com/hold", "example.com/more"]}}
    status, answer = await kube.send("PATCH", path, patch, MERGE_PATCH)
    assert (status, answer["reason"]) == (422, "Invalid")


async def owned(kube: Talk, owner: Object, name: str, **rest: object) -> Object:
    """Make a ConfigMap that belongs to another."""
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": owner["metadata"]["name"]}
    reference |= {"uid": owner["metadata"]["uid"], **rest}
    return await kube.make(kube.maps, {"metadata": {"name": name, "ownerReferences": [reference]}})


async def test_dependents_go_with_their_owner(kube: Talk) -> None:
    owner = await kube.make(kube.maps, {"metadata": {"name": "a"}})
    await owned(kube, await owned(kube, owner, "child"), "grandchild")
    await kube.remove(f"{kube.maps}/a")
    for name in ("child", "grandchild"):
        await kube.until_gone(f"{kube.maps}/{name}")


async def test_an_object_without_a_living_owner_goes(kube: Talk) -> None:
    ghost: Object = {"metadata": {"name": "ghost", "uid": "00000000-0000-4000-8000-000000000000"}}
    await owned(kube, ghost, "child")
    await kube.until_gone(f"{kube.maps}/child")


async def test_orphans_stay_and_forget_their_owner(kube: Talk) -> None:
    owner = await kube.make(kube.maps, {"metadata": {"name": "a"}})
    await owned(kube, owner, "child")
    await kube.remove(f"{kube.maps}/a", propagationPolicy="Orphan")
    await kube.until_gone(f"{kube.maps}/a")
    assert "ownerReferences" not in (await kube.get(f"{kube.maps}/child"))["metadata"]


async def test_an_owner_may_wait_for_its_dependents(kube: Talk) -> None:
    owner = await kube.make(kube.maps, {"metadata": {"name": "a"}})
    await owned(kube, owner, "child", blockOwnerDeletion=True)
    hold = {"metadata": {"finalizers": ["example.com/hold"]}}
    await kube.merge(f"{kube.maps}/child", hold)
    await kube.remove(f"{kube.maps}/a", propagationPolicy="Foreground")
    await kube.until(f"{kube.maps}/child", lambda obj: "deletionTimestamp" in obj["metadata"])
    waiting = await kube.get(f"{kube.maps}/a")
    assert waiting["metadata"]["finalizers"] == ["foregroundDeletion"]
    await kube.merge(f"{kube.maps}/child", {"metadata": {"finalizers": None}})
    await kube.until_gone(f"{kube.maps}/a")


async def test_a_job_takes_its_pods_along(kube: Talk) -> None:
    await kube.make(kube.jobs, job("a", seconds="3600", parallelism=2, completions=2))
    await kube.until(f"{kube.jobs}/a", lambda obj: obj["status"].get("ready") == 2)
    await kube.remove(f"{kube.jobs}/a")
    await kube.until(kube.pods, lambda pod: pod["items"] == [])


async def test_a_job_keeps_its_pods_by_default(kube: Talk) -> None:
    await kube.make(kube.jobs, job("a"))
    await kube.until(f"{kube.jobs}/a", lambda obj: condition_status(obj, "Complete"))
    assert (await kube.send("DELETE", f"{kube.jobs}/a"))[0] == 200
    await kube.until_gone(f"{kube.jobs}/a")
    (left,) = (await kube.get(kube.pods))["items"]
    assert "ownerReferences" not in left["metadata"]


async def test_a_selection_goes_at_once(kube: Talk) -> None:
    for name, label in (("a", "x"), ("b", "y")):
        await kube.make(kube.maps, {"metadata": {"name": name, "labels": {"of": label}}})
    listed = await kube.remove(kube.maps, labelSelector="of=x")
    assert [config_map["metadata"]["name"] for config_map in listed["items"]] == ["a"]
    assert (await kube.send("GET", f"{kube.maps}/a"))[0] == 404
    await kube.get(f"{kube.maps}/b")


async def test_a_namespace_is_emptied_before_it_goes(kube: Talk) -> None:
    path, inside = f"/api/v1/namespaces/{kube.namespace}", f"{kube.maps}/a"
    await kube.make(kube.maps, HELD)
    await kube.make(kube.jobs, job("a", seconds="3600"))
    left = await kube.remove(path)
    assert (left["kind"], left["status"]["phase"]) == ("Namespace", "Terminating")
    status, answer = await kube.send("POST", kube.maps, {"metadata": {"name": "late"}})
    assert (status, answer["reason"]) == (403, "Forbidden")
    assert answer["details"]["causes"][0]["reason"] == "NamespaceTerminating"
    await kube.until(inside, lambda obj: "deletionTimestamp" in obj["metadata"])
    await kube.merge(inside, {"metadata": {"finalizers": None}})
    await kube.until_gone(path)
