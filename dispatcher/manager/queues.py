"""LocalQueues that lead to worker clusters, and the condition by which policies see that.

A LocalQueue is looked at when it changed, or its ClusterQueue's checks did; the counts in their
statuses change with every admission and cost one look-up each.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container, Iterable
from random import Random

from dispatcher import api as calls
from dispatcher.informer import Informer
from dispatcher.manager.conditions import queue_patch
from tidegate.errors import TidegateError
from tidegate.jobs.kind import Object
from tidegate.kinds.names import API_VERSION
from tidegate.kinds.times import rfc3339
from tidegate.kube.ports import KubernetesApi
from tidegate.service.logs import get_log

_KUEUE = f"/apis/{API_VERSION}"
_AGAIN_S = 5.0
_log = get_log("queues")


class Queues:
    """The present LocalQueues and ClusterQueues."""

    def __init__(self, api: KubernetesApi, random: Random, now_us: Callable[[], int]) -> None:
        self._api, self._random, self._now_us = api, random, now_us
        self._checks: Container[str] | None = None  # MultiKueue's; None: not known yet
        self._due, self._news = set[str](), asyncio.Event()
        self._named = dict[str, tuple[str, ...]]()  # checks by ClusterQueue
        self._cluster_queues = Informer(api, f"{_KUEUE}/clusterqueues", self._on_cluster_queue)
        self._local_queues = Informer(api, f"{_KUEUE}/localqueues", self._on_local_queue)

    def set_checks(self, checks: frozenset[str]) -> None:
        """Note the names of MultiKueue's admission checks."""
        if checks != self._checks:
            self._checks = checks
            self._enqueue(self._local_queues.items)

    async def run(self) -> None:
        """Watch for ever, and set on each LocalQueue the condition about its worker clusters."""
        async with asyncio.TaskGroup() as tasks:
            for informer in (self._cluster_queues, self._local_queues):
                tasks.create_task(informer.run(self._random))
            tasks.create_task(self._run_worker())

    def _on_local_queue(self, key: str) -> None:
        self._enqueue((key,))

    def _on_cluster_queue(self, name: str) -> None:
        named = self._checks_of(name)
        if self._named.get(name) == named:
            return
        self._named[name] = named
        queues = self._local_queues.items.items()
        self._enqueue([key for key, queue in queues if _cluster_queue_of(queue) == name])

    def _enqueue(self, keys: Iterable[str]) -> None:
        self._due.update(keys)
        self._news.set()

    async def _run_worker(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            if self._checks is None or not self._cluster_queues.complete:
                continue
            due, self._due = self._due, set()
            for key in sorted(due):
                await self._reconcile_queue(key, self._checks)

    async def _reconcile_queue(self, key: str, checks: Container[str]) -> None:
        queue = self._local_queues.items.get(key)
        if queue is None:
            return
        named = self._checks_of(_cluster_queue_of(queue))
        away = any(name in checks for name in named)
        body = queue_patch(queue, remote=away, at=rfc3339(self._now_us()))
        if not body:
            return
        namespace, _, name = key.partition("/")
        try:
            path = f"{_KUEUE}/namespaces/{namespace}/localqueues/{name}/status"
            await calls.patch(self._api, path, body, queue)
        except TidegateError as error:
            _log.warning("status not written", queue=key, error=str(error))
            asyncio.get_running_loop().call_later(_AGAIN_S, self._on_local_queue, key)

    def _checks_of(self, cluster_queue: str) -> tuple[str, ...]:
        obj: Object = self._cluster_queues.items.get(cluster_queue, {})
        strategy = obj.get("spec", {}).get("admissionChecksStrategy") or {}
        return tuple(rule["name"] for rule in strategy.get("admissionChecks") or ())


def _cluster_queue_of(queue: Object) -> str:
    """Return the name of a LocalQueue's ClusterQueue; empty if it has none yet, as it may."""
    name = (queue.get("spec") or {}).get("clusterQueue")
    return str(name) if name else ""
