"""Publishes the dispatcher's observations to the scheduler: each once, until it changes."""

from __future__ import annotations

import asyncio
from random import Random

from dispatcher.copy_reconciler import Outcome
from tidegate.bus.ports import ObservationPublisher
from tidegate.contracts.codec import encode
from tidegate.contracts.observed.clusters import (
    REMOTES,
    RemoteClusterObserved,
    RemoteCopy,
    RemoteWorkloadObserved,
)
from tidegate.contracts.subjects import observed_subject
from tidegate.errors import BusUnreachableError
from tidegate.service.backoff import backoff_delays


class Publisher:
    """The observation publisher of one session."""

    def __init__(
        self, port: ObservationPublisher, *, cluster: str, session: str, random: Random
    ) -> None:
        self.session = session
        self._port, self._cluster, self._random = port, cluster, random
        self._sent = 0
        self._copies = dict[tuple[str, str], RemoteCopy | None]()
        self._clusters = dict[str, RemoteClusterObserved]()

    def forget_published(self) -> None:
        """Publish everything again from here on."""
        self._copies.clear()
        self._clusters.clear()

    def forget_cluster(self, name: str) -> None:
        """Publish a cluster's state again even if unchanged: another one has its name by now."""
        self._clusters.pop(name, None)

    async def publish_cluster(
        self, name: str, *, connected: bool, reason: str, message: str
    ) -> None:
        """Publish the state of a worker cluster."""
        observation = RemoteClusterObserved(
            cluster=name,
            session=self.session,
            connected=connected,
            reason=reason,
            message=message,
        )
        if self._clusters.get(name) != observation:
            await self._send(observation, "", name)
            self._clusters[name] = observation

    async def publish_copy(self, cluster: str, key: str, outcome: Outcome) -> None:
        """Publish the state of a workload's copy."""
        place, copy = (cluster, key), outcome.copy
        if place in self._copies and self._copies[place] == copy:
            return
        observation = RemoteWorkloadObserved(
            cluster=cluster,
            workload=key,
            session=self.session,
            version=outcome.version,
            job_version=outcome.job_version,
            copy=copy,
        )
        namespace, _, name = key.partition("/")
        await self._send(observation, namespace, name)
        self._copies[place] = copy

    def forget_copy(self, cluster: str, key: str) -> None:
        """Publish a copy's state again even if unchanged, for the scheduler restarts with it."""
        self._copies.pop((cluster, key), None)

    async def _send(
        self, observation: RemoteClusterObserved | RemoteWorkloadObserved, namespace: str, name: str
    ) -> None:
        subject = observed_subject(self._cluster, REMOTES, namespace, name)
        self._sent += 1
        message_id = f"{self.session}:{self._sent}"
        for wait_s in backoff_delays(self._random, first_s=0.2, most_s=5.0):
            try:
                await self._port.publish(subject, encode(observation), message_id)
            except BusUnreachableError:
                await asyncio.sleep(wait_s)
            else:
                return
