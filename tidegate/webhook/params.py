"""Parameters of policies: LocalQueues and ``default``, asked for at most every few seconds."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import quote

import msgspec

from tidegate.kube.answers import checked_body
from tidegate.kube.ports import KubernetesApi
from tidegate.webhook.expressions import Object

FRESH_S, PATIENCE_S, KEPT_MAX = 2.0, 1.0, 10_000
NAME_MAX = 253
"""Characters of a name in Kubernetes; a label is reviewed before the API server looks at it."""
_PLURALS = {"LocalQueue": "localqueues", "WorkloadPriorityClass": "workloadpriorityclasses"}
_NAMESPACED = ("LocalQueue",)


class _CacheEntry(NamedTuple):
    found: Object | None
    until_s: float


class Params:
    """Looks objects up, and remembers for ``FRESH_S`` what it found."""

    def __init__(self, api: KubernetesApi, now_s: Callable[[], float]) -> None:
        """Ask this API server; ``now_s`` is a clock that never steps back."""
        self._api = api
        self._now_s = now_s
        self._kept = OrderedDict[str, _CacheEntry]()

    async def find(self, api_version: str, kind: str, namespace: str, name: str) -> Object | None:
        """Return an object, of which name and conditions are kept; None: there is none.

        Raises:
            ApiStatusError: the API server refuses to say.
            ApiUnreachableError: it does not answer.
            TimeoutError: not in time; the review has to be answered without it.
        """
        if max(len(namespace), len(name)) > NAME_MAX:
            return None
        within = f"/namespaces/{quote(namespace, safe='')}" if kind in _NAMESPACED else ""
        path = f"/apis/{api_version}{within}/{_PLURALS[kind]}/{quote(name, safe='')}"
        cached = self._kept.get(path)
        if cached is None or cached.until_s <= self._now_s():
            cached = _CacheEntry(await self._fetch(path), self._now_s() + FRESH_S)
            self._kept[path] = cached
            self._kept.move_to_end(path)
            if len(self._kept) > KEPT_MAX:
                self._kept.popitem(last=False)
        return cached.found

    async def _fetch(self, path: str) -> Object | None:
        async with asyncio.timeout(PATIENCE_S):
            answer = await self._api.request("GET", path)
        if answer.status == HTTPStatus.NOT_FOUND:
            return None
        obj: Object = msgspec.json.decode(checked_body(answer, HTTPStatus.OK))
        conditions = (obj.get("status") or {}).get("conditions") or []
        summaries = [{"type": each["type"], "status": each["status"]} for each in conditions]
        return {"metadata": {"name": obj["metadata"]["name"]}, "status": {"conditions": summaries}}
