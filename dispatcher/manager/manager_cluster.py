"""Objects that the dispatcher watches in the manager cluster: checks, configurations, clusters."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from random import Random

from dispatcher import api as calls
from dispatcher.informer import Informer
from dispatcher.manager.conditions import active_patch, check_patch, is_multikueue_check
from dispatcher.manager.credentials import Sources
from dispatcher.manager.queues import Queues
from tidegate.errors import TidegateError
from tidegate.jobs.kind import Object
from tidegate.kinds.names import API_VERSION
from tidegate.kinds.times import rfc3339
from tidegate.kube.ports import KubernetesApi
from tidegate.service.config.access_providers import AccessProvider
from tidegate.service.logs import get_log

KUEUE = f"/apis/{API_VERSION}"
PROFILES = "/apis/multicluster.x-k8s.io/v1alpha1/namespaces/{}/clusterprofiles"
_log = get_log("home")


class ManagerCluster:
    """The present definitions, and their conditions."""

    def __init__(  # noqa: PLR0913, PLR0917 - the parts of it
        self,
        api: KubernetesApi,
        namespace: str,
        random: Random,
        now_us: Callable[[], int],
        changed: Callable[[], None],
        providers: Sequence[AccessProvider] | None = None,
    ) -> None:
        """``changed`` is called when clusters or their credentials may have changed.

        ``providers``: see ``Sources``.
        """
        self.api, self._providers = api, providers
        self._random, self._now_us, self._changed = random, now_us, changed
        self._news = asyncio.Event()
        self._usable = frozenset[str]()

        def informer(plural: str) -> Informer:
            return Informer(api, f"{KUEUE}/{plural}", self._on_change)

        self.clusters = informer("multikueueclusters")
        self._configs = informer("multikueueconfigs")
        self._checks = informer("admissionchecks")
        self._queues = Queues(api, random, now_us)
        self._secrets = Informer(api, f"/api/v1/namespaces/{namespace}/secrets", self._on_change)
        self._profiles = Informer(api, PROFILES.format(namespace), self._on_change, may_lack=True)

    @property
    def complete(self) -> bool:
        """Return whether everything was listed once."""
        return all(informer.complete for informer in self._informers)

    @property
    def sources(self) -> Sources:
        """Return where the credentials of clusters come from."""
        return Sources(
            secrets=_by_name(self._secrets),
            profiles=_by_name(self._profiles),
            providers=self._providers,
        )

    @property
    def _informers(self) -> tuple[Informer, ...]:
        profiles = () if self._providers is None else (self._profiles,)
        return (self.clusters, self._configs, self._checks, self._secrets, *profiles)

    def set_usable(self, usable: Iterable[str]) -> None:
        """Note which clusters answer."""
        self._usable = frozenset(usable)
        self._news.set()

    async def run(self) -> None:
        """Watch for ever."""
        async with asyncio.TaskGroup() as tasks:
            for informer in self._informers:
                tasks.create_task(informer.run(self._random))
            tasks.create_task(self._write_check_conditions())
            tasks.create_task(self._queues.run())

    async def set_cluster_condition(
        self, name: str, *, status: bool, reason: str, message: str
    ) -> None:
        """Set the condition Active of a MultiKueueCluster; do nothing if it was deleted."""
        cluster = self.clusters.items.get(name)
        if cluster is None:
            return
        at = rfc3339(self._now_us())
        body = active_patch(cluster, status=status, reason=reason, message=message, at=at)
        if body:
            await self._patch(f"{KUEUE}/multikueueclusters/{name}/status", body, cluster)

    def _on_change(self, key: str) -> None:
        del key
        self._news.set()
        self._changed()

    async def _write_check_conditions(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            if not self.complete:
                continue
            checks = {
                name: check
                for name, check in self._checks.items.items()
                if is_multikueue_check(check)
            }
            self._queues.set_checks(frozenset(checks))
            for name, check in checks.items():
                body = check_patch(
                    check,
                    self._configs.items,
                    self.clusters.items,
                    self._usable,
                    rfc3339(self._now_us()),
                )
                if body:
                    await self._patch(f"{KUEUE}/admissionchecks/{name}/status", body, check)

    async def _patch(self, path: str, body: Object, obj: Object) -> None:
        try:
            await calls.patch(self.api, path, body, obj)
        except TidegateError as error:
            _log.warning("status not written", path=path, error=str(error))
            asyncio.get_running_loop().call_later(5.0, self._news.set)


def _by_name(informer: Informer) -> dict[str, Object]:
    return {obj["metadata"]["name"]: obj for obj in informer.items.values()}
