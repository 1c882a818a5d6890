"""One installation decides for a cluster: the one that holds its Lease; any other refuses.

Its holder renews it; another installation watches whether it is renewed. Clocks of two machines are
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
from tidegate.kube.answers import checked_body
from tidegate.kube.ports import JSON, KubernetesApi, Response

LASTS_S, RENEWED_S, POLL_S = 15, 4.0, 1.0
_BY = "tidegate.dev/renewed-by"
_CHANGED = (HTTPStatus.CONFLICT, HTTPStatus.NOT_FOUND)


class OwnedError(TidegateError):
    """Another instance decides for this cluster; its name is in the message."""


class LeaseRef(msgspec.Struct, frozen=True):
    """The Lease of the installation that decides."""

    namespace: str
    name: str

    @property
    def path(self) -> str:
        """Return the path of the Leases beside it."""
        return f"/apis/coordination.k8s.io/v1/namespaces/{self.namespace}/leases"


UP = LeaseRef("tidegate-system", "tidegate-up")
"""For ``tidegate up`` itself, before anything of it runs."""
ACTUATOR = LeaseRef("kube-system", "tidegate")
"""The Lease of the actuator, in whichever namespace it is installed."""


class Ownership:
    """One process's hold on a Lease."""

    def __init__(self, api: KubernetesApi, place: LeaseRef, holder: str, by: str) -> None:
        """``holder`` is the installation's name, ``by`` the process's."""
        self._api, self._place, self._holder, self._by = api, place, holder, by
        self._with_us_s = -1.0  # loop time at which another process of ours had renewed it

    async def acquire(self) -> None:
        """Take the Lease, once no other instance holds it.

        Raises:
            OwnedError: another installation holds it and renews it.
            ApiStatusError: the API server refused it.
            ApiUnreachableError: it does not answer.
        """
        loop = asyncio.get_running_loop()
        renewed_before, since_s = "", loop.time()
        while True:
            lease = await self._read()
            standing, renewed = (
                _lease_holder(lease),
                str(lease.get("spec", {}).get("renewTime", "")),
            )
            if renewed_before and standing not in ("", self._holder) and renewed != renewed_before:
                raise self._owned_error(lease)
            free = standing in ("", self._holder) or loop.time() - since_s > LASTS_S
            if free and await self._write(lease):
                return
            renewed_before = renewed_before or renewed
            await asyncio.sleep(POLL_S)

    async def renew_forever(self) -> None:
        """Renew the Lease for ever.

        While the API server does not answer, no Lease is renewed and no job is started.

        Raises:
            OwnedError: another installation has it by now.
        """
        while True:
            await asyncio.sleep(RENEWED_S)
            with suppress(ApiStatusError, ApiUnreachableError):
                lease = await self._read()
                if _lease_holder(lease) not in ("", self._holder):
                    raise self._owned_error(lease)
                if _lease_process(lease) not in ("", self._by):
                    self._with_us_s = asyncio.get_running_loop().time()
                await self._write(lease)

    async def release(self) -> None:
        """Give the Lease up, unless another process of ours holds it as well."""
        now_s = asyncio.get_running_loop().time()
        if self._with_us_s >= 0 and now_s - self._with_us_s < LASTS_S:
            return
        with suppress(ApiStatusError, ApiUnreachableError):  # it runs out by itself
            lease = await self._read()
            if _lease_holder(lease) == self._holder and _lease_process(lease) == self._by:
                await self._write(lease, holder="")

    async def _read(self) -> dict[str, Any]:
        """Return the Lease; empty if there is none."""
        answer = await self._api.request("GET", f"{self._place.path}/{self._place.name}")
        return {} if answer.status == HTTPStatus.NOT_FOUND else _lease_of(answer)

    async def _write(self, before: dict[str, Any], holder: str | None = None) -> bool:
        """Write the Lease as ours over the one that was read; return False on a conflict."""
        place = self._place
        metadata: dict[str, Any] = {"name": place.name, "namespace": place.namespace}
        metadata |= before.get("metadata", {})
        metadata["annotations"] = {**metadata.get("annotations", {}), _BY: self._by}
        spec = {
            "holderIdentity": self._holder if holder is None else holder,
            "leaseDurationSeconds": LASTS_S,
            "renewTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        }
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
        body = msgspec.json.encode({**lease, "metadata": metadata, "spec": spec})
        method, path = ("PUT", f"{place.path}/{place.name}") if before else ("POST", place.path)
        answer = await self._api.request(method, path, body=body, content_type=JSON)
        if answer.status in _CHANGED:
            return False
        _lease_of(answer)
        return True

    def _owned_error(self, lease: dict[str, Any]) -> OwnedError:
        return OwnedError(
            f"Another Tidegate decides for this cluster: {_lease_holder(lease)}, process "
            f"{_lease_process(lease)} (Lease {self._place.name} in {self._place.namespace}). "
            "End one of the two, or use another cluster."
        )


@asynccontextmanager
async def hold_ownership(
    api: KubernetesApi, holder: str, place: LeaseRef = UP
) -> AsyncGenerator[None]:
    """Hold a Lease until the block ends.

    Raises:
        Whatever ``Ownership.acquire`` raises.
    """
    ownership = Ownership(api, place, holder, holder)
    await ownership.acquire()
    renewing = asyncio.create_task(ownership.renew_forever())
    try:
        yield
    finally:
        renewing.cancel()
        with suppress(asyncio.CancelledError, OwnedError):
            await renewing
        await ownership.release()


def _lease_holder(lease: dict[str, Any]) -> str:
    return str(lease.get("spec", {}).get("holderIdentity", ""))


def _lease_process(lease: dict[str, Any]) -> str:
    return str(lease.get("metadata", {}).get("annotations", {}).get(_BY, ""))


def _lease_of(answer: Response) -> dict[str, Any]:
    lease: dict[str, Any] = msgspec.json.decode(checked_body(answer))
    return lease
