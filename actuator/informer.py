"""The objects of one resource as the API server has them: listed once, then watched.

A resource that is not served has no objects; it is asked for again every few seconds. Objects that
cannot be read are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from random import Random
from typing import Generic, Protocol, TypeVar

from actuator.calls import Calls
from actuator.change_watch import retry_for_ever, watch_query
from tidegate.errors import ApiStatusError, ApiUnreachableError, TidegateError, UndecodableError
from tidegate.kinds.decode import Bookmark, Unreadable, decode
from tidegate.kinds.meta import ObjectMeta, Status
from tidegate.model.texts import parse_whole
from tidegate.service.backoff import backoff_delays
from tidegate.service.logs import get_log

PAGE_MAX = 500
_MOST_S = 5.0
_log = get_log("mirror")


class HasMetadata(Protocol):
    """What is mirrored."""

    @property
    def metadata(self) -> ObjectMeta:
        """Return its metadata."""
        ...


T = TypeVar("T", bound=HasMetadata)


@dataclass(frozen=True, slots=True)
class Source(Generic[T]):
    """The resource that an informer caches, and its callbacks."""

    path: str  # of the collection, over all namespaces
    kind: type[T]
    selected: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    """A query that others do not meet: they cost nothing."""
    changed: Callable[[T | None, T | None], None]  # the object before and after; None: not there
    turned: Callable[[], None]  # it became complete, or is served or not by now
    wanted: Callable[[T], bool] = lambda _: True  # others are as if they were not there
    lists_again: bool = field(default=False, kw_only=True)
    """With each watch: where one that left a deletion out would do harm for ever."""
    asks_again_s: float = field(default=_MOST_S, kw_only=True)
    """How often it is asked for while it is not served, at least."""


class Informer(Generic[T]):
    """Keeps what a source has."""

    def __init__(self, source: Source[T], calls: Calls, random: Random) -> None:
        self.items = dict[str, T]()  # by "<namespace>/<name>", or the name of what has none
        self.complete = False  # it was listed as a whole, or is not served
        self.served = False
        self._source, self._calls, self._random = source, calls, random
        self._version = ""  # up to which it has seen everything; empty: it has not
        self._said = ""  # the last error logged

    @property
    def version(self) -> int:
        """Return the version up to which it knows everything; 0 if that is not known."""
        return parse_whole(self._version) or 0

    async def run(self) -> None:
        """Follow the resource for ever."""
        await retry_for_ever(self._list_and_watch, self._delays)

    async def _list_and_watch(self) -> None:
        try:
            if not self._version:
                self._replace_items(await self._list())
                self._said = ""
            await self._watch()
            if self._source.lists_again:
                self._version = ""
        except ApiUnreachableError:
            pass  # it goes on where it was
        except (ApiStatusError, UndecodableError) as error:
            self._version = ""
            self._log_error(error)

    async def _list(self) -> dict[str, T]:
        items, token, version = dict[str, T](), "", 0
        while True:
            query = {**self._source.selected, "limit": str(PAGE_MAX)}
            query |= {"continue": token} if token else {}
            page = await self._calls.list_page(self._source.path, query, self._source.kind)
            version = version or page.version
            for obj in page.items:
                if not isinstance(obj, Unreadable) and self._source.wanted(obj):
                    items[_cache_key(obj.metadata)] = obj
            token = page.next
            if not token:
                self._version = str(version)
                return items

    def _replace_items(self, items: dict[str, T], *, served: bool = True) -> None:
        turned = not self.complete or self.served != served
        self.complete, self.served = True, served
        for key in [*(key for key in self.items if key not in items), *items]:
            self._store(key, items.get(key))
        if turned:
            self._source.turned()

    def _store(self, key: str, new: T | None) -> None:
        old = self.items.pop(key, None)
        if new is not None:
            self.items[key] = new
        if old is not None or new is not None:
            try:
                self._source.changed(old, new)
            except Exception:  # noqa: BLE001 - of one object: the others go on
                _log.exception("change passed over", path=self._source.path, name=key)

    async def _watch(self) -> None:
        query = {**self._source.selected, **watch_query(self._version, self._random)}
        async with self._calls.watch(self._source.path, query) as lines:
            async for line in lines:
                self._apply_line(line)

    def _apply_line(self, line: bytes) -> None:
        kind, obj = decode(line, self._source.kind)
        match obj:
            case Status():
                raise ApiStatusError(obj.code, obj.message)
            case Bookmark():
                self._version = str(obj.version)
            case Unreadable():
                self._version = obj.metadata.resource_version
                self._store(_cache_key(obj.metadata), None)
            case _:
                self._version = obj.metadata.resource_version
                selected = kind != "DELETED" and self._source.wanted(obj)
                self._store(_cache_key(obj.metadata), obj if selected else None)

    def _log_error(self, error: TidegateError) -> None:
        status = error.status if isinstance(error, ApiStatusError) else 0
        if status == HTTPStatus.NOT_FOUND:
            self._replace_items({}, served=False)
        if status != HTTPStatus.GONE and str(error) != self._said:
            self._said = str(error)
            _log.info("not listed", path=self._source.path, error=str(error))

    def _delays(self) -> Iterator[float]:
        return backoff_delays(self._random, first_s=0.2, most_s=self._source.asks_again_s)


def _cache_key(meta: ObjectMeta) -> str:
    return f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name
