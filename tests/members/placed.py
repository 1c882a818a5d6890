"""Jobs that a LocalQueue of the hub lets run in any member, and what is waited for of them."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress

import msgspec
import nats

from tests.e2e.cast import events_of, until
from tests.members.leaves import HUB
from tests.members.stage import (
    JOBS,
    KUEUE,
    NAMESPACE,
    QUEUE,
    Object,
    World,
    change,
    is_complete,
    listed,
    send,
)
from tidegate.bus.streams import stream_names
from tidegate.contracts.decisions import WorkloadPending
from tidegate.contracts.fact_kinds.clusters import RemoteClusterChanged
from tidegate.kinds import names
from tidegate.kube.client import KubernetesClient

QUEUES = f"{KUEUE}/namespaces/{NAMESPACE}/localqueues"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
PATIENCE_S = 240.0


async def place(world: World) -> None:
    """Let jobs of the queue run in any cluster, and let west's namespace take them."""
    placed = {"metadata": {"annotations": {names.PLACEMENT: "any"}}}
    await change(world.apis[HUB], f"{QUEUES}/{QUEUE}", placed)
    local: Object = {"apiVersion": KUEUE.removeprefix("/apis/"), "kind": "LocalQueue"}
    meta = {"name": QUEUE, **placed["metadata"]}
    await send(
        world.apis["east"], QUEUES, local | {"metadata": meta, "spec": {"clusterQueue": QUEUE}}
    )
    accepts = {"metadata": {"labels": {names.ACCEPTS_PLACED: "true"}}}
    await change(world.apis["west"], f"/api/v1/namespaces/{NAMESPACE}", accepts)


def is_active(job: Object) -> bool:
    """Return whether a Job has pods."""
    return bool(job.get("status", {}).get("active"))


class Jobs:
    """The objects of one path in every cluster, and what is waited for of one of them."""

    def __init__(self, world: World, path: str = JOBS) -> None:
        self._world, self._path = world, path

    async def read(self, cluster: str, name: str) -> Object | None:
        """Return one of a cluster; None: it is not there."""
        answer = await self._world.apis[cluster].request("GET", f"{self._path}/{name}")
        if answer.status == 404:
            return None
        assert answer.status == 200, answer.body
        document: Object = msgspec.json.decode(answer.body)
        return document

    async def until(
        self, cluster: str, name: str, holds: Callable[[Object], bool], what: str
    ) -> Object:
        """Wait until one of a cluster is as it shall be, and return it."""
        documents = list[Object]()

        async def seen() -> bool:
            job = await self.read(cluster, name)
            if job is not None and holds(job):
                documents.append(job)
            return bool(documents)

        await until(seen, f"{name} in {cluster}: {what}", PATIENCE_S)
        return documents[0]

    async def runs(self, cluster: str, name: str) -> Object:
        return await self.until(cluster, name, is_active, "it runs")

    async def completes(self, cluster: str, name: str) -> Object:
        return await self.until(cluster, name, is_complete, "it is complete")

    async def gone(self, cluster: str) -> None:
        """Wait until a cluster has none."""

        async def seen() -> bool:
            return not await listed(self._world.apis[cluster], self._path)

        await until(seen, f"nothing is left in {cluster}", PATIENCE_S)

    async def delete(self, cluster: str, name: str) -> None:
        """Delete one as a tenant does."""
        options = b'{"propagationPolicy":"Background"}'
        path = f"{self._path}/{name}"
        answer = await self._world.apis[cluster].request("DELETE", path, body=options)
        assert answer.status == 200, answer.body


async def until_heard(world: World, member: str, *, heard: bool) -> None:
    """Wait until the ledger's last word of a member is that it is heard of, or silent."""

    async def holds() -> bool:
        events = await asyncio.to_thread(events_of, world.ledger, RemoteClusterChanged)
        last = [event.connected for event in events if event.cluster == f"@{member}"][-1:]
        return last == [heard]

    await until(holds, f"{member} is {'heard of' if heard else 'silent'}", PATIENCE_S)


async def until_waits(world: World, job: str, reason: str) -> None:
    """Wait until the ledger says why a job of a home waits."""

    async def holds() -> bool:
        events = await asyncio.to_thread(events_of, world.ledger, WorkloadPending)
        return any(event.reason == reason and f"job-{job}" in event.workload for event in events)

    await until(holds, f"{job} waits: {reason}", PATIENCE_S)


async def until_no_bodies(world: World, member: str) -> None:
    """Wait until the bus has no body of a member's jobs any more."""
    prefix = stream_names(HUB).inbox("scheduler").encode()
    client = await nats.connect(world.servers.url(HUB, "scheduler"), inbox_prefix=prefix)

    async def holds() -> bool:
        stream_info = await client.jetstream().stream_info(stream_names(member).bodies)
        return not stream_info.state.messages

    try:
        await until(holds, f"no body of {member} is left", PATIENCE_S)
    finally:
        await client.close()


@asynccontextmanager
async def pods_seen(world: World) -> AsyncGenerator[dict[str, set[tuple[str, str]]]]:
    """Note each pod that any cluster ever has, until the block ends: cluster and uid by its Job."""
    seen = defaultdict[str, set[tuple[str, str]]](set)
    versions = {cluster: await _version(api) for cluster, api in world.apis.items()}
    following = [
        asyncio.create_task(_follow(api, cluster, versions[cluster], seen))
        for cluster, api in world.apis.items()
    ]
    try:
        yield seen
        assert not any(task.done() for task in following), "each watch lasts"
    finally:
        for task in following:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def _version(api: KubernetesClient) -> str:
    answer = await api.request("GET", PODS)
    assert answer.status == 200, answer.body
    version: str = msgspec.json.decode(answer.body)["metadata"]["resourceVersion"]
    return version


async def _follow(
    api: KubernetesClient, cluster: str, version: str, seen: dict[str, set[tuple[str, str]]]
) -> None:
    query = {"resourceVersion": version, "timeoutSeconds": "3000"}
    async with api.watch(PODS, query) as lines:
        async for line in lines:
            meta = msgspec.json.decode(line)["object"]["metadata"]
            seen[meta["ownerReferences"][0]["name"]].add((cluster, meta["uid"]))
