"""Watches tell the same events in the same order on every server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.cluster.conftest import Things
from tests.cluster.talking import Object, Talk
from tidegate.errors import ApiStatusError

WATCHES_S = (5, 10, 20)
"""A busy server may come too late with a bookmark: the next watch lasts longer."""


async def take(events: AsyncIterator[Object], count: int) -> list[tuple[str, str]]:
    """Return the next events as type and name."""
    taken = [await anext(events) for _ in range(count)]
    return [(event["type"], event["object"]["metadata"]["name"]) for event in taken]


async def version(kube: Talk, path: str) -> str:
    resource_version: str = (await kube.get(path))["metadata"]["resourceVersion"]
    return resource_version


async def test_a_watch_tells_what_happens_after_a_version(kube: Talk) -> None:
    await kube.make(kube.leases, {"metadata": {"name": "before"}})
    async with kube.watch(kube.leases, resourceVersion=await version(kube, kube.leases)) as events:
        await kube.make(kube.leases, {"metadata": {"name": "a"}})
        await kube.merge(f"{kube.leases}/a", {"spec": {"holderIdentity": "me"}})
        await kube.remove(f"{kube.leases}/a")
        assert await take(events, 3) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]


async def test_an_event_carries_the_object_and_its_version(kube: Talk) -> None:
    async with kube.watch(kube.leases, resourceVersion=await version(kube, kube.leases)) as events:
        made = await kube.make(
            kube.leases, {"metadata": {"name": "a"}, "spec": {"holderIdentity": "me"}}
        )
        event = await anext(events)
        assert event["object"] == made
        await kube.remove(f"{kube.leases}/a")
        gone = (await anext(events))["object"]
    assert gone["spec"] == {"holderIdentity": "me"}
    assert int(gone["metadata"]["resourceVersion"]) > int(made["metadata"]["resourceVersion"])


async def test_a_watch_without_a_version_tells_first_what_is_there(kube: Talk) -> None:
    for name in ("b", "a"):
        await kube.make(kube.leases, {"metadata": {"name": name, "labels": {"of": "test"}}})
    async with kube.watch(kube.leases, labelSelector="of=test") as events:
        assert sorted(await take(events, 2)) == [("ADDED", "a"), ("ADDED", "b")]
        await kube.merge(f"{kube.leases}/a", {"spec": {"holderIdentity": "me"}})
        assert await take(events, 1) == [("MODIFIED", "a")]


async def test_a_watch_resumes_where_it_ended(kube: Talk) -> None:
    path = kube.leases
    async with kube.watch(path, resourceVersion=await version(kube, path)) as events:
        await kube.make(path, {"metadata": {"name": "a"}})
        last = (await anext(events))["object"]["metadata"]["resourceVersion"]
    await kube.make(path, {"metadata": {"name": "b"}})
    await kube.remove(f"{path}/a")
    async with kube.watch(path, resourceVersion=last) as events:
        assert await take(events, 2) == [("ADDED", "b"), ("DELETED", "a")]


async def test_an_object_that_enters_or_leaves_a_selection_comes_and_goes(kube: Talk) -> None:
    await kube.make(kube.leases, {"metadata": {"name": "a"}})
    at = await version(kube, kube.leases)
    async with kube.watch(kube.leases, resourceVersion=at, labelSelector="in=yes") as events:
        await kube.merge(f"{kube.leases}/a", {"metadata": {"labels": {"in": "yes"}}})
        await kube.merge(f"{kube.leases}/a", {"spec": {"holderIdentity": "me"}})
        await kube.merge(f"{kube.leases}/a", {"metadata": {"labels": {"in": "no"}}})
        assert await take(events, 2) == [("ADDED", "a"), ("MODIFIED", "a")]
        gone = await anext(events)
    assert gone["type"] == "DELETED"
    assert gone["object"]["metadata"]["labels"] == {"in": "yes"}  # as it was when it was in it
    now = await kube.get(f"{kube.leases}/a")
    assert gone["object"]["metadata"]["resourceVersion"] == now["metadata"]["resourceVersion"]


async def test_a_watch_ends_at_its_timeout_with_a_bookmark_before(kube: Talk) -> None:
    await kube.make(kube.leases, {"metadata": {"name": "a"}})
    at = await version(kube, f"{kube.leases}/a")
    query = {"resourceVersion": at, "allowWatchBookmarks": "true"}
    elsewhere = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    await kube.make(elsewhere, {"metadata": {"name": kube.namespace}})
    documents = list[Object]()
    for lasts_s in WATCHES_S:
        async with kube.watch(kube.leases, **query, timeoutSeconds=str(lasts_s)) as events:
            moved = {"spec": {"holderIdentity": f"at-{lasts_s}"}}
            await kube.merge(f"{elsewhere}/{kube.namespace}", moved)  # the resource moves on
            documents = [event async for event in events]
        if documents:
            break
    await kube.remove(f"{elsewhere}/{kube.namespace}")
    assert {event["type"] for event in documents} == {"BOOKMARK"}
    assert int(documents[-1]["object"]["metadata"]["resourceVersion"]) >= int(at)
    assert documents[0]["object"]["kind"] == "Lease"


async def test_a_watch_begins_with_a_list_if_asked_and_marks_its_end(kube: Talk) -> None:
    await kube.make(kube.leases, {"metadata": {"name": "a", "labels": {"of": "test"}}})
    query = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
    query |= {"allowWatchBookmarks": "true", "labelSelector": "of=test"}
    async with kube.watch(kube.leases, **query) as events:
        assert await take(events, 1) == [("ADDED", "a")]
        mark = await anext(events)
    assert mark["type"] == "BOOKMARK"
    assert mark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


async def test_a_version_that_is_forgotten_is_gone(kube: Talk, things: Things) -> None:
    await kube.make(things.path, things.one("a", spec={"size": 1}))
    kube.compact()
    async with kube.watch(things.path, resourceVersion="1") as events:
        current_events = [event async for event in events]
    assert [event["type"] for event in current_events] == ["ERROR"]
    assert (current_events[0]["object"]["code"], current_events[0]["object"]["reason"]) == (
        410,
        "Expired",
    )


async def test_forgetting_does_not_end_a_watch_that_is_open(kube: Talk) -> None:
    async with kube.watch(kube.leases, resourceVersion=await version(kube, kube.leases)) as events:
        await kube.make(kube.leases, {"metadata": {"name": "a"}})
        assert await take(events, 1) == [("ADDED", "a")]
        kube.compact()
        await kube.make(kube.leases, {"metadata": {"name": "b"}})
        assert await take(events, 1) == [("ADDED", "b")]


async def test_a_watch_of_all_namespaces_tells_of_ours(kube: Talk) -> None:
    at = await version(kube, kube.leases)
    query = {"resourceVersion": at, "fieldSelector": f"metadata.namespace={kube.namespace}"}
    async with kube.watch("/apis/coordination.k8s.io/v1/leases", **query) as events:
        await kube.make(kube.leases, {"metadata": {"name": "a"}})
        assert await take(events, 1) == [("ADDED", "a")]


async def test_many_watches_hear_the_same(kube: Talk) -> None:
    at = await version(kube, kube.leases)

    async def hear() -> list[tuple[str, str]]:
        async with kube.watch(kube.leases, resourceVersion=at) as events:
            return await take(events, 20)

    async with asyncio.TaskGroup() as tasks:
        hearers = [tasks.create_task(hear()) for _ in range(5)]
        for number in range(20):
            await kube.make(kube.leases, {"metadata": {"name": f"a{number:02}"}})
    expected = [("ADDED", f"a{number:02}") for number in range(20)]
    assert [hearer.result() for hearer in hearers] == [expected] * 5


async def test_a_watch_of_nothing_is_refused(kube: Talk) -> None:
    with pytest.raises(ApiStatusError) as caught:
        async with kube.watch("/apis/batch/v1/nothing"):
            pass
    assert caught.value.status == 404
