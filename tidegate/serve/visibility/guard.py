"""``tidegate guard``: register the aggregated APIs only while a server answers for them.

Kubernetes finishes the deletion of no namespace while a registered API does not answer, since its
controller cannot learn what might be left in there. Without the registration it does not ask.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from base64 import b64encode
from collections.abc import Callable, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import aiohttp
import msgspec
import typer

from tidegate.errors import ApiStatusError, ApiUnreachableError, SettingsError, reason_of
from tidegate.kube.answers import checked_body
from tidegate.kube.client import connect
from tidegate.kube.credentials import Access
from tidegate.kube.ports import KubernetesApi, Response
from tidegate.serve.auth.authorities import read_authority
from tidegate.service.config.yaml_documents import parse_yaml
from tidegate.service.logs import configure_logs, get_log

SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
POLL_S, MISSES_MAX, ASK_S = 3.0, 3, 3.0
"""How often it looks, after how many misses it takes them off, and how long one look may take."""
AGAIN_S = 60.0
"""So long they stay off at least: what the API server cannot reach comes and goes no oftener."""
Service: TypeAlias = dict[str, Any]


class _Named(msgspec.Struct):
    name: str


class _ApiService(msgspec.Struct):
    """What is needed of an APIService."""

    kind: Literal["APIService"]
    metadata: _Named
    spec: dict[str, Any]


class ApiServiceRegistrar:
    """Keeps APIServices registered as long as their server is reached."""

    def __init__(
        self,
        api: KubernetesApi,
        services: Sequence[Service],
        answers: Callable[[], Any],
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """``answers`` is awaited: whether the server answers."""
        self._api, self._services, self._answers, self._now_s = api, services, answers, now_s
        self._misses, self._off_s = 0, -AGAIN_S

    async def reconcile(self) -> None:
        """Ask the server once, and register or take off accordingly.

        Raises:
            ApiStatusError: the API server refuses.
            ApiUnreachableError: the API server does not answer.
        """
        missing = await self._missing_services() if await self._answers() else None
        self._misses = 0 if missing is not None else self._misses + 1
        if missing is not None and self._now_s() - self._off_s >= AGAIN_S:
            for service in missing:
                checked_body(await self._post(service), HTTPStatus.CREATED, HTTPStatus.CONFLICT)
        elif self._misses == MISSES_MAX:
            self._off_s = self._now_s()
            get_log("guard").warning("no server answers: taken off", after_s=POLL_S * MISSES_MAX)
        if self._misses >= MISSES_MAX:
            for service in self._services:
                path = f"{SERVICES}/{service['metadata']['name']}"
                gone = await self._api.request("DELETE", path)
                checked_body(gone, HTTPStatus.OK, HTTPStatus.NOT_FOUND)

    async def _missing_services(self) -> list[Service] | None:
        """Return what is not registered; None: the API server cannot reach what is."""
        missing = list[Service]()
        for service in self._services:
            answer = await self._api.request("GET", f"{SERVICES}/{service['metadata']['name']}")
            if answer.status == HTTPStatus.OK and _is_unavailable(answer.body):
                return None
            if answer.status != HTTPStatus.OK:
                missing.append(service)
        return missing

    async def _post(self, service: Service) -> Response:
        return await self._api.request("POST", SERVICES, body=msgspec.json.encode(service))


async def run_registrar(it: ApiServiceRegistrar) -> None:
    """Look again and again, for ever; an API server that does not answer is asked again."""
    while True:
        try:
            await it.reconcile()
        except (ApiStatusError, ApiUnreachableError) as error:
            get_log("guard").warning("the API server does not do it", error=str(error))
        await asyncio.sleep(POLL_S)


async def is_answering(url: str, authority: str) -> bool:
    """Return whether a server answers; ``authority`` is the CA of its certificate, in PEM."""
    context = ssl.create_default_context(cadata=authority)
    timeout = aiohttp.ClientTimeout(total=ASK_S)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(f"{url}/healthz", ssl=context) as answer,
        ):
            return answer.status == HTTPStatus.OK
    except (aiohttp.ClientError, TimeoutError, OSError):
        return False


def with_ca_bundle(services: Sequence[Service], authority: str) -> list[Service]:
    """Return APIServices that believe a server's authority, given in PEM."""
    bundle = b64encode(authority.encode()).decode()
    return [{**service, "spec": {**service["spec"], "caBundle": bundle}} for service in services]


def _is_unavailable(body: bytes) -> bool:
    conditions = msgspec.json.decode(body).get("status", {}).get("conditions", ())
    return any(
        condition["type"] == "Available" and condition["status"] == "False"
        for condition in conditions
    )


def guarding(
    services: Annotated[Path, typer.Option(help="The APIServices to register, in YAML.")],
    ca: Annotated[Path, typer.Option(help="The CA of the server's certificate, in PEM.")],
    url: Annotated[
        str, typer.Option(help="The URL of the server.")
    ] = "https://tidegate-serve.tidegate-system.svc",
    kubeconfig: Annotated[
        Path | None,
        typer.Option(
            help="The kubeconfig of the API server; default: $KUBECONFIG, else the pod's own."
        ),
    ] = None,
) -> None:
    """Register Kueue's visibility API while a server answers for it, and unregister it otherwise.

    While a registered API does not answer, Kubernetes cannot finish deleting any namespace. guard
    asks the server every three seconds, and unregisters the APIs after the third failure. See
    docs/serve.md.

    Example:
      tidegate guard --services services.yaml --ca ca.crt
    """
    authority, listed = read_authority(ca, "--ca"), _read_services(services)
    configure_logs("guard", "auto", "info")
    access = Access(kubeconfig=str(kubeconfig or ""))
    asyncio.run(_run(access, with_ca_bundle(listed, authority), url.rstrip("/"), authority))


def _read_services(path: Path) -> list[Service]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} cannot be read: {reason_of(error)}.") from error
    services = [document for document in parse_yaml(text, str(path)) if document is not None]
    try:
        msgspec.convert(services, list[_ApiService])
    except msgspec.ValidationError as error:
        raise SettingsError(f"{path} must hold APIServices alone: {error}.") from error
    if not services:
        raise SettingsError(f"{path} holds no APIService.")
    return services


async def _run(access: Access, services: list[dict[str, object]], url: str, ca: str) -> None:
    async with connect(access) as api:
        await run_registrar(ApiServiceRegistrar(api, services, lambda: is_answering(url, ca)))
