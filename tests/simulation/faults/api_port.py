"""The API server as a process has it: away, busy, late, and shared with other clients.

A process passes its life at each call, before and behind it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Protocol

from tests.simulation.faults.life import Life
from tests.simulation.faults.weather import Fault
from tidegate.errors import ApiStatusError, ApiUnreachableError
from tidegate.kube.ports import JSON, KubernetesApi, Response

RELIST_S = 120.0
RELISTED_S = 1.2 * RELIST_S  # within that everything is listed again, whatever was missed


class Others(Protocol):
    """The clients that act between two steps of a process."""

    def overtake(self, path: str) -> None:
        """Change the Job of a path that a process is about to patch."""

    def act_at_once(self) -> None:
        """Make a Job, or delete one."""


class LivingApi:
    """``KubernetesApi`` of a process, with an API server that is not always there."""

    def __init__(self, api: KubernetesApi, life: Life, others: Others | None = None) -> None:
        self._api, self._life = api, life
        self._others = others  # clients that act at the same moment

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
    ) -> Response:
        life, ordered = self._life, body if method == "PATCH" and "/jobs/" in path else None
        if ordered is not None:
            life.carrying.object_to(path, ordered, life.stalled_until_s)
        if method == "PATCH" and life.strikes("patch_stalls"):
            life.stall()
        await life.cross()
        self._befall(path, "overtaken" if ordered is not None else None)
        if life.strikes("unanswered") or self._is_away():
            raise ApiUnreachableError("the request was lost")
        if (refused := self._refused(orders=ordered is not None)) is not None:
            return refused
        answer = await self._api.request(
            method, path, query=query, body=body, content_type=content_type
        )
        if ordered is not None:
            life.carrying.answered(path, ordered, answer.status)
        self._befall(path, "listed_late" if path.endswith("/jobs") else None)
        await life.cross()
        if life.strikes("unanswered"):
            raise ApiUnreachableError("the answer was lost")
        if method == "GET":
            life.watching.listed(path, answer.status, answer.body)
        return answer

    def _befall(self, path: str, fault: Fault | None) -> None:
        """Let others act before an order is carried out, or behind a list."""
        if fault is None or self._others is None or not self._life.strikes(fault):
            return
        if fault == "overtaken":
            self._others.overtake(path)
        else:
            self._others.act_at_once()

    def _refused(self, *, orders: bool) -> Response | None:
        """Return the answer of a server that is too busy, or may not change Jobs now."""
        life = self._life
        if life.strikes("busy"):
            return Response(life.random.choice([429, 500, 503]), b'{"message":"too busy"}')
        if orders and life.weather.refuses(_now_s()):
            return Response(500, b'{"message":"failed calling webhook"}')
        return None

    def _is_away(self, since_s: float | None = None) -> bool:
        """Tell whether the server is not reached now, or was not since a moment."""
        from_s, until_s = self._life.parted_s
        parted = from_s <= _now_s() < until_s or (since_s is not None and since_s < from_s)
        return parted or self._life.weather.is_away(_now_s(), since_s)

    @asynccontextmanager
    async def watch(
        self, path: str, query: Mapping[str, str]
    ) -> AsyncGenerator[AsyncIterator[bytes], None]:
        watching = self._life.watching
        watching.begin(path, query.get("resourceVersion", ""))
        await self._life.cross()
        if self._life.strikes("unanswered") or self._is_away():
            raise ApiUnreachableError("the watch was not opened")
        if self._life.strikes("busy"):
            raise ApiStatusError(429, "too busy")
        try:
            async with self._api.watch(path, query) as lines:
                self._life.closed_s.pop(path, None)
                try:
                    yield self._told(path, lines)
                finally:
                    self._life.closed_s[path] = _now_s()
        except ApiStatusError as error:
            if error.status == HTTPStatus.GONE:
                watching.expire(path)
            raise

    async def _told(self, path: str, lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        life, asked_s, opened_s = self._life, -1.0, _now_s()
        async for line in lines:
            now_s = _now_s()
            # What waited while another line was late is not later than that one.
            await life.cross(life.watch_lag_s_max if now_s > asked_s else None)
            asked_s = _now_s()
            if life.strikes("watch_breaks") or self._is_away(opened_s):
                raise ApiUnreachableError("the watch broke")
            if b'"DELETED"' in line[:20] and life.strikes("deletion_missed"):
                life.weather.blind_until_s = _now_s() + RELISTED_S
                continue
            life.watching.hear(path, line)
            yield line


def _now_s() -> float:
    return asyncio.get_running_loop().time()
