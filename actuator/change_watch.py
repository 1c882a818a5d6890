"""A watch of one resource that receives each change, by metadata alone, over whatever breaks it.

Only where the server has forgotten what follows is something missed: then ``begun`` is called
again, and all has to be compared.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from random import Random
from typing import Any

import msgspec

from actuator.calls import Calls
from tidegate.errors import ApiStatusError, ApiUnreachableError
from tidegate.service.backoff import backoff_delays
from tidegate.service.logs import get_log

WATCH_S = 120
"""How long a watch lasts, about; a server with many clients does not lose all at once. So long may
one that is half open go unnoticed, too."""
_LASTING_S = 5.0
"""A watch that lasted so long was one: the next is opened at once."""
_BOOKMARK = "BOOKMARK"
_log = get_log("attention")


async def retry_for_ever(
    watch: Callable[[], Awaitable[None]], waits: Callable[[], Iterator[float]]
) -> None:
    """Call ``watch`` again whenever it ends, for ever; ``waits`` begins a new row of delays, s."""
    loop, delays = asyncio.get_running_loop(), waits()
    while True:
        since_s = loop.time()
        await watch()
        if loop.time() - since_s >= _LASTING_S:
            delays = waits()
        else:
            await asyncio.sleep(next(delays))


def watch_query(version: str, random: Random) -> dict[str, str]:
    """Return the query of a watch of changes after a version."""
    return {
        "resourceVersion": version,
        "allowWatchBookmarks": "true",
        "timeoutSeconds": str(round(WATCH_S * (0.75 + random.random() / 2))),
    }


class Meta(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Which object changed, and what owns it."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    owner_references: tuple[Any, ...] = ()

    @property
    def key(self) -> str:
        """Return ``<namespace>/<name>``, or the name of what has no namespace."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class _WatchObject(msgspec.Struct, frozen=True, kw_only=True):
    metadata: Meta = Meta()
    code: int = 0  # of a Status, which stands here when something went wrong
    message: str = ""


class _WatchLine(msgspec.Struct, frozen=True, kw_only=True):
    type: str
    object: _WatchObject


_decoder = msgspec.json.Decoder(_WatchLine)


@dataclass(frozen=True, slots=True)
class WatchedCollection:
    """The collection that a watch follows, and its callbacks."""

    path: str
    changed: Callable[[str, Meta], None]
    """Called with ADDED, MODIFIED or DELETED and the object's metadata."""
    selected: Mapping[str, str] = field(default_factory=dict)
    """A query that others do not meet: they cost nothing."""
    may_lack: bool = False
    """While it is not served there is nothing to miss."""


class ChangeWatch:
    """Watches a collection; ``begun`` is called whenever what came before is not known."""

    def __init__(
        self, watched: WatchedCollection, calls: Calls, random: Random, begun: Callable[[], None]
    ) -> None:
        self._watched, self._begun = watched, begun
        self._calls, self._random = calls, random
        self._version = ""  # up to which it has seen everything; empty: it has not
        self._has_begun = False

    async def run(self) -> None:
        """Watch for ever."""
        await retry_for_ever(self._watch_until_closed, self._delays)

    async def _watch_until_closed(self) -> None:
        """Watch until the watch ends; forget how far it got if it cannot be resumed there."""
        try:
            if not self._version:
                self._version = await self._calls.newest_version(self._watched.path)
                self._relist()
            await self._watch()
        except ApiUnreachableError:
            pass  # it goes on where it was
        except ApiStatusError as error:
            self._forget_if_expired(error)
        except msgspec.DecodeError as error:
            self._version = ""
            _log.warning("cannot watch", path=self._watched.path, error=str(error))

    def _relist(self) -> None:
        self._has_begun = True
        self._begun()

    def _forget_if_expired(self, error: ApiStatusError) -> None:
        match error.status:
            case HTTPStatus.GONE:
                self._version = ""
            case HTTPStatus.NOT_FOUND:
                self._version = ""
                if self._watched.may_lack and not self._has_begun:
                    self._relist()
            case _:
                _log.warning("cannot watch", path=self._watched.path, error=str(error))

    async def _watch(self) -> None:
        query = {**self._watched.selected, **watch_query(self._version, self._random)}
        async with self._calls.watch(self._watched.path, query) as lines:
            async for line in lines:
                self._apply_line(_decoder.decode(line))

    def _apply_line(self, line: _WatchLine) -> None:
        status = line.object
        if line.type == "ERROR":
            raise ApiStatusError(status.code, status.message)
        self._version = status.metadata.resource_version
        if line.type != _BOOKMARK:
            self._watched.changed(line.type, status.metadata)

    def _delays(self) -> Iterator[float]:
        return backoff_delays(self._random, first_s=0.5, most_s=60.0)
