"""An API server with a proxy in between that delays, loses and refuses as a test says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

from tidegate.errors import ApiUnreachableError
from tidegate.kube.ports import JSON, KubernetesApi, Response

Meddle = Callable[[str, str], Awaitable[Response | None]]


class Interposed:
    """``KubernetesApi`` over another one; a fault is a field that a test sets."""

    def __init__(self, api: KubernetesApi) -> None:
        self.api = api
        self.requests = list[tuple[str, str]]()
        self.before: Meddle | None = None  # may answer in the server's place, or change things
        self.answers_lost = 0  # so many answers to the next patches never arrive
        self.down = False  # nothing arrives, and watches break
        self.lag_s = 0.0  # so late each line of a watch arrives

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
    ) -> Response:
        self.requests.append((method, path))
        if self.down:
            raise ApiUnreachableError("no server there")
        answered = await self.before(method, path) if self.before else None
        if answered is not None:
            return answered
        answer = await self.api.request(
            method, path, query=query, body=body, content_type=content_type
        )
        if method == "PATCH" and self.answers_lost:
            self.answers_lost -= 1
            raise ApiUnreachableError("the answer was lost")
        return answer

    @asynccontextmanager
    async def watch(
        self, path: str, query: Mapping[str, str]
    ) -> AsyncGenerator[AsyncIterator[bytes]]:
        if self.down:
            raise ApiUnreachableError("no server there")
        async with self.api.watch(path, query) as lines:
            yield self._breaking(lines)

    async def _breaking(self, lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for line in lines:
            await asyncio.sleep(self.lag_s)
            if self.down:
                raise ApiUnreachableError("the watch broke")
            yield line
