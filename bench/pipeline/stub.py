"""A stub of the Kubernetes API server: it says yes at once and plays the watches.

It keeps objects by their path, merges patches, counts versions, and checks nothing but a patch's
uid and resourceVersion. What it costs is this benchmark's own and counts for no service.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict, deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from http import HTTPStatus
from itertools import count
from typing import Any, NamedTuple, cast

import msgspec

from apiserver.requests.patches import merge
from bench.pipeline.http import Answer, Connection, Request

Object = dict[str, Any]
Changed = Callable[[str, Object], None]
"""Hears of each write of a client: the object's path and the object."""
_NOT_KEPT = frozenset({"events"})
_PAST_MAX = 10_000
"""Changes of a resource that a watch may begin behind."""


class Place(NamedTuple):
    """What a path names."""

    resource: str  # group, version and plural, e.g. "batch/v1/jobs"
    namespace: str
    name: str  # empty: the collection
    subresource: str


class _Watcher(NamedTuple):
    connection: Connection
    label: str  # a label that an object must have; empty: none


class Stub:
    """Objects and their watches."""

    def __init__(self, changed: Changed) -> None:
        self.requests: Counter[str] = Counter()  # by method and resource
        self._changed = changed
        self._objects = defaultdict[str, dict[str, Object]](dict)  # by resource, then by key
        self._watchers = defaultdict[str, list[_Watcher]](list)
        self._past = defaultdict[str, deque[tuple[int, bytes]]](lambda: deque(maxlen=_PAST_MAX))
        self._versions, self._uids = count(1), count(1)
        self._version = 0

    @asynccontextmanager
    async def serve(self) -> AsyncGenerator[str]:
        """Listen on loopback; yield the URL."""
        loop = asyncio.get_running_loop()
        server = await loop.create_server(
            lambda: Connection(self._serve, self._watch, self._drop_watcher), "127.0.0.1", 0
        )
        try:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            server.close()

    def put(self, path: str, obj: Object) -> Object:
        """Create or replace an object; send the event to its watches."""
        place = parse_path(path)
        key = f"{place.namespace}/{obj['metadata']['name']}"
        objects = self._objects[place.resource]
        kind = "MODIFIED" if key in objects else "ADDED"
        objects[key] = obj
        meta = obj["metadata"]
        meta.setdefault("uid", f"00000000-0000-0000-0000-{next(self._uids):012}")
        meta.setdefault("creationTimestamp", datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
        if place.namespace:
            meta.setdefault("namespace", place.namespace)
        self._version = next(self._versions)
        meta["resourceVersion"] = str(self._version)
        self._notify(place.resource, kind, obj)
        return obj

    def delete(self, path: str) -> None:
        """Delete an object; send the event to its watches."""
        place = parse_path(path)
        obj = self._objects[place.resource].pop(f"{place.namespace}/{place.name}", None)
        if obj is not None:
            self._version = next(self._versions)
            obj["metadata"]["resourceVersion"] = str(self._version)
            self._notify(place.resource, "DELETED", obj)

    def find(self, path: str) -> Object | None:
        """Return an object, None if there is none."""
        place = parse_path(path)
        return self._objects[place.resource].get(f"{place.namespace}/{place.name}")

    def _serve(self, request: Request) -> Answer:
        place = parse_path(request.path)
        plural = place.resource.rpartition("/")[2]
        verb = request.method if place.name or request.method != "GET" else "LIST"
        self.requests[f"{verb} {plural}{'/' * bool(place.subresource)}{place.subresource}"] += 1
        match request.method:
            case "GET" if not place.name:
                return self._list(request, place)
            case "POST":
                return self._create(request, plural)
            case "PATCH":
                return self._patch(request, place)
            case "DELETE":
                self.delete(request.path)
                return Answer(HTTPStatus.OK, b"{}")
            case _:
                obj = self.find(request.path)
                return _status(HTTPStatus.NOT_FOUND) if obj is None else _body(obj)

    def _list(self, request: Request, place: Place) -> Answer:
        all_items = [
            obj
            for obj in self._objects[place.resource].values()
            if place.namespace in ("", obj["metadata"].get("namespace", ""))
        ]
        begin = int(request.query.get("continue", "0"))
        end = begin + int(request.query.get("limit", len(all_items)))
        meta = {"resourceVersion": str(self._version)}
        meta |= {"continue": str(end)} if end < len(all_items) else {}
        return _body({"metadata": meta, "items": all_items[begin:end]})

    def _create(self, request: Request, plural: str) -> Answer:
        obj = msgspec.json.decode(request.body, type=Object)
        if plural not in _NOT_KEPT:
            path = f"{request.path}/{obj['metadata']['name']}"
            obj["metadata"].setdefault("generation", 1)
            self.put(path, obj)
            self._changed(path, obj)
        return Answer(HTTPStatus.CREATED, msgspec.json.encode(obj))

    def _patch(self, request: Request, place: Place) -> Answer:
        path = request.path.removesuffix(f"/{place.subresource}") if place.subresource else ""
        obj = self.find(path or request.path)
        if obj is None:
            return _status(HTTPStatus.NOT_FOUND)
        patch = msgspec.json.decode(request.body, type=Object)
        pins = patch.pop("metadata", {})
        version = pins.pop("resourceVersion", obj["metadata"]["resourceVersion"])
        if version != obj["metadata"]["resourceVersion"]:
            return _status(HTTPStatus.CONFLICT)
        pins.pop("uid", None)
        if place.subresource:
            patch = {place.subresource: patch.get(place.subresource, {})}
        expected = {**patch, "metadata": pins} if pins else patch
        merged = cast("Object", merge(obj, expected))  # two objects make an object
        if "spec" in patch:
            meta = merged["metadata"]
            merged["metadata"] = {**meta, "generation": meta.get("generation", 1) + 1}
        merged["metadata"] = dict(merged["metadata"])
        self.put(path or request.path, merged)
        self._changed(path or request.path, merged)
        return _body(merged)

    def _watch(self, request: Request, connection: Connection) -> None:
        resource, since = parse_path(request.path).resource, int(request.query["resourceVersion"])
        missed = [line for version, line in self._past[resource] if version > since]
        if missed:
            connection.send(b"".join(missed))
        label = request.query.get("labelSelector", "")
        self._watchers[resource].append(_Watcher(connection, label))
        loop, lasting_s = asyncio.get_running_loop(), float(request.query["timeoutSeconds"])
        loop.call_later(lasting_s, self._end_watch, connection)

    def _end_watch(self, connection: Connection) -> None:
        self._drop_watcher(connection)
        connection.end()

    def _drop_watcher(self, connection: Connection) -> None:
        for watchers in self._watchers.values():
            watchers[:] = [watcher for watcher in watchers if watcher.connection is not connection]

    def _notify(self, resource: str, kind: str, obj: Object) -> None:
        line = b'{"type":"%b","object":%b}\n' % (kind.encode(), msgspec.json.encode(obj))
        self._past[resource].append((self._version, line))
        labels = obj["metadata"].get("labels", {})
        for watcher in self._watchers[resource]:
            if not watcher.label or watcher.label in labels:
                watcher.connection.send(line)


def parse_path(path: str) -> Place:
    """Return what a path names."""
    parts = path.strip("/").split("/")
    rest = parts[2:] if parts[0] == "api" else parts[3:]
    group = "/".join(parts[1 : len(parts) - len(rest)])
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2:  # noqa: PLR2004 - else it is the namespace
        namespace, rest = rest[1], rest[2:]
    plural, name, subresource = [*rest, "", ""][:3]
    return Place(f"{group}/{plural}", namespace, name, subresource)


def _body(obj: Object) -> Answer:
    return Answer(HTTPStatus.OK, msgspec.json.encode(obj))


def _status(code: HTTPStatus) -> Answer:
    status = {"kind": "Status", "status": "Failure", "code": code.value, "message": code.phrase}
    return Answer(code, msgspec.json.encode(status))
