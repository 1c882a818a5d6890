"""Runs the controllers: each change makes keys due, and a step handles those that are due.

With a delay given, each key waits that long after the change that made it due, so a simulation can
let a Job controller be slow. Nothing here reads a clock but the registry's.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from typing import Any

from apiserver.api import EmbeddedApi
from apiserver.controllers.garbage import sync_definition, sync_namespace, sync_owner
from apiserver.controllers.index import Index
from apiserver.controllers.job_pods import is_tracked, remove_tracking
from apiserver.controllers.jobs import sync_job
from apiserver.controllers.kubelets import Kubelets
from apiserver.controllers.scheduling import needs_node, schedule_pods
from apiserver.resources import CRDS, JOBS, NAMESPACES, NODES, PODS
from apiserver.state import Change

Key = tuple[str, str, str]  # which controller, namespace, name
Object = dict[str, Any]
_ENDS = {NAMESPACES.key: "namespace", CRDS.key: "definition"}
_SCHEDULE: Key = ("schedule", "", "")
_BATCH, _STEPS_MAX = 200, 1_000_000


class DelayingQueue:
    """Each key at most once, the earliest first; equal times in the order of their arrival."""

    def __init__(self) -> None:
        self._times = dict[Key, int]()
        self._heap = list[tuple[int, int, Key]]()
        self._arrivals = count()

    def add(self, key: Key, at_us: int) -> None:
        """Let a key come due at a time, or keep it where it is due earlier."""
        if key not in self._times or at_us < self._times[key]:
            self._times[key] = at_us
            heapq.heappush(self._heap, (at_us, next(self._arrivals), key))

    def next_us(self) -> int | None:
        """Return when the next key comes due; None: nothing waits."""
        while self._heap and self._times.get(self._heap[0][2]) != self._heap[0][0]:
            heapq.heappop(self._heap)  # an earlier time for that key came after
        return self._heap[0][0] if self._heap else None

    def pop(self, now_us: int) -> Key | None:
        """Take the next key that is due by now, or None."""
        at_us = self.next_us()
        if at_us is None or at_us > now_us:
            return None
        key = heapq.heappop(self._heap)[2]
        del self._times[key]
        return key


def _no_delay_us() -> int:
    return 0


class ControllerManager:
    """Job controller, scheduler, kubelets and collector of one embedded API server.

    ``delay_us`` is asked at each change how long its consequences wait.
    """

    def __init__(self, api: EmbeddedApi, *, delay_us: Callable[[], int] = _no_delay_us) -> None:
        self._api, self._registry, self._delay_us = api, api.registry, delay_us
        self._index, self._due = Index(api.registry.state), DelayingQueue()
        self._kubelets = Kubelets(api.registry)
        self._waiting = set[tuple[str, str]]()  # pods for the scheduler
        self._changed: asyncio.Event | None = None
        self._index_existing_objects()
        api.registry.state.listeners.append(self._on_change)

    def add_node(
        self, name: str, *, labels: dict[str, str] | None = None, **capacity: str
    ) -> Object:
        """Create a node that is ready; without a capacity it has 8 cpu, 32Gi and 110 pods."""
        amounts = {"cpu": "8", "memory": "32Gi", "pods": "110"} | capacity
        ready = {"type": "Ready", "status": "True", "reason": "Simulated"}
        node: Object = {"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}}
        node["metadata"]["labels"] |= labels or {}
        node["status"] = {"capacity": amounts, "conditions": [ready]}
        return self._registry.create(NODES, "", node)

    def step(self) -> int | None:
        """Do everything that is due; return when the next is, None: only after a change."""
        for _ in range(_STEPS_MAX):
            if not self._process_next_key():
                return self._due.next_us()
        raise AssertionError(f"the controllers did not come to rest in {_STEPS_MAX} steps")

    async def run(self) -> None:
        """Do what is due when it is due, until cancelled; yields to the loop between batches."""
        while True:
            self._changed = asyncio.Event()
            for _ in range(_BATCH):
                if not self._process_next_key():
                    break
            next_us = self._due.next_us()
            wait_s = None if next_us is None else (next_us - self._registry.now_us()) / 1_000_000
            with suppress(TimeoutError):
                async with asyncio.timeout(None if wait_s is None else max(0.0, wait_s)):
                    await self._changed.wait()

    def close(self) -> None:
        """See no more changes."""
        self._registry.state.listeners.remove(self._on_change)

    def _process_next_key(self) -> bool:
        key = self._due.pop(self._registry.now_us())
        if key is None:
            return False
        again_us = self._reconcile(key)
        if again_us is not None:
            self._due.add(key, again_us)
        return True

    def _reconcile(self, key: Key) -> int | None:
        controller, namespace, name = key
        match controller:
            case "job":
                return sync_job(self._registry, self._index, namespace, name)
            case "pod":
                self._remove_orphan_tracking(namespace, name)
                return self._kubelets.sync(namespace, name)
            case "schedule":
                schedule_pods(self._registry, self._index, self._waiting)
            case "owner":
                sync_owner(self._registry, self._index, name)
            case "namespace":
                sync_namespace(self._registry, name)
            case _:
                sync_definition(self._registry, name)
        return None

    def _remove_orphan_tracking(self, namespace: str, name: str) -> None:
        """Let go of a pod that no Job counts any more."""
        pod = self._registry.state.get(PODS.key, namespace, name)
        if pod is not None and is_tracked(pod):
            owners = pod["metadata"].get("ownerReferences") or ()
            places = [self._index.location_of(o["uid"]) for o in owners if o["kind"] == JOBS.kind]
            jobs = [self._registry.state.get(*place) for place in places if place]
            if not any(job and "deletionTimestamp" not in job["metadata"] for job in jobs):
                remove_tracking(self._registry, [pod])

    def _index_existing_objects(self) -> None:
        for resource in list(self._registry.catalog.stored()):
            for obj in self._registry.state.items(resource.key):
                self._on_change(Change(0, resource.key, None, obj, b""))

    def _on_change(self, change: Change) -> None:
        self._index.update(change)
        at_us = self._registry.now_us() + self._delay_us()
        for key in self._affected_keys(change):
            self._due.add(key, at_us)
        if self._changed is not None:
            self._changed.set()

    def _affected_keys(self, change: Change) -> Iterator[Key]:
        obj = change.after or change.before
        assert obj is not None
        metadata = obj["metadata"]
        namespace, name = metadata.get("namespace", ""), metadata["name"]
        ending = change.after is None or "deletionTimestamp" in metadata
        match change.resource:
            case JOBS.key:
                yield ("job", namespace, name)
            case PODS.key:
                yield from self._pod_keys(obj, namespace, name)
            case NODES.key:
                yield _SCHEDULE
            case _:
                pass
        if ending:
            yield from self._deletion_keys(change, metadata)
        for owner in metadata.get("ownerReferences") or ():
            if ending or not self._index.exists(owner["uid"]):
                yield ("owner", "", owner["uid"])

    def _pod_keys(self, pod: Object, namespace: str, name: str) -> Iterator[Key]:
        yield ("pod", namespace, name)
        if needs_node(pod):
            self._waiting.add((namespace, name))
        if self._waiting:  # a pod that changes may have made room
            yield _SCHEDULE
        for owner in pod["metadata"].get("ownerReferences") or ():
            if owner["kind"] == JOBS.kind:
                yield ("job", namespace, owner["name"])

    def _deletion_keys(self, change: Change, metadata: Object) -> Iterator[Key]:
        yield ("owner", "", metadata["uid"])
        if change.resource in _ENDS:
            yield (_ENDS[change.resource], "", metadata["name"])
        for _, dependent in self._index.dependents(metadata["uid"]):
            where = dependent["metadata"].get("namespace", ""), dependent["metadata"]["name"]
            yield ("pod", *where)
        if change.after is None:
            namespace = metadata.get("namespace", "")
            yield ("namespace", "", namespace)
            yield ("definition", "", change.resource)
