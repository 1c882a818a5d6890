"""Watches: lines of events from a version on, until a timeout or a history that was forgotten.

A watch is a place in the history and keeps no queue: one that falls behind what the history holds
ends with 410, as on the real server.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

import msgspec

from tidegate.cluster.embedded.paths import Target
from tidegate.cluster.embedded.refusals import bad_request, expired
from tidegate.cluster.embedded.registry import Registry
from tidegate.cluster.embedded.resources import Resource
from tidegate.cluster.embedded.selectors import Selector, selector
from tidegate.cluster.embedded.state import Change

Object = dict[str, Any]
_TIMEOUT_S, _BOOKMARK_EVERY_S, _BOOKMARK_BEFORE_END_S = 1_800.0, 60.0, 1.0
_INITIAL_END = {"k8s.io/initial-events-end": "true"}


class Bells:
    """One event a resource, which a change replaces after waking everyone who waits for it."""

    def __init__(self) -> None:
        self._bells = dict[str, asyncio.Event]()

    def get(self, key: str) -> asyncio.Event:
        """Return what the next change of a resource will set."""
        return self._bells.setdefault(key, asyncio.Event())

    def ring(self, change: Change) -> None:
        """Wake who waits for a change of this resource."""
        if bell := self._bells.pop(change.resource, None):
            bell.set()


class Request(msgspec.Struct, frozen=True):
    """A watch as it was asked for."""

    target: Target
    chosen: Selector
    since: int | None  # None: first everything that is there now
    timeout_s: float
    bookmarks: bool
    marks_initial_end: bool  # a bookmark says when everything that was there was told


def read_request(target: Target, query: Mapping[str, str]) -> Request:
    """Read a watch's query.

    Raises:
        RefusedError: 400, a part of it cannot be read.
    """
    initial = query.get("sendInitialEvents") == "true"
    version = query.get("resourceVersion", "")
    return Request(
        target=target,
        chosen=selector(target.resource, query),
        since=None if initial or version in ("", "0") else read_version(version),
        timeout_s=float(_whole(query.get("timeoutSeconds", "0")) or _TIMEOUT_S),
        bookmarks=query.get("allowWatchBookmarks") in ("true", "1"),
        marks_initial_end=initial,
    )


def read_version(text: str) -> int:
    """Read a resourceVersion.

    Raises:
        RefusedError: 400, it is no number.
    """
    if not (text.isascii() and text.isdigit()):
        raise bad_request(f'invalid resource version: resourceVersion: Invalid value: "{text}"')
    return int(text)


async def watch_lines(registry: Registry, bells: Bells, request: Request) -> AsyncIterator[bytes]:
    """Yield a watch's lines: what is there if no version was given, then each change."""
    loop = asyncio.get_running_loop()
    resource, state = request.target.resource, registry.state
    ends_at = loop.time() + request.timeout_s
    marks_at = loop.time() + min(_BOOKMARK_EVERY_S, request.timeout_s - _BOOKMARK_BEFORE_END_S)
    told = state.revision if request.since is None else request.since
    for line in _initial_lines(registry, request):
        yield line
    while True:
        bell, history = bells.get(resource.key), state.history(resource.key)
        if told < history.forgotten:
            yield _line("ERROR", msgspec.json.encode(expired(told, history.forgotten).status()))
            return
        for change in history.after(told):
            told = change.revision
            if (line := _event(registry, request, change)) is not None:
                yield line
        if history.after(told):
            continue
        if request.bookmarks and loop.time() >= marks_at:
            marks_at = max(loop.time() + _BOOKMARK_EVERY_S, marks_at)
            told = max(told, state.revision)
            yield _bookmark(resource, told, {})
        if loop.time() >= ends_at:
            return
        until = min(ends_at, marks_at) if request.bookmarks and marks_at < ends_at else ends_at
        await _wait(bell, until - loop.time())


async def _wait(bell: asyncio.Event, timeout_s: float) -> None:
    try:
        await asyncio.wait_for(bell.wait(), max(0.0, timeout_s))
    except TimeoutError:
        return


def _initial_lines(registry: Registry, request: Request) -> Iterator[bytes]:
    resource, state = request.target.resource, registry.state
    if request.since is None:
        revision = state.revision
        for obj in list(state.items(resource.key, request.target.namespace)):
            if request.chosen(obj):
                yield _line("ADDED", registry.body(resource, obj))
        if request.marks_initial_end:
            yield _bookmark(resource, revision, _INITIAL_END)


def _event(registry: Registry, request: Request, change: Change) -> bytes | None:
    before, after = change.before, change.after
    had = before is not None and _chosen(request, before)
    has = after is not None and _chosen(request, after)
    match had, has:
        case False, True:
            return _line("ADDED", _body(registry, request, change))
        case True, True:
            return _line("MODIFIED", _body(registry, request, change))
        case True, False if after is None:
            return _line("DELETED", _body(registry, request, change))
        case True, False:
            assert before is not None
            version = {"resourceVersion": str(change.revision)}
            left = before | {"metadata": before["metadata"] | version}
            shown = registry.view(request.target.resource, left)
            return _line("DELETED", msgspec.json.encode(shown))
        case _:
            return None


def _chosen(request: Request, obj: Object) -> bool:
    namespace = request.target.namespace
    inside = namespace is None or obj["metadata"].get("namespace") == namespace
    return inside and request.chosen(obj)


def _body(registry: Registry, request: Request, change: Change) -> bytes:
    resource = request.target.resource
    if resource.stored_version in ("", resource.version):
        return change.body
    return msgspec.json.encode(registry.view(resource, msgspec.json.decode(change.body)))


def _bookmark(resource: Resource, revision: int, annotations: Object) -> bytes:
    metadata: Object = {"resourceVersion": str(revision), "creationTimestamp": None}
    metadata |= {"annotations": annotations} if annotations else {}
    head = {"kind": resource.kind, "apiVersion": resource.api_version}
    return _line("BOOKMARK", msgspec.json.encode(head | {"metadata": metadata}))


def _line(kind: str, body: bytes) -> bytes:
    return b'{"type":"%b","object":%b}\n' % (kind.encode(), body)


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise bad_request(f"invalid timeoutSeconds: {text!r}")
    return int(text)
