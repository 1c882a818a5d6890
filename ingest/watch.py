"""List and watch of one resource: raw answers made into objects, and changes that are to go out.

Bookmarks are asked for, so that a quiet watch resumes from a fresh version. A watch that ends is
resumed where it ended; errors back off with jitter. 410 (the version is too old), 404 (the resource
is gone) and a watch that is closed again and again end it for good: then it must be listed.

Observations say what is, not what was: of two changes of an object that came together the second
stands for both. A deletion stands beside what came before it, for that may have been its end.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from http import HTTPStatus
from random import Random
from typing import Any, Literal, TypeAlias

import msgspec

from ingest.watched_resource import WatchedResource
from tidegate.errors import ApiStatusError, ApiUnreachableError, UndecodableError
from tidegate.kinds.decode import Bookmark, Page, decode, decode_list
from tidegate.kinds.meta import Status
from tidegate.kube.answers import checked_body
from tidegate.kube.ports import KubernetesApi
from tidegate.service.backoff import backoff_delays
from tidegate.service.logs import get_log

_LASTING_S = 1.0
"""A watch that was open for less counts as a failure, else a broken server is asked in circles."""
_BACKOFF_MOST_S = 10.0
BARREN_MAX = 8
"""After so many empty watches in a row, closed at once, the resource is listed again."""
_log = get_log("watch")
WAITING_MAX = 1_024
"""Changes that wait; beyond that the watch is not read on."""
BUSY = 4
"""From this many new objects at once, batches are delayed."""
REST_S = 0.02
"""How long changes gather after some went: a new object waits so long only behind a load."""


class Changed(msgspec.Struct, frozen=True):
    """An object was added, modified or deleted."""

    type: Literal["ADDED", "MODIFIED", "DELETED"]
    object: Any  # of the resource's kind, or Unreadable


class Expired(msgspec.Struct, frozen=True):
    """The watch ended for good: list again."""

    why: str


Event: TypeAlias = Changed | Expired


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """How lists and watches are paced; seconds and objects."""

    page_max: int = 500
    watch_s: float = 30.0  # asked of the server; also how long a dead connection goes unnoticed
    relist_s: float = 600.0


async def pages(
    api: KubernetesApi, watched: WatchedResource, pace: Pace
) -> AsyncGenerator[Page[Any]]:
    """Yield a list of the resource page by page, all of one version.

    Raises:
        ApiStatusError: the server refused; 404 while there is no such resource.
        ApiUnreachableError: no answer came.
    """
    token = ""
    while True:
        query = {"limit": str(pace.page_max), **watched.select}
        query |= {"continue": token} if token else {}
        answer = await api.request("GET", watched.path, query=query)
        body = checked_body(answer, HTTPStatus.OK)
        page = decode_list(body, watched.kind, watched.noted_listed)
        yield page
        token = page.next
        if not token:
            return


class Watch:
    """The watch of one resource, from a list's version on."""

    def __init__(
        self, api: KubernetesApi, watched: WatchedResource, *, pace: Pace, random: Random
    ) -> None:
        self.open = False  # the server took the watch, and it has not ended
        self._broken = False  # it ended with an error and is not open again yet
        self._opened = False  # the newest one was taken, whatever became of it
        self._api = api
        self._watched = watched
        self._pace = pace
        self._random = random

    async def events(self, version: int) -> AsyncGenerator[Event]:
        """Yield each change above ``version``, at last one ``Expired``."""
        waits, loop, barren = self._delays(), asyncio.get_running_loop(), 0
        while barren < BARREN_MAX:
            since, broke, self._opened = loop.time(), False, False
            try:
                async with aclosing(self._watch_once(version)) as events:
                    async for event in events:
                        barren = 0
                        if isinstance(event, Bookmark):
                            version = max(version, event.version)
                            continue
                        yield event
                        if isinstance(event, Expired):
                            return
                        version = max(version, event.object.metadata.version)
            except (ApiUnreachableError, ApiStatusError, UndecodableError) as error:
                broke = True
                self._log_first_failure(str(error))
            lasted = loop.time() - since >= _LASTING_S
            waits = self._delays() if lasted else waits
            # One that breaks each time at the same place would never come behind that.
            barren = 0 if (lasted and not broke) or not self._opened else barren + 1
            if broke or not lasted:
                await asyncio.sleep(next(waits))
        yield Expired("closed")

    async def _watch_once(self, version: int) -> AsyncGenerator[Changed | Bookmark | Expired]:
        """Yield the events of one request, until the server ends it.

        Ends are spread, so that a server's watches do not all come back together.
        """
        lasting_s = self._pace.watch_s * (0.75 + self._random.random() / 2)
        query = {
            **self._watched.select,
            "resourceVersion": str(version),
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(max(1, round(lasting_s))),
        }
        try:
            async with self._api.watch(self._watched.path, query) as lines:
                self.open, self._opened, self._broken = True, True, False
                async for line in lines:
                    yield self._decode_line(line)
        except ApiStatusError as error:
            if error.status not in (HTTPStatus.GONE, HTTPStatus.NOT_FOUND):
                raise
            yield Expired(str(error.status))
        finally:
            self.open = False

    def _decode_line(self, line: bytes) -> Changed | Bookmark | Expired:
        kind, obj = decode(line, self._watched.kind, self._watched.noted)
        match obj:
            case Bookmark():
                return obj
            case Status(code=HTTPStatus.GONE):
                return Expired("410")
            case Status():
                raise ApiStatusError(obj.code, obj.message)
            case _:
                assert kind in ("ADDED", "MODIFIED", "DELETED")
                return Changed(kind, obj)

    def _log_first_failure(self, error: str) -> None:
        """Log the first failure of an outage; the metrics have its length."""
        if not self._broken:
            _log.warning("watch broke", resource=self._watched.resource, error=error)
        self._broken = True

    def _delays(self) -> Iterator[float]:
        return backoff_delays(self._random, first_s=0.1, most_s=_BACKOFF_MOST_S)


