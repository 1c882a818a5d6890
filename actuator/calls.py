"""Requests of the actuator: counted, decoded, and remembered as our own last write left the object.

What a moment later need not be read again is kept as the API server wrote it: decoded it takes
several times as much memory, and each collection of garbage would walk it, while most is never
looked at.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TypeVar

import msgspec
from prometheus_client import Counter

from actuator.metrics import Metrics
from tidegate.errors import ApiStatusError, ApiUnreachableError
from tidegate.jobs.kind import Object
from tidegate.kinds.decode import Page, decode_list
from tidegate.kube.answers import checked_body
from tidegate.kube.ports import JSON, MERGE_PATCH, KubernetesApi, Response

LASTS_S = 30.0
"""Seconds: later, another client may have changed them."""
BYTES_MAX = 32 << 20
"""Of all that is remembered, as the API server wrote it: an object may have more than a MiB."""
T = TypeVar("T")
_decoder = msgspec.json.Decoder(Object)
FRESH: Mapping[str, str] = {}
CACHED: Mapping[str, str] = {"resourceVersion": "0"}
"""From the API server's own cache: cheaper, and perhaps a moment old."""
_UNCHECKED: Mapping[str, str] = {"fieldValidation": "Ignore"}
"""What we write is made from types: looking for unknown fields would cost the API server a
twentieth of a patch, and trigger no watch."""


@dataclass(slots=True)
class RecentWrites:
    """Objects by path, the oldest write first. Nothing depends on it: patches name a version."""

    _kept: dict[str, tuple[float, bytes]] = field(default_factory=dict)
    _bytes: int = 0

    def put(self, path: str, written: bytes, now_s: float) -> None:
        """Remember an object's JSON, and forget the oldest ones beyond ``BYTES_MAX``."""
        self.drop(path)
        self._kept[path] = now_s, written
        self._bytes += len(written)
        while self._bytes > BYTES_MAX or self._is_past(now_s):
            self.drop(next(iter(self._kept)))

    def get(self, path: str, now_s: float) -> bytes:
        """Return an object's JSON, empty if it is not remembered any more."""
        at_s, written = self._kept.get(path, (now_s, b""))
        return written if now_s - at_s <= LASTS_S else b""

    def drop(self, path: str) -> None:
        """Forget an object: it is not as our last write left it."""
        _, written = self._kept.pop(path, (0.0, b""))
        self._bytes -= len(written)

    def _is_past(self, now_s: float) -> bool:
        oldest = next(iter(self._kept.values()), None)
        return oldest is not None and now_s - oldest[0] > LASTS_S


