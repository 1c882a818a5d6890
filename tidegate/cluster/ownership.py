"""One instance decides for a cluster: a Lease in it says which, and a second one refuses.

Its holder renews it; who finds another's watches whether that happens. Clocks of two machines are
not compared: what is not renewed for as long as it lasts is free.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

import msgspec

from tidegate.errors import ApiStatusError, ApiUnreachableError, TidegateError
from tidegate.kube.answers import status_message
from tidegate.kube.ports import JSON, KubernetesApi, Response

LEASES = "/apis/coordination.k8s.io/v1/namespaces/tidegate-system/leases"
NAME = "tidegate-up"
LASTS_S, RENEWED_S, POLL_S = 15, 4.0, 1.0
_CHANGED = (HTTPStatus.CONFLICT, HTTPStatus.NOT_FOUND)


class OwnedError(TidegateError):
    """Another instance decides for this cluster; the message says which."""


@asynccontextmanager
async def owned(api: KubernetesApi, holder: str) -> AsyncGenerator[None]:
    """Hold the cluster's Lease until the block ends.

    Raises:
        OwnedError: another instance holds it and renews it.
        ApiStatusError: the API server refused it.
        ApiUnreachableError: it does not answer.
    """
    await _take(api, holder)
    renewing = asyncio.create_task(_renew(api, holder))
    try:
        yield
    finally:
        renewing.cancel()
        with suppress(asyncio.CancelledError):
            await renewing
        with suppress(ApiStatusError, ApiUnreachableError):  # it runs out by itself
            await api.request("DELETE", f"{LEASES}/{NAME}")


async def _take(api: KubernetesApi, holder: str) -> None:
    loop = asyncio.get_running_loop()
    seen, since_s = "", loop.time()
    while True:
        found = await _read(api)
        spec = found["spec"] if found else {}
        standing = str(spec.get("holderIdentity", ""))
        if seen and standing and spec.get("renewTime", "") != seen:
            raise OwnedError(
                f"Another Tidegate decides for this cluster: {standing} (Lease {NAME} in "
                "tidegate-system). End it first, or use another cluster."
            )
        free = standing in ("", holder) or loop.time() - since_s > LASTS_S
        if free and await _write(api, holder, found):
            return
        seen = seen or str(spec.get("renewTime", ""))
        await asyncio.sleep(POLL_S)


async def _renew(api: KubernetesApi, holder: str) -> None:
    while True:
        await asyncio.sleep(RENEWED_S)
        with suppress(ApiStatusError, ApiUnreachableError):
            await _write(api, holder, await _read(api))


async def _read(api: KubernetesApi) -> dict[str, Any]:
    """Return the Lease; empty if there is none."""
    answer = await api.request("GET", f"{LEASES}/{NAME}")
    return {} if answer.status == HTTPStatus.NOT_FOUND else _object(answer)


async def _write(api: KubernetesApi, holder: str, found: dict[str, Any]) -> bool:
    """Write the Lease as ours over what was found; tell whether nobody was faster."""
    metadata = found.get("metadata", {"name": NAME, "namespace": "tidegate-system"})
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    spec = {"holderIdentity": holder, "leaseDurationSeconds": LASTS_S, "renewTime": now}
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
    body = msgspec.json.encode({**lease, "metadata": metadata, "spec": spec})
    method, path = ("PUT", f"{LEASES}/{NAME}") if found else ("POST", LEASES)
    answer = await api.request(method, path, body=body, content_type=JSON)
    if answer.status in _CHANGED:
        return False
    _object(answer)
    return True


def _object(answer: Response) -> dict[str, Any]:
    if answer.status >= HTTPStatus.BAD_REQUEST:
        raise ApiStatusError(answer.status, status_message(answer.body))
    found: dict[str, Any] = msgspec.json.decode(answer.body)
    return found