class ChangeQueue:
    """Changes added by a watch and published batch by batch."""

    def __init__(self) -> None:
        self._waiting = dict[tuple[str, str, bool], Changed]()
        self._moved, self._capacity = asyncio.Event(), asyncio.Event()
        self._rested = asyncio.Event()
        self._ended = False
        self._loaded = False  # the last batch was a load

    async def put(self, change: Changed) -> None:
        """Add a change in the place of an older one of the same object; wait while there are many.

        What is put in the place of another goes to the end: batches are in the order of the newest.
        """
        meta = change.object.metadata
        key = (meta.uid, meta.name, change.type == "DELETED")
        self._waiting.pop(key, None)
        self._waiting[key] = change
        self._moved.set()
        if change.type == "ADDED" and not self._loaded:
            self._rested.set()
        if len(self._waiting) >= WAITING_MAX:
            self._capacity.clear()
            await self._capacity.wait()

    def end(self) -> None:
        """Let ``batches`` end once all changes are published."""
        self._ended = True
        self._moved.set()
        self._rested.set()

    async def batches(self) -> AsyncGenerator[list[Changed]]:
        """Yield all waiting changes, again and again, pausing after each batch, until ``end``."""
        while True:
            await self._moved.wait()
            self._moved.clear()
            batch = list(self._waiting.values())
            self._waiting.clear()
            self._capacity.set()
            self._rested.clear()
            self._loaded = sum(change.type == "ADDED" for change in batch) >= BUSY
            if batch:
                yield batch
            if self._ended and not self._waiting:
                return
            if batch and not self._ended:
                await self._pause_for_batch()

    async def _pause_for_batch(self) -> None:
        """Let changes gather: a job's states follow one another, and the last says all.

        A new object ends the rest, and takes along what waits, unless the batch was a load.
        """
        timer = asyncio.get_running_loop().call_later(REST_S, self._rested.set)
        await self._rested.wait()
        timer.cancel()
