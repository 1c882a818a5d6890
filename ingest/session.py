"""One session of ingest: its resources, the heartbeat, and the scheduler's requests for a resync.

One process publishes, the others wait for its lease. A process that gets the lease lists
everything: unchanged objects add no facts. Two that publish for a moment do no harm, since the
scheduler distinguishes sessions. A session needs no process of its own: the simulation runs it on a
virtual event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress

from ingest.publish import HEARTBEATS
from ingest.sync import ResourceSync, SyncDependencies
from ingest.watched_resource import WatchedResource
from tidegate.bus.ports import Lease, ObservationPublisher
from tidegate.contracts.observations import Heartbeat
from tidegate.errors import BusUnreachableError
from tidegate.service.backoff import backoff_delays
from tidegate.service.lease import maintain_lease
from tidegate.service.logs import get_log

_BEAT_S = 1.0
_POLL_S = 0.1
_log = get_log("session")


class Session:
    """One process of ingest, from its start to its end."""

    def __init__(
        self, watched: Sequence[WatchedResource], deps: SyncDependencies, port: ObservationPublisher
    ) -> None:
        self._deps = deps
        self._port = port
        self._syncs = [ResourceSync(row, deps) for row in watched]

    def waits_for(self) -> str:
        """Return which resources are not watched, and why; empty while every watch is open."""
        lacks = [(sync.watched.resource, sync.waits_for) for sync in self._syncs]
        return "; ".join(f"{resource}: {why}" for resource, why in lacks if why)

    async def run(self) -> None:
        """Watch and publish until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for sync in self._syncs:
                tasks.create_task(sync.run())
            tasks.create_task(self._serve_resync_requests())
            tasks.create_task(self._publish_heartbeats())
            tasks.create_task(self._drop_bodies())
            tasks.create_task(self._publish_expired())

    async def _publish_heartbeats(self) -> None:
        """Publish a heartbeat once a second, only while the watches of all jobs are open.

        The counter is this session's age in seconds: seconds without a beat do not look like a
        clock that jumped.
        """
        loop = asyncio.get_running_loop()
        began, beat = loop.time(), 0
        while True:
            if any(sync.blocks_time_because for sync in self._syncs):
                await asyncio.sleep(_POLL_S)
                continue
            beat = max(beat, int((loop.time() - began) / _BEAT_S)) + 1
            heartbeat = Heartbeat(
                session=self._deps.publisher.session,
                beat=beat,
                resources=tuple(sync.watched.resource for sync in self._syncs if sync.is_watchable),
            )
            await self._deps.publisher.publish_message(HEARTBEATS, heartbeat)
            self._deps.metrics.heartbeats.inc()
            await asyncio.sleep(max(0.0, began + beat * _BEAT_S - loop.time()))

    async def _drop_bodies(self) -> None:
        """Drop what placed jobs have left on the bus; the time does not wait for that."""
        while True:
            await asyncio.sleep(_BEAT_S)
            await self._deps.publisher.drop_bodies()

    async def _publish_expired(self) -> None:
        """Publish jobs again whose deleted pods count no longer."""
        while True:
            await asyncio.sleep(_BEAT_S)
            for sync in self._syncs:
                try:
                    await sync.publish_expired()
                except Exception:  # noqa: BLE001 - of one resource: the others go on
                    _log.exception("not published", resource=sync.watched.resource)
                    sync.request_list()

    async def _serve_resync_requests(self) -> None:
        """List everything again, news or not, whenever the scheduler asks."""
        waits = backoff_delays(self._deps.random, first_s=0.5, most_s=10.0)
        while True:
            try:
                async for reason in self._port.resync_requests():
                    self._relist_all(reason)
            except BusUnreachableError as error:
                await asyncio.sleep(next(waits))
                # A request may have been missed meanwhile; publishing too much does no harm.
                self._relist_all(f"requests could not be heard: {error}")

    def _relist_all(self, reason: str) -> None:
        _log.info("publishes everything again", reason=reason)
        self._deps.publisher.forget_published()
        for sync in self._syncs:
            sync.request_list()


class SessionRunner:
    """Runs one session after another, each for as long as the lease is held."""

    def __init__(self, lease: Lease, lease_s: float, begin: Callable[[int], Session]) -> None:
        """``begin`` makes a session by its number: 1, 2, …; each needs a name of its own."""
        self._lease, self._lease_s, self._begin = lease, lease_s, begin
        self._ours, self._lost = asyncio.Event(), asyncio.Event()
        self._session: Session | None = None
        self._runs = False

    def waits_for(self) -> str:
        """Return what the session waits for; empty also while another process publishes."""
        if not self._runs:
            return "the cluster's identity is not known yet"
        return self._session.waits_for() if self._session else ""

    async def run(self) -> None:
        """Publish while holding the lease, until cancelled; it is released at the end."""
        self._runs = True
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(maintain_lease(self._lease, self._lease_s, self._set_active))
            tasks.create_task(self._update_metrics())

    def _set_active(self, active: bool) -> None:  # noqa: FBT001 - as ``maintain_lease`` calls it
        came, went = (self._ours, self._lost) if active else (self._lost, self._ours)
        came.set()
        went.clear()

    async def _update_metrics(self) -> None:
        number = 0
        while True:
            await self._ours.wait()
            number += 1
            self._session = self._begin(number)
            await _run_until_lost(self._lost, self._session)
            self._session = None


async def _run_until_lost(lost: asyncio.Event, session: Session) -> None:
    """Run a session until the lease is lost; what it raises before is raised here."""
    running, losing = asyncio.ensure_future(session.run()), asyncio.ensure_future(lost.wait())
    try:
        await asyncio.wait({running, losing}, return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            running.result()
    finally:
        for task in (running, losing):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
