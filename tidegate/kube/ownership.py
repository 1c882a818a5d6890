"""One installation decides for a cluster: a Lease in it says which, and another one refuses.

Its holder renews it; who finds another's watches whether that happens. Clocks of two machines are
not compared: what is not renewed for as long as it lasts is free. Several processes of one
installation hold it together, each by the installation's name.
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

LASTS_S, RENEWED_S, POLL_S = 15, 4.0, 1.0
_BY = "tidegate.dev/renewed-by"
_CHANGED = (HTTPStatus.CONFLICT, HTTPStatus.NOT_FOUND)


class OwnedError(TidegateError):
    """Another instance decides for this cluster; the message says which."""


class Place(msgspec.Struct, frozen=True):
    """Which Lease says who decides."""

    namespace: str
    name: str

    @property
    def path(self) -> str:
        """Return the path of the Leases beside it."""
        return f"/apis/coordination.k8s.io/v1/namespaces/{self.namespace}/leases"


UP = Place("tidegate-system", "tidegate-up")
"""For ``tidegate up`` itself, before anything of it runs."""
ACTUATOR = Place("kube-system", "tidegate")
"""For whoever starts and stops jobs, wherever it is installed."""


class Ownership:
    """One process's hold on a Lease."""

    def __init__(self, api: KubernetesApi, place: Place, holder: str, by: str) -> None:
        """``holder`` is the installation's name, ``by`` the process's."""
        self._api, self._place, self._holder, self._by = api, place, holder, by
        self._with_us_s = -1.0  # loop time at which another process of ours had renewed it

    async def take(self) -> None:
        """Take the Lease, once nobody else holds it.

        Raises:
            OwnedError: another installation holds it and renews it.
            ApiStatusError: the API server refused it.
            ApiUnreachableError: it does not answer.
        """
        loop = asyncio.get_running_loop()
        seen, since_s = "", loop.time()
        while True:
            found = await self._read()
            standing, renewed = _holder(found), str(found.get("spec", {}).get("renewTime", ""))
            if seen and standing not in ("", self._holder) and renewed != seen:
                raise self._owned(found)
            free = standing in ("", self._holder) or loop.time() - since_s > LASTS_S
            if free and await self._write(found):
                return
            seen = seen or renewed
            await asyncio.sleep(POLL_S)

    async def keep(self) -> None:
        """Renew the Lease for ever.

        While the API server does not answer nobody renews anything, and nobody starts a job.

        Raises:
            OwnedError: another installation has it by now.
        """
        while True:
            await asyncio.sleep(RENEWED_S)
            with suppress(ApiStatusError, ApiUnreachableError):
                found = await self._read()
                if _holder(found) not in ("", self._holder):
                    raise self._owned(found)
                if _by(found) not in ("", self._by):
                    self._with_us_s = asyncio.get_running_loop().time()
                await self._write(found)

    async def release(self) -> None:
        """Give the Lease up, unless another process of ours holds it as well."""
        now_s = asyncio.get_running_loop().time()
        if self._with_us_s >= 0 and now_s - self._with_us_s < LASTS_S:
            return
        with suppress(ApiStatusError, ApiUnreachableError):  # it runs out by itself
            found = await self._read()
            if _holder(found) == self._holder and _by(found) == self._by:
                await self._write(found, holder="")

    async def _read(self) -> dict[str, Any]:
        """Return the Lease; empty if there is none."""
        answer = await self._api.request("GET", f"{self._place.path}/{self._place.name}")
        return {} if answer.status == HTTPStatus.NOT_FOUND else _object(answer)

    async def _write(self, found: dict[str, Any], holder: str | None = None) -> bool:
        """Write the Lease as ours over what was found; tell whether nobody was faster."""
        place = self._place
        metadata: dict[str, Any] = {"name": place.name, "namespace": place.namespace}
        metadata |= found.get("metadata", {})
        metadata["annotations"] = {**metadata.get("annotations", {}), _BY: self._by}
        spec = {
            "holderIdentity": self._holder if holder is None else holder,
            "leaseDurationSeconds": LASTS_S,
            "renewTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        }
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
        body = msgspec.json.encode({**lease, "metadata": metadata, "spec": spec})
        method, path = ("PUT", f"{place.path}/{place.name}") if found else ("POST", place.path)
        answer = await self._api.request(method, path, body=body, content_type=JSON)
        if answer.status in _CHANGED:
            return False
        _object(answer)
        return True

    def _owned(self, found: dict[str, Any]) -> OwnedError:
        return OwnedError(
            f"Another Tidegate decides for this cluster: {_holder(found)}, process {_by(found)} "
            f"(Lease {self._place.name} in {self._place.namespace}). End one of the two, or use "
            "another cluster."
        )


@asynccontextmanager
async def owned(api: KubernetesApi, holder: str, place: Place = UP) -> AsyncGenerator[None]:
    """Hold a Lease until the block ends.

    Raises:
        Whatever ``Ownership.take`` raises.
    """
    ownership = Ownership(api, place, holder, holder)
    await ownership.take()
    renewing = asyncio.create_task(ownership.keep())
    try:
        yield
    finally:
        renewing.cancel()
        with suppress(asyncio.CancelledError, OwnedError):
            await renewing
        await ownership.release()


def _holder(found: dict[str, Any]) -> str:
    return str(found.get("spec", {}).get("holderIdentity", ""))


def _by(found: dict[str, Any]) -> str:
    return str(found.get("metadata", {}).get("annotations", {}).get(_BY, ""))


def _object(answer: Response) -> dict[str, Any]:
    if answer.status >= HTTPStatus.BAD_REQUEST:
        raise ApiStatusError(answer.status, status_message(answer.body))
    found: dict[str, Any] = msgspec.json.decode(answer.body)
    return found
