"""One resource published in full and then kept up to date: list in brackets, watch, list again.

The present objects are those in ``SyncCompleted``, never the messages between the brackets: any
of those may have been suppressed as no news.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from http import HTTPStatus
from itertools import islice
from random import Random
from typing import Any

from ingest.definitions import identity
from ingest.jobs.ownership import ResourceObservation
from ingest.metrics import Metrics
from ingest.publish import Publisher
from ingest.tasks import cancel_and_wait, run_in_sequence, run_together
from ingest.watch import Changed, ChangeQueue, Pace, Watch, pages
from ingest.watched_resource import SLICE, Reducer, WatchedResource
from tidegate.contracts.observations import ObjectGone, SyncCompleted, SyncStarted
from tidegate.errors import ApiStatusError, ApiUnreachableError, TidegateError, UndecodableError
from tidegate.kinds.meta import ObjectMeta
from tidegate.kube.answers import status_message
from tidegate.kube.ports import KubernetesApi
from tidegate.service.backoff import backoff_delays
from tidegate.service.logs import get_log

PRESENT_MAX = 1_000
"""The most uids that one ``SyncCompleted`` names."""
UNDERWAY_MAX = 256
"""Publishes that one resource has under way; beyond that its watch waits."""
_ABSENT_S = 5.0
_log = get_log("sync")


@dataclass(frozen=True, slots=True)
class SyncDependencies:
    """What every resource of a session shares."""

    api: KubernetesApi
    publisher: Publisher
    pace: Pace
    random: Random
    metrics: Metrics


class ResourceSync:
    """Lists and watches one resource for ever, and publishes its observations."""

    def __init__(self, watched: WatchedResource, deps: SyncDependencies) -> None:
        self.watched = watched
        self.absent = False  # there is no such resource at the API server
        self._forbidden = False  # there is no right to list it
        self._api, self._publisher = deps.api, deps.publisher
        self._pace, self._random, self._metrics = deps.pace, deps.random, deps.metrics
        self._reducer = Reducer(watched, deps.metrics)
        self._watch = Watch(deps.api, watched, pace=deps.pace, random=deps.random)
        self._round = 0
        self._listed = False
        self._asked = asyncio.Event()

    @property
    def is_watchable(self) -> bool:
        """Return whether the resource is needed, and readable by this account."""
        return self._is_needed and not (self.absent or self._is_forbidden)

    @property
    def open(self) -> bool:
        """Return whether the resource was listed and its watch is open now."""
        return self._watch.open

    @property
    def waits_for(self) -> str:
        """Return what this resource lacks before time may pass; empty: nothing."""
        if self.open or not self._is_needed or (self.absent and self.watched.optional):
            return ""
        lack = "its CRD is not installed" if self.absent else "its watch is not open"
        return "there is no right to list it" if self._forbidden else lack

    @property
    def blocks_time_because(self) -> str:
        """Return why time stands still for it; empty: it may pass.

        After one complete list of a resource without deadlines no open watch is needed.
        """
        passes = self.watched.timeless and (self._listed or self._is_forbidden)
        return "" if passes else self.waits_for

    @property
    def _is_needed(self) -> bool:
        return self.watched.needed is None or self.watched.needed.is_set()

    @property
    def _is_forbidden(self) -> bool:
        """Return whether the rights to an optional resource are missing."""
        return self.watched.needed is not None and self._forbidden

    def request_list(self) -> None:
        """Ask for a list as soon as possible: a resync."""
        self._asked.set()

    async def run(self) -> None:
        """Publish the resource, as soon as it is needed, until cancelled."""
        if self.watched.needed is not None:
            await self.watched.needed.wait()
        gauge = self._metrics.watch_open.labels(self.watched.resource)
        gauge.set_function(lambda: float(self.open))
        why, waits = "start", backoff_delays(self._random, first_s=0.2, most_s=_ABSENT_S)
        while True:
            try:
                self._metrics.relists.labels(self.watched.resource, why).inc()
                self._asked.clear()
                version = await self._publish_list()
                self._listed = True
                self.watched.published.set()
                waits = backoff_delays(self._random, first_s=0.2, most_s=_ABSENT_S)
                why = await self._publish_changes(version)
            except (ApiUnreachableError, ApiStatusError, UndecodableError) as error:
                why = "error"
                self._log_error(error)
                await asyncio.sleep(next(waits))
            except Exception:  # noqa: BLE001 - of one resource: the others go on
                why = "error"
                _log.exception("not published", resource=self.watched.resource)
                await asyncio.sleep(next(waits))

    async def publish_expired(self) -> None:
        """Publish the objects that count as changed by now."""
        for obj in self.watched.expired():
            await self._publish_object(obj, 0)
            await self._publish_others(self.watched.changed_jobs())

    async def _publish_list(self) -> int:
        """List once, between brackets; return the version listed.

        ``SyncStarted`` is stored before the list is asked for: so a round that begins after another
        ended and lists a lower version means a restored etcd.
        """
        resource, publisher = self.watched.resource, self._publisher
        if self.absent or self._forbidden or not self._round:
            await self._check_exists()
        self._round += 1
        started = SyncStarted(resource=resource, session=publisher.session, round=self._round)
        await publisher.publish_message(resource, started)
        present, version = list[str](), 0
        async with aclosing(pages(self._api, self.watched, self._pace)) as listed:
            async for page in listed:
                version = version or page.version
                items = (self._publish_object(item, self._round) for item in page.items)
                await (run_in_sequence if self.watched.wide else run_together)(items)
                present += [item.metadata.uid for item in page.items]
        others = self.watched.listed(frozenset(present), version)
        if not self.watched.wide:
            others = tuple(others)  # what is present follows from it
        await self._publish_others(others, self._round, frozenset(self.watched.present(present)))
        for completed in self._completed(list(self.watched.present(present)), version):
            await publisher.publish_message(resource, completed)
        return version

    async def _check_exists(self) -> None:
        """Ask whether the resource is there at all, before a bracket is opened for it."""
        answer = await self._api.request("GET", self.watched.path, query={"limit": "1"})
        if answer.status == HTTPStatus.NOT_FOUND:
            raise ApiStatusError(answer.status, "there is no such resource")
        if answer.status == HTTPStatus.FORBIDDEN:
            raise ApiStatusError(answer.status, status_message(answer.body))
        self.absent = self._forbidden = False

    def _completed(self, present: Sequence[str], version: int) -> list[SyncCompleted]:
        starts = range(0, max(len(present), 1), PRESENT_MAX)
        return [
            SyncCompleted(
                resource=self.watched.resource,
                session=self._publisher.session,
                round=self._round,
                list_version=version,
                present=tuple(present[start : start + PRESENT_MAX]),
                piece=piece,
                pieces=len(starts),
            )
            for piece, start in enumerate(starts, 1)
        ]

    async def _publish_changes(self, version: int) -> str:
        """Watch until a list is due; return why it is."""
        watching = asyncio.ensure_future(self._follow(version))
        request = asyncio.ensure_future(self._asked.wait())
        try:
            due_s = self._pace.relist_s * (0.9 + self._random.random() / 5)
            await asyncio.wait(
                {watching, request}, timeout=due_s, return_when=asyncio.FIRST_COMPLETED
            )
            if watching.done():
                return watching.result()
            return "resync" if request.done() else "due"
        finally:
            await cancel_and_wait(watching, request)

    async def _follow(self, version: int) -> str:
        """Publish each change; return why the watch ended for good."""
        changes = ChangeQueue()
        async with asyncio.TaskGroup() as tasks, aclosing(self._watch.events(version)) as events:
            tasks.create_task(self._publish(changes))
            async for event in events:
                if not isinstance(event, Changed):
                    changes.end()
                    return event.why
                await changes.put(event)
        raise AssertionError("a watch ends with Expired")

    async def _publish(self, changes: ChangeQueue) -> None:
        underway = asyncio.Semaphore(UNDERWAY_MAX)

        async with asyncio.TaskGroup() as tasks, aclosing(changes.batches()) as batches:
            async for batch in batches:
                for event in batch:
                    await underway.acquire()
                    task = tasks.create_task(self._publish_event(event))
                    task.add_done_callback(lambda _: underway.release())
                    if self.watched.wide:  # of what comes meanwhile only the newest counts
                        await task
                # It is iterated once all of these have begun, and so have observed their objects.
                tasks.create_task(self._publish_others(self.watched.changed_jobs()))

    async def _publish_event(self, event: Changed) -> None:
        if event.type == "DELETED":
            meta: ObjectMeta = event.object.metadata
            gone = ObjectGone(**identity(meta), resource=self.watched.resource)
            slices = self._reducer.reduce_deletion(meta, self.request_list)
            others, drawn = next(slices, []), self._publisher.next_moment()
            if not self.watched.summed:
                await self._publisher.publish_object(self.watched.resource, gone, drawn=drawn)
            await self._publish_others(others, drawn=drawn)
            for others in slices:
                await self._publish_others(others)
        else:
            await self._publish_object(event.object, 0)

    async def _publish_object(self, obj: Any, round: int) -> None:  # noqa: A002, ANN401 - the resource's kind; architecture's word
        for reduced in self._reducer.reduce(obj):
            drawn = self._publisher.next_moment()
            publishes = [self._publish_reduced(obj, item, round, drawn) for item in reduced]
            # Of several, other resources have their turn before the next slice.
            await (publishes[0] if len(publishes) == 1 else run_together(publishes))

    async def _publish_reduced(
        self,
        obj: Any,  # noqa: ANN401 - the resource's kind
        reduced: ResourceObservation,
        round: int,  # noqa: A002 - architecture's word
        drawn: int,
    ) -> None:
        resource, observation = reduced  # another object: as it was known, maybe before the list
        own = (resource, observation.uid) == (self.watched.resource, obj.metadata.uid)
        await self._publisher.publish_object(
            resource, observation, round=round if own else 0, drawn=drawn, indirect=not own
        )

    async def _publish_others(
        self,
        others: Iterable[ResourceObservation],
        round: int = 0,  # noqa: A002 - architecture's word
        present: Collection[str] = (),
        drawn: int = 0,
    ) -> None:
        """Publish what an object or a list changes; ``present``: the uids of that list, if any."""
        if not self.watched.wide:  # a snapshot of what changes while it is published
            others, drawn = tuple(others), drawn or self._publisher.next_moment()
        remaining = iter(others)
        while few := list(islice(remaining, SLICE if self.watched.wide else UNDERWAY_MAX)):
            at = drawn or self._publisher.next_moment()
            await run_together(self._publish_other(item, round, present, at) for item in few)

    async def _publish_other(
        self,
        other: ResourceObservation,
        round: int,  # noqa: A002 - architecture's word
        present: Collection[str],
        drawn: int,
    ) -> None:
        # Of what a list names all is known as of that list: a group of pods, and every sum.
        resource, observation = other
        listed = resource == self.watched.resource and observation.uid in present
        number = round if listed or self.watched.summed else 0
        await self._publisher.publish_object(
            resource, observation, round=number, drawn=drawn, indirect=not number
        )

    def _log_error(self, error: TidegateError) -> None:
        status = error.status if isinstance(error, ApiStatusError) else None
        absent, forbidden = status == HTTPStatus.NOT_FOUND, status == HTTPStatus.FORBIDDEN
        if (absent and self.absent) or (forbidden and self._forbidden):
            return
        self.absent, self._forbidden = absent, forbidden
        _log.info("not listed", resource=self.watched.resource, absent=absent, error=str(error))
