"""Watches: lines of events from a version on, until a timeout or a history that was forgotten.

A watch is a place in the history and keeps no queue: one that falls behind what the history holds
ends with 410, as on the real server.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import suppress
from itertools import chain
from typing import Any

import msgspec

from apiserver.refusals import bad_request, expired
from apiserver.requests.paths import Target
from apiserver.requests.selectors import Selector, selector
from apiserver.resources import Resource
from apiserver.state import Change
from apiserver.writes.registry import Registry

Object = dict[str, Any]
_TICK_S = 0.000_001
"""The shortest wait: deadlines come a moment too early, when a virtual clock stands still."""
_TIMEOUT_S, _BOOKMARK_EVERY_S, _BOOKMARK_BEFORE_END_S = 1_800.0, 60.0, 1.0
_INITIAL_END = {"k8s.io/initial-events-end": "true"}


class ChangeSignals:
    """One event per resource; a change wakes its waiters and replaces it."""

    def __init__(self) -> None:
        self._signals = dict[str, asyncio.Event]()

    def get(self, key: str) -> asyncio.Event:
        """Return what the next change of a resource will set."""
        return self._signals.setdefault(key, asyncio.Event())

    def notify(self, change: Change) -> None:
        """Wake the watches that wait for a change of this resource."""
        if signal := self._signals.pop(change.resource, None):
            signal.set()


class WatchRequest(msgspec.Struct, frozen=True):
    """A watch as it was asked for."""

    target: Target
    chosen: Selector
    since: int | None  # None: first everything that is there now
    timeout_s: float
    bookmarks: bool
    marks_initial_end: bool  # a bookmark marks the end of the initial objects


def read_request(target: Target, query: Mapping[str, str]) -> WatchRequest:
    """Read a watch's query.

    Raises:
        RefusedError: 400, a part of it cannot be read.
    """
    initial = query.get("sendInitialEvents") == "true"
    version = query.get("resourceVersion", "")
    return WatchRequest(
        target=target,
        chosen=selector(target.resource, query),
        since=None if initial or version in ("", "0") else read_version(version),
        timeout_s=float(read_whole_number(query, "timeoutSeconds") or _TIMEOUT_S),
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


async def watch_lines(
    registry: Registry, signals: ChangeSignals, request: WatchRequest
) -> AsyncGenerator[bytes]:
    """Yield a watch's lines: what is there if no version was given, then each change."""
    key, state = request.target.resource.key, registry.state
    clock = _Clock(request)
    since = state.revision if request.since is None else request.since
    if since < state.history(key).forgotten:
        yield _expired_line(since, state.history(key).forgotten)
        return
    for line in _initial_lines(registry, request):
        yield line
    while not clock.is_over():
        signal, history = signals.get(key), state.history(key)
        if since < history.dropped:  # this watch was too slow
            yield _expired_line(since, history.dropped)
            return
        if changes := history.changes_after(since):
            for line in chain.from_iterable(_event_lines(registry, request, c) for c in changes):
                yield line
            since = changes[-1].revision
            continue
        if clock.bookmark_is_due():
            since = max(since, state.revision)
            yield _bookmark(request.target.resource, since, {})
        await _wait_for_change(signal, clock.left_s())


class _Clock:
    """The times at which a watch ends and is due a bookmark, by the loop's clock."""

    def __init__(self, request: WatchRequest) -> None:
        self._time = asyncio.get_running_loop().time
        self._ends_at = self._time() + request.timeout_s
        self._bookmark_at = self._next_bookmark() if request.bookmarks else None

    def is_over(self) -> bool:
        return self._time() >= self._ends_at

    def bookmark_is_due(self) -> bool:
        """Return whether a bookmark is due; it counts as sent from then on."""
        if self._bookmark_at is None or self._time() < self._bookmark_at:
            return False
        self._bookmark_at = self._next_bookmark()
        return True

    def left_s(self) -> float:
        """Return how long to wait at most."""
        until = self._ends_at if self._bookmark_at is None else self._bookmark_at
        return max(0.0, min(until, self._ends_at) - self._time())

    def _next_bookmark(self) -> float | None:
        now, last = self._time(), self._ends_at - _BOOKMARK_BEFORE_END_S
        return min(now + _BOOKMARK_EVERY_S, last) if now < last else None


def _expired_line(version: int, oldest: int) -> bytes:
    return _line("ERROR", msgspec.json.encode(expired(version, oldest).status()))


async def _wait_for_change(signal: asyncio.Event, timeout_s: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(max(_TICK_S, timeout_s)):
            await signal.wait()


def _initial_lines(registry: Registry, request: WatchRequest) -> list[bytes]:
    """Return what is there now; all at once, since it may change between two lines."""
    if request.since is not None:
        return []
    resource, state = request.target.resource, registry.state
    lines = [
        _line("ADDED", registry.body(resource, obj))
        for obj in state.items(resource.key, request.target.namespace)
        if request.chosen(obj)
    ]
    if request.marks_initial_end:
        lines.append(_bookmark(resource, state.revision, _INITIAL_END))
    return lines


def _event_lines(registry: Registry, request: WatchRequest, change: Change) -> Iterator[bytes]:
    """Yield the one line that a change is to this watch, or none."""
    before, after = change.before, change.after
    had = before is not None and _is_selected(request, before)
    has = after is not None and _is_selected(request, after)
    if (
        had and after is not None and not has
    ):  # it left the selection: sent with its last selected state
        assert before is not None
        version = {"resourceVersion": str(change.revision)}
        last = before | {"metadata": before["metadata"] | version}
        yield _line("DELETED", msgspec.json.encode(registry.view(request.target.resource, last)))
    elif had or has:
        kind = "DELETED" if not has else "MODIFIED" if had else "ADDED"
        yield _line(kind, _body_in_version(registry, request, change))


def _is_selected(request: WatchRequest, obj: Object) -> bool:
    namespace = request.target.namespace
    inside = namespace is None or obj["metadata"].get("namespace") == namespace
    return inside and request.chosen(obj)


def _body_in_version(registry: Registry, request: WatchRequest, change: Change) -> bytes:
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


def read_whole_number(query: Mapping[str, str], name: str) -> int:
    """Read a whole number of a query; 0: it is not there.

    Raises:
        RefusedError: 400, it is no number.
    """
    text = query.get(name) or "0"
    if not (text.isascii() and text.isdigit()):
        raise bad_request(f"invalid {name}: {text!r}")
    return int(text)
