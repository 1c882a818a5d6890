"""MultiKueue's admission checks, and their condition Active.

A check is looked at when it changed, or its configuration, or one of that one's clusters.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from random import Random

from dispatcher import api as calls
from dispatcher.informer import Informer, key_of
from dispatcher.manager.conditions import check_patch, config_name, is_multikueue_check
from dispatcher.manager.queues import Queues
from tidegate.errors import TidegateError
from tidegate.jobs.kind import Object
from tidegate.kinds.names import API_VERSION
from tidegate.kinds.times import rfc3339
from tidegate.kube.ports import KubernetesApi
from tidegate.service.logs import get_log

_KUEUE = f"/apis/{API_VERSION}"
_AGAIN_S, _POLL_S = 5.0, 0.2
_SELF, _CONFIG, _CLUSTER = "self/", "config/", "cluster/"
"""What objects are indexed by: their own name, a MultiKueueConfig, a MultiKueueCluster."""
_log = get_log("home")


class Checks:
    """The present AdmissionChecks and MultiKueueConfigs."""

    def __init__(
        self, api: KubernetesApi, now_us: Callable[[], int], clusters: Informer, queues: Queues
    ) -> None:
        """``clusters`` are the MultiKueueClusters; ``queues`` hears which checks are MultiKueue's.

        Whatever changes a cluster is to call ``on_cluster``.
        """
        self._api, self._now_us = api, now_us
        self._clusters, self._queues = clusters, queues
        self._usable = set[str]()
        self._due, self._news = set[str](), asyncio.Event()
        self.configs = Informer(
            api,
            f"{_KUEUE}/multikueueconfigs",
            self._on_config,
            index=lambda obj: (
                _SELF + key_of(obj),
                *(_CLUSTER + name for name in clusters_of(obj)),
            ),
        )
        self.checks = Informer(
            api,
            f"{_KUEUE}/admissionchecks",
            self._on_check,
            index=lambda obj: (_SELF + key_of(obj), _CONFIG + config_name(obj)),
        )

    @property
    def complete(self) -> bool:
        """Return whether everything was listed once."""
        return self.configs.complete and self.checks.complete

    def set_usable(self, cluster: str, *, usable: bool) -> None:
        """Note whether a cluster answers."""
        if usable == (cluster in self._usable):
            return
        if usable:
            self._usable.add(cluster)
        else:
            self._usable.discard(cluster)
        self.on_cluster(cluster)

    def on_cluster(self, cluster: str) -> None:
        """Look at the checks of a cluster that changed."""
        for config in self.configs.indexed.get(_CLUSTER + cluster, ()):
            self._enqueue(self.checks.indexed.get(_CONFIG + config, ()))

    async def run(self, random: Random) -> None:
        """Watch for ever, and set the condition of each check."""
        async with asyncio.TaskGroup() as tasks:
            for informer in (self.configs, self.checks):
                tasks.create_task(informer.run(random))
            tasks.create_task(self._run_worker())

    def _on_check(self, changed: str) -> None:
        if changed.startswith(_SELF):
            self._enqueue((changed.removeprefix(_SELF),))

    def _on_config(self, changed: str) -> None:
        if changed.startswith(_SELF):
            name = changed.removeprefix(_SELF)
            self._enqueue(self.checks.indexed.get(_CONFIG + name, ()))

    def _enqueue(self, names: Iterable[str]) -> None:
        self._due.update(names)
        self._news.set()

    async def _run_worker(self) -> None:
        while not (self.complete and self._clusters.complete):  # noqa: ASYNC110 - once, at a start
            await asyncio.sleep(_POLL_S)
        while True:
            due, self._due = self._due, set()
            for name in due:
                check = self.checks.items.get(name)
                self._queues.set_check(
                    name, remote=check is not None and is_multikueue_check(check)
                )
            self._queues.begin()
            for name in sorted(due):
                await self._reconcile_check(name)
            await self._news.wait()
            self._news.clear()

    async def _reconcile_check(self, name: str) -> None:
        check = self.checks.items.get(name)
        if check is None or not is_multikueue_check(check):
            return
        config = self.configs.items.get(config_name(check))
        body = check_patch(
            check, config, self._clusters.items, self._usable, rfc3339(self._now_us())
        )
        if not body:
            return
        path = f"{_KUEUE}/admissionchecks/{name}/status"
        try:
            await calls.patch(self._api, path, body, check)
        except TidegateError as error:
            _log.warning("status not written", path=path, error=str(error))
            asyncio.get_running_loop().call_later(_AGAIN_S, self._enqueue, (name,))


def clusters_of(config: Object) -> tuple[str, ...]:
    """Return the names of a MultiKueueConfig's clusters."""
    return tuple((config.get("spec") or {}).get("clusters") or ())