class Calls:
    """One API server as the actuator uses it."""

    def __init__(
        self, api: KubernetesApi, metrics: Metrics, may_write: Callable[[], bool] = lambda: True
    ) -> None:
        self._api = api
        self._metrics = metrics
        self._may_write = may_write
        self._recent = RecentWrites()
        self._counters = dict[tuple[str, int], Counter]()  # ``labels`` takes longer

    def gated_by(self, may_write: Callable[[], bool]) -> Calls:
        """Return calls that write nothing unless it may be.

        A process that read an object and then lost its lease would otherwise write outdated state
        over what its successor has shown.
        """
        guarded = Calls(self._api, self._metrics, may_write)
        guarded._recent = self._recent
        return guarded

    async def read(self, path: str, query: Mapping[str, str] = FRESH) -> Object | None:
        """Return an object, None if there is none.

        Raises:
            ApiStatusError: the server refused.
            ApiUnreachableError: no answer came.
        """
        answer = await self._send("GET", path, query=query)
        return None if answer.status == HTTPStatus.NOT_FOUND else _decoded_object(answer)

    async def patch(self, path: str, body: Object) -> Object:
        """Merge ``body`` into an object and return what it became.

        Raises:
            ApiStatusError: the server refused: 404, 409, 422, …
            ApiUnreachableError: no answer came; the patch may have been applied.
        """
        return _decoder.decode(await self._send_patch(path, body))

    async def patch_blind(self, path: str, body: Object) -> None:
        """Merge ``body`` into an object whose answer is not needed; errors as in ``patch``."""
        await self._send_patch(path, body)

    async def _send_patch(self, path: str, body: Object) -> bytes:
        data = msgspec.json.encode(body)
        about = path.removesuffix("/status")
        self.forget_write(about)
        answer = await self._send(
            "PATCH", path, query=_UNCHECKED, body=data, content_type=MERGE_PATCH
        )
        return self._remember_answer(about, answer)

    def last_written(self, path: str) -> Object | None:
        """Return an object as our last write left it a moment ago; None: not remembered."""
        written = self._recent.get(path, asyncio.get_running_loop().time())
        return _decoder.decode(written) if written else None

    def forget_write(self, path: str) -> None:
        """Forget an object: another client has changed it since our last write."""
        self._recent.drop(path)

    def _remember_answer(self, path: str, answer: Response) -> bytes:
        written = checked_body(answer)
        self._recent.put(path, written, asyncio.get_running_loop().time())
        return written

    async def create(self, path: str, body: Object) -> Object:
        """Create an object in a collection and return it; errors as in ``patch``."""
        answer = await self._send("POST", path, body=msgspec.json.encode(body))
        return _decoder.decode(
            self._remember_answer(f"{path}/{body['metadata'].get('name', '')}", answer)
        )

    async def create_blind(self, path: str, body: Object) -> None:
        """Create an object that is not read again, such as an Event; errors as in ``patch``."""
        checked_body(await self._send("POST", path, body=msgspec.json.encode(body)))

    async def delete(self, path: str, options: Object) -> None:
        """Delete an object; a missing one counts as deleted. Errors as in ``patch``."""
        self.forget_write(path)
        answer = await self._send("DELETE", path, body=msgspec.json.encode(options))
        if answer.status not in (HTTPStatus.NOT_FOUND, HTTPStatus.ACCEPTED):
            checked_body(answer)

    async def newest_version(self, path: str) -> str:
        """Return the version that a list would have now; errors as in ``read``."""
        answer = await self._send("GET", path, query={"limit": "1"})
        return str(_decoded_object(answer)["metadata"]["resourceVersion"])

    async def list_page(self, path: str, query: Mapping[str, str], kind: type[T]) -> Page[T]:
        """Return one page of a list.

        Raises:
            ApiStatusError: the server refused; 404 while there is no such resource.
            ApiUnreachableError: no answer came.
            UndecodableError: the answer is no list.
        """
        answer = await self._send("GET", path, query=query)
        return decode_list(checked_body(answer), kind)

    def watch(
        self, path: str, query: Mapping[str, str]
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Open a watch; see ``KubernetesApi.watch``."""
        return self._api.watch(path, query)

    async def _send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] = FRESH,
        body: bytes | None = None,
        content_type: str = JSON,
    ) -> Response:
        if method != "GET" and not self._may_write():
            raise ApiUnreachableError("Another actuator is the active one by now.")
        try:
            answer = await self._api.request(
                method, path, query=query, body=body, content_type=content_type
            )
        except ApiUnreachableError:
            self._request_counter(method, 0).inc()
            raise
        self._request_counter(method, answer.status).inc()
        return answer

    def _request_counter(self, method: str, status: int) -> Counter:
        counter = self._counters.get((method, status))
        if counter is None:
            counter = self._metrics.requests.labels(method, str(status))
            self._counters[method, status] = counter
        return counter


def is_temporary(error: ApiStatusError) -> bool:
    """Return whether the server's refusal may be temporary: it is busy or failed internally."""
    return error.status == HTTPStatus.TOO_MANY_REQUESTS or error.status >= 500  # noqa: PLR2004 - 5xx


def _decoded_object(answer: Response) -> Object:
    return _decoder.decode(checked_body(answer))


def is_conflict(error: Exception) -> bool:
    """Return whether a patch met a newer version: the object is read and patched again at once."""
    return isinstance(error, ApiStatusError) and error.status == HTTPStatus.CONFLICT


def with_preconditions(body: Object, obj: Object) -> Object:
    """Return a patch that applies to this very object in this very version, or not at all."""
    meta = obj["metadata"]
    pins = {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}
    return {**body, "metadata": {**body.get("metadata", {}), **pins}}
