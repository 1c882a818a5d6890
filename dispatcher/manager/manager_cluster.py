"""Objects that the dispatcher watches in the manager cluster: checks, configurations, clusters."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from random import Random

from dispatcher import api as calls
from dispatcher.informer import Informer, key_of
from dispatcher.manager.checks import Checks
from dispatcher.manager.conditions import active_patch
from dispatcher.manager.credentials import Sources, source_of
from dispatcher.manager.queues import Queues
from tidegate.errors import TidegateError
from tidegate.kinds.names import API_VERSION
from tidegate.kinds.times import rfc3339
from tidegate.kube.ports import KubernetesApi
from tidegate.service.config.access_providers import AccessProvider
from tidegate.service.logs import get_log

KUEUE = f"/apis/{API_VERSION}"
PROFILES = "/apis/multicluster.x-k8s.io/v1alpha1/namespaces/{}/clusterprofiles"
_SELF = "self/"
_log = get_log("home")


class ManagerCluster:
    """The present definitions, and their conditions."""

    def __init__(  # noqa: PLR0913, PLR0917 - the parts of it
        self,
        api: KubernetesApi,
        namespace: str,
        random: Random,
        now_us: Callable[[], int],
        changed: Callable[[str], None],
        providers: Sequence[AccessProvider] | None = None,
    ) -> None:
        """``changed`` is called with a cluster that may have changed, or its credentials.

        ``providers``: see ``Sources``.
        """
        self.api, self._random, self._now_us, self._changed = api, random, now_us, changed
        self.clusters = Informer(
            api,
            f"{KUEUE}/multikueueclusters",
            self._on_cluster,
            index=lambda obj: (_SELF + key_of(obj), source_of(obj)),
        )
        self._queues = Queues(api, random, now_us)
        self._checks = Checks(api, now_us, self.clusters, self._queues)
        self._secrets = Informer(api, f"/api/v1/namespaces/{namespace}/secrets", self._on_secret)
        self._profiles = Informer(api, PROFILES.format(namespace), self._on_profile, may_lack=True)
        self.sources = Sources(
            namespace=namespace,
            secrets=self._secrets.items,
            profiles=self._profiles.items,
            providers=providers,
        )
        self._informers = [self.clusters, self._secrets]
        self._informers += [] if providers is None else [self._profiles]

    @property
    def complete(self) -> bool:
        """Return whether everything was listed once."""
        return self._checks.complete and all(informer.complete for informer in self._informers)

    def lacks_cluster(self, name: str) -> bool:
        """Return whether there is no MultiKueueCluster of a name, as far as that is known."""
        return self.complete and name not in self.clusters.items

    def set_usable(self, cluster: str, *, usable: bool) -> None:
        """Note whether a cluster answers."""
        self._checks.set_usable(cluster, usable=usable)

    async def run(self) -> None:
        """Watch for ever."""
        async with asyncio.TaskGroup() as tasks:
            for informer in self._informers:
                tasks.create_task(informer.run(self._random))
            tasks.create_task(self._checks.run(self._random))
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
        if not body:
            return
        path = f"{KUEUE}/multikueueclusters/{name}/status"
        try:
            await calls.patch(self.api, path, body, cluster)
        except TidegateError as error:  # it is looked at again before long
            _log.warning("status not written", path=path, error=str(error))

    def _on_cluster(self, changed: str) -> None:
        if changed.startswith(_SELF):
            name = changed.removeprefix(_SELF)
            self._checks.on_cluster(name)
            self._changed(name)

    def _on_secret(self, key: str) -> None:
        self._on_source("secret", key)

    def _on_profile(self, key: str) -> None:
        self._on_source("profile", key)

    def _on_source(self, kind: str, key: str) -> None:
        """Have the clusters looked at whose credentials changed."""
        for name in self.clusters.indexed.get(f"{kind}/{key.partition('/')[2]}", ()):
            self._changed(name)
