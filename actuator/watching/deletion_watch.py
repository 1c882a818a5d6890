"""A watch notices Workloads that are deleted or lose their job.

A Workload created directly cannot be created again, so it is not watched. A watch that cannot be
resumed has missed something: then everything is compared again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from http import HTTPStatus
from random import Random
from typing import Any

import msgspec

from actuator.calls import Calls
from actuator.watching.watch_loop import follow, watch_query
from tidegate.errors import ApiStatusError, ApiUnreachableError
from tidegate.jobs.workload import KIND
from tidegate.kinds.names import JOB_UID
from tidegate.service.backoff import delays
from tidegate.service.logs import get_log

_PATH = KIND.path()
_SELECTED = {"labelSelector": JOB_UID}
_log = get_log("attention")


class _Meta(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    owner_references: tuple[Any, ...] = ()


class _Object(msgspec.Struct, frozen=True, kw_only=True):
    metadata: _Meta = _Meta()
    code: int = 0  # of a Status, which stands here when something went wrong
    message: str = ""


class _Line(msgspec.Struct, frozen=True, kw_only=True):
    type: str
    object: _Object


_decoder = msgspec.json.Decoder(_Line)


class DeletionWatch:
    """Watches Workloads of jobs; ``begun`` is called whenever what came before is not known.

    ``deleted`` is called with key and uid of each Workload that is deleted from then on,
    ``orphaned`` with the key of each that is seen without any owner.
    """

    def __init__(
        self,
        calls: Calls,
        random: Random,
        begun: Callable[[], None],
        deleted: Callable[[str, str], None],
        orphaned: Callable[[str], None],
    ) -> None:
        self._calls, self._random = calls, random
        self._begun, self._deleted, self._orphaned = begun, deleted, orphaned
        self._version = ""  # up to which it has seen everything; empty: it has not

    async def run(self) -> None:
        """Watch for ever."""
        await follow(self._try, self._waits)

    async def _try(self) -> None:
        """Watch until the watch ends; forget how far it got if it cannot be resumed there."""
        try:
            if not self._version:
                self._version = await self._calls.newest_version(_PATH)
                self._begun()
            await self._watch()
        except ApiUnreachableError:
            pass  # it goes on where it was
        except (ApiStatusError, msgspec.DecodeError) as error:
            if not isinstance(error, ApiStatusError) or error.status != HTTPStatus.GONE:
                _log.warning("cannot watch Workloads", error=str(error))
            self._version = ""

    async def _watch(self) -> None:
        query = {**_SELECTED, **watch_query(self._version, self._random)}
        async with self._calls.watch(_PATH, query) as lines:
            async for line in lines:
                self._take(_decoder.decode(line))

    def _take(self, line: _Line) -> None:
        status = line.object
        if line.type == "ERROR":
            raise ApiStatusError(status.code, status.message)
        self._version = status.metadata.resource_version
        key = f"{status.metadata.namespace}/{status.metadata.name}"
        if line.type == "DELETED":
            self._deleted(key, status.metadata.uid)
        elif not status.metadata.owner_references:
            self._orphaned(key)

    def _waits(self) -> Iterator[float]:
        return delays(self._random, first_s=0.5, most_s=60.0)
