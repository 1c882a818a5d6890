"""What the dispatcher sees, told to the scheduler: each thing once, until it is another."""

from __future__ import annotations

import asyncio
from random import Random

from tidegate.bus.ports import ObservationPublisher
from tidegate.contracts.codec import encode
from tidegate.contracts.messages.subjects import observed
from tidegate.contracts.observed.clusters import (
    REMOTES,
    RemoteClusterObserved,
    RemoteCopy,
    RemoteWorkloadObserved,
)
from tidegate.errors import BusUnreachableError
from tidegate.service.backoff import delays


class Publisher:
    """One session's voice."""

    def __init__(
        self, outlet: ObservationPublisher, *, cluster: str, session: str, random: Random
    ) -> None:
        self.session = session
        self._outlet, self._cluster, self._random = outlet, cluster, random
        self._sent = 0
        self._copies = dict[tuple[str, str], RemoteCopy | None]()
        self._clusters = dict[str, RemoteClusterObserved]()

    def forget_told(self) -> None:
        """Tell everything again from here on."""
        self._copies.clear()
        self._clusters.clear()

    async def cluster(self, name: str, *, connected: bool, reason: str, message: str) -> None:
        """Tell how a worker cluster stands."""
        told = RemoteClusterObserved(
            cluster=name,
            session=self.session,
            connected=connected,
            reason=reason,
            message=message,
        )
        if self._clusters.get(name) != told:
            await self._send(told, "", name)
            self._clusters[name] = told

    async def copy(self, cluster: str, key: str, copy: RemoteCopy | None, version: int) -> None:
        """Tell how a workload's copy stands; None: it is not there."""
        place = (cluster, key)
        if place in self._copies and self._copies[place] == copy:
            return
        told = RemoteWorkloadObserved(
            cluster=cluster, workload=key, session=self.session, version=version, copy=copy
        )
        namespace, _, name = key.partition("/")
        await self._send(told, namespace, name)
        self._copies[place] = copy

    def forget(self, cluster: str, key: str) -> None:
        """Tell of a copy again whatever it is, for the scheduler begins with it anew."""
        self._copies.pop((cluster, key), None)

    async def _send(
        self, told: RemoteClusterObserved | RemoteWorkloadObserved, namespace: str, name: str
    ) -> None:
        subject = observed(self._cluster, REMOTES, namespace, name)
        self._sent += 1
        message_id = f"{self.session}:{self._sent}"
        for wait_s in delays(self._random, first_s=0.2, most_s=5.0):
            try:
                await self._outlet.publish(subject, encode(told), message_id)
            except BusUnreachableError:
                await asyncio.sleep(wait_s)
            else:
                return
