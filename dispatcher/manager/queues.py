"""LocalQueues that lead to worker clusters, and the condition by which policies see that.

A LocalQueue is looked at when it changed, or its ClusterQueue's checks did; the counts in their
statuses change with every admission and cost one look-up each.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from random import Random

from dispatcher import api as calls
from dispatcher.informer import Informer, key_of
from dispatcher.manager.conditions import queue_patch
from tidegate.errors import TidegateError
from tidegate.jobs.kind import Object
from tidegate.kinds.names import API_VERSION
from tidegate.kinds.times import rfc3339
from tidegate.kube.ports import KubernetesApi
from tidegate.service.logs import get_log

_KUEUE = f"/apis/{API_VERSION}"
_AGAIN_S = 5.0
_SELF, _CHECK, _QUEUE = "self/", "check/", "queue/"
"""What objects are indexed by: their own key, an admission check, a ClusterQueue."""
_log = get_log("queues")


class Queues:
    """The present LocalQueues and ClusterQueues."""

    def __init__(self, api: KubernetesApi, random: Random, now_us: Callable[[], int]) -> None:
        self._api, self._random, self._now_us = api, random, now_us
        self._checks, self._begun = set[str](), asyncio.Event()  # MultiKueue's; they are known
        self._due, self._news = set[str](), asyncio.Event()
        self._named = dict[str, tuple[str, ...]]()  # checks by ClusterQueue, if it has any
        self._cluster_queues = Informer(
            api,
            f"{_KUEUE}/clusterqueues",
            self._on_cluster_queue,
            index=lambda obj: (_SELF + key_of(obj), *(_CHECK + name for name in _checks_of(obj))),
        )
        self._local_queues = Informer(
            api,
            f"{_KUEUE}/localqueues",
            self._on_local_queue,
            index=lambda obj: (_SELF + key_of(obj), _QUEUE + _cluster_queue_of(obj)),
        )

    def set_check(self, name: str, *, remote: bool) -> None:
        """Note whether an admission check is MultiKueue's."""
        if remote == (name in self._checks):
            return
        if remote:
            self._checks.add(name)
        else:
            self._checks.discard(name)
        for cluster_queue in self._cluster_queues.indexed.get(_CHECK + name, ()):
            self._enqueue_queues_of(cluster_queue)

    def begin(self) -> None:
        """Set conditions from now on: all checks are known."""
        self._begun.set()

    async def run(self) -> None:
        """Watch for ever, and set on each LocalQueue the condition about its worker clusters."""
        async with asyncio.TaskGroup() as tasks:
            for informer in (self._cluster_queues, self._local_queues):
                tasks.create_task(informer.run(self._random))
            tasks.create_task(self._run_worker())

    def _on_local_queue(self, changed: str) -> None:
        if changed.startswith(_SELF):
            self._enqueue((changed.removeprefix(_SELF),))

    def _on_cluster_queue(self, changed: str) -> None:
        if not changed.startswith(_SELF):
            return
        name = changed.removeprefix(_SELF)
        named = _checks_of(self._cluster_queues.items.get(name, {}))
        if self._named.get(name, ()) != named:
            self._enqueue_queues_of(name)
        self._named.pop(name, None)
        if named:
            self._named[name] = named

    def _enqueue_queues_of(self, cluster_queue: str) -> None:
        self._enqueue(self._local_queues.indexed.get(_QUEUE + cluster_queue, ()))

    def _enqueue(self, keys: Iterable[str]) -> None:
        self._due.update(keys)
        self._news.set()

    async def _run_worker(self) -> None:
        await self._begun.wait()
        while True:
            await self._news.wait()
            self._news.clear()
            if not self._cluster_queues.complete:
                continue
            due, self._due = self._due, set()
            for key in sorted(due):
                await self._reconcile_queue(key)

    async def _reconcile_queue(self, key: str) -> None:
        queue = self._local_queues.items.get(key)
        if queue is None:
            return
        named = self._named.get(_cluster_queue_of(queue), ())
        away = any(name in self._checks for name in named)
        body = queue_patch(queue, remote=away, at=rfc3339(self._now_us()))
        if not body:
            return
        namespace, _, name = key.partition("/")
        try:
            path = f"{_KUEUE}/namespaces/{namespace}/localqueues/{name}/status"
            await calls.patch(self._api, path, body, queue)
        except TidegateError as error:
            _log.warning("status not written", queue=key, error=str(error))
            asyncio.get_running_loop().call_later(_AGAIN_S, self._enqueue, (key,))


def _checks_of(cluster_queue: Object) -> tuple[str, ...]:
    """Return the names of a ClusterQueue's admission checks."""
    strategy = cluster_queue.get("spec", {}).get("admissionChecksStrategy") or {}
    return tuple(rule["name"] for rule in strategy.get("admissionChecks") or ())


def _cluster_queue_of(queue: Object) -> str:
    """Return the name of a LocalQueue's ClusterQueue; empty if it has none yet, as it may."""
    name = (queue.get("spec") or {}).get("clusterQueue")
    return str(name) if name else ""
