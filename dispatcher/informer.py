"""The objects of one resource as an API server has them: listed once, then watched."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from http import HTTPStatus
from random import Random

import msgspec

from dispatcher.api import read_sized
from tidegate.errors import ApiStatusError, TidegateError
from tidegate.jobs.kind import Object
from tidegate.kube.ports import KubernetesApi
from tidegate.service.backoff import backoff_delays

PAGE_MAX, OBJECTS_MAX = 500, 100_000
"""Objects of a page, and those that a path may have: a worker cluster must not fill the memory."""
BYTES_MAX = 2**28
"""What all objects of one API server may take together, as JSON; in memory they take more."""
WATCH_S = 240
_FIRST_S, _MOST_S = 0.2, 10.0
_decoder = msgspec.json.Decoder(Object)
Changed = Callable[[str], None]
"""Called with each key of a changed object, once ``items`` holds its new state."""


class SizeLimit:
    """What the objects of one API server may still take; its informers share it."""

    def __init__(self, left_bytes: int = BYTES_MAX) -> None:
        self.left_bytes = left_bytes

    def reserve(self, size: int) -> None:
        """Check that so many bytes are left.

        Raises:
            ApiStatusError: 507, they are not.
        """
        if size > self.left_bytes:
            message = f"its objects have more than {self.left_bytes} bytes"
            raise ApiStatusError(HTTPStatus.INSUFFICIENT_STORAGE, message)


class Informer:
    """The objects at one path, listed and watched; ``selector`` is a label selector.

    ``changed`` is called with an object's key, "<namespace>/<name>" or a name alone, or with each
    key that ``index`` returns, if any.
    """

    def __init__(  # noqa: PLR0913 - what it watches, and callbacks
        self,
        api: KubernetesApi,
        path: str,
        changed: Changed,
        selector: str = "",
        index: Callable[[Object], Sequence[str]] | None = None,
        *,
        may_lack: bool = False,
        allowance: SizeLimit | None = None,
    ) -> None:
        """``may_lack``: a resource that the server does not have counts as an empty list.

        ``allowance`` None: the server is trusted.
        """
        self.items = dict[str, Object]()
        self.indexed = dict[str, dict[str, None]]()  # with an index: keys by what items go by
        self._index, self._may_lack = index, may_lack
        self.complete = False
        self._api, self._path, self._changed = api, path, changed
        self._selected = {"labelSelector": selector} if selector else {}
        self._version = ""
        self._sizes, self._allowance = dict[str, int](), allowance

    async def open(self) -> None:
        """List all objects; the callback receives the keys of changed ones.

        Raises:
            ApiStatusError: the server refused, or has too much.
            ApiUnreachableError: no answer came.
        """
        items, sizes, token = dict[str, Object](), dict[str, int](), ""
        more_bytes = -sum(self._sizes.values())
        while True:
            query = {**self._selected, "limit": str(PAGE_MAX)}
            query |= {"continue": token} if token else {}
            read = await read_sized(self._api, self._path, query)
            if read is None:
                self.complete |= self._may_lack
                raise ApiStatusError(HTTPStatus.NOT_FOUND, f"there is no {self._path}")
            page, size = read
            kind, listed = page["kind"].removesuffix("List"), page.get("items") or ()
            for obj in listed:
                items[key_of(obj)] = {"apiVersion": page["apiVersion"], "kind": kind, **obj}
                sizes[key_of(obj)] = size // len(listed)
            _check_amount(len(items), self._path)
            more_bytes += size
            if self._allowance is not None:
                self._allowance.reserve(more_bytes)
            token = page["metadata"].get("continue", "")
            if not token:
                break
        self._version = page["metadata"]["resourceVersion"]
        both = (*self.items.values(), *items.values())
        news = [by for obj in both for by in self._index_keys(obj)]
        for key in list(self.items):
            self._drop(key)
        self.complete = True
        for key, obj in items.items():
            self._store(key, obj, sizes[key])
        self._notify(news)

    async def follow(self) -> None:
        """Watch from what was listed on, until that breaks; ends that were asked for do not count.

        Raises:
            ApiStatusError: the server refused, or has too much; 410: it has to be listed again.
            ApiUnreachableError: the connection broke.
        """
        while True:
            query = {
                **self._selected,
                "resourceVersion": self._version,
                "allowWatchBookmarks": "true",
                "timeoutSeconds": str(WATCH_S),
            }
            async with self._api.watch(self._path, query) as lines:
                async for line in lines:
                    self._apply_line(line)

    async def run(self, random: Random) -> None:
        """List and watch for ever; after any error begin again."""
        waits = backoff_delays(random, first_s=_FIRST_S, most_s=_MOST_S)
        while True:
            try:
                await self.open()
                waits = backoff_delays(random, first_s=_FIRST_S, most_s=_MOST_S)
                await self.follow()
            except (TidegateError, msgspec.DecodeError):
                await asyncio.sleep(next(waits))

    def _apply_line(self, line: bytes) -> None:
        event = _decoder.decode(line)
        status: Object = event["object"]
        if event["type"] == "ERROR":
            raise ApiStatusError(status.get("code", 0), status.get("message", ""))
        self._version = status["metadata"]["resourceVersion"]
        if event["type"] == "BOOKMARK":
            return
        key = key_of(status)
        news = (*self._drop(key), *self._index_keys(status))
        if event["type"] != "DELETED":
            self._store(key, status, len(line))
            _check_amount(len(self.items), self._path)
        self._notify(news)

    def _notify(self, news: Iterable[str]) -> None:
        for by in dict.fromkeys(news):
            self._changed(by)

    def _index_keys(self, obj: Object) -> Sequence[str]:
        return (key_of(obj),) if self._index is None else self._index(obj)

    def _store(self, key: str, obj: Object, size: int) -> None:
        if self._allowance is not None:
            self._allowance.reserve(size)
            self._allowance.left_bytes -= size
        self.items[key], self._sizes[key] = obj, size
        for by in () if self._index is None else self._index(obj):
            self.indexed.setdefault(by, {})[key] = None

    def _drop(self, key: str) -> Sequence[str]:
        """Forget an object; return its keys, none if it was not known."""
        obj, size = self.items.pop(key, None), self._sizes.pop(key, 0)
        if self._allowance is not None:
            self._allowance.left_bytes += size
        named = () if obj is None else self._index_keys(obj)
        for by in named:
            if by in self.indexed:
                self.indexed[by].pop(key, None)
                if not self.indexed[by]:
                    del self.indexed[by]
        return named


def _check_amount(count: int, path: str) -> None:
    if count > OBJECTS_MAX:
        message = f"{path} has more than {OBJECTS_MAX} objects"
        raise ApiStatusError(HTTPStatus.INSUFFICIENT_STORAGE, message)


def key_of(obj: Object) -> str:
    """Return an object's "<namespace>/<name>", or the name of what has no namespace."""
    meta = obj["metadata"]
    return f"{meta['namespace']}/{meta['name']}" if meta.get("namespace") else meta["name"]
