"""The real form of ``KubernetesApi``: raw bytes over the session of ``kubernetes.aio``.

The library reads kubeconfigs, service account tokens and certificates; its generated methods and
models stay out of the way, because they would parse every object on the hot path.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing, nullcontext
from functools import partial
from http import HTTPStatus
from typing import Any, NamedTuple

import aiohttp
import msgspec
from kubernetes.aio import config as kube_config
from kubernetes.aio.client import Configuration
from kubernetes.aio.client.rest import RESTClientObject
from yaml import YAMLError

from tidegate.errors import (
    ApiStatusError,
    ApiUnreachableError,
    NotSupportedError,
    PageTooLargeError,
)
from tidegate.kube.answers import (
    NO_ANSWER,
    asked_to_wait_s,
    refuse_redirect,
    status_message,
    unreachable,
)
from tidegate.kube.connections import Answer, Connections
from tidegate.kube.kubeconfigs import existing
from tidegate.kube.ports import JSON, Response
from tidegate.kube.reading import PageSizes, body_of, limit_of
from tidegate.kube.sockets import watchful_socket
from tidegate.kube.watches import Opened, Opening, opened
from tidegate.urls import shown

_BUFFER_BYTES = 2**20
BUSY_TRIES = 4
"""How often a server that is too busy is asked again."""
_RENEWAL_S = 10.0
_UNREADABLE = (kube_config.ConfigException, OSError, YAMLError, LookupError, TypeError, ValueError)


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """How to reach an API server; the first of url, kubeconfig and in-cluster that is given."""

    url: str = ""  # e.g. http://127.0.0.1:8001; without TLS for loopback servers
    token: str = ""  # bearer token for ``url``
    ca_file: str = ""  # certificate authority for ``url``
    kubeconfig: str = ""  # path; empty: $KUBECONFIG, else in-cluster, else ~/.kube/config
    context: str = ""  # of the kubeconfig; empty: its current one
    document: Callable[[], Awaitable[dict[str, Any]]] | None = None  # a kubeconfig, as data
    impersonate: str = ""  # act as this user; needs the right to
    request_timeout_s: float = 30.0
    watch_slack_s: float = 5.0  # how long after its time a watch that says nothing is given up
    connections_max: int = 64
    answer_bytes_max: int = 0  # of a server that is not trusted; 0: any
    quick: bool = False  # small requests and watches of a trusted server over ``Connections``

    def __repr__(self) -> str:
        """Return it for a traceback: no token is in it."""
        where = shown(self.url) or self.kubeconfig or "in the cluster"
        return f"Access({where}, context={self.context!r})"


class _Request(NamedTuple):
    method: str
    path: str
    query: Mapping[str, str] | None
    body: bytes | None
    content_type: str


class KubernetesClient:
    """See ``tidegate.kube.ports.KubernetesApi``; made by ``connect``."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        configuration: Configuration,
        access: Access,
        quick: Connections | None = None,
    ) -> None:
        self._session, self._quick = session, quick
        self._configuration = configuration
        self._access = access
        self._base: str = configuration.host.rstrip("/")
        self._renewable_s = 0.0  # loop time before which credentials are not read again
        self._pages = PageSizes()

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
    ) -> Response:
        """See ``KubernetesApi.request``; after a 401 credentials are read anew and sent again.

        A page of a list that is too large is asked for again, with fewer objects from then on.
        """
        while True:
            within = self._pages.within(path, query)
            try:
                answer = await self._answered(_Request(method, path, within, body, content_type))
            except PageTooLargeError:
                self._pages.shrink(path, within)
            else:
                self._pages.grow(path, within)
                return answer

    async def _answered(self, request: _Request) -> Response:
        """Ask until there is an answer other than that the server is too busy.

        A 429 was not carried out. Where it says when to come back, so it is done, a few times.
        """
        tries = 0
        while True:
            answer, wait_s = await self._ask(request)
            if answer.status == HTTPStatus.UNAUTHORIZED and await self._renewed():
                answer, wait_s = await self._ask(request)
            tries += 1
            if not wait_s or tries == BUSY_TRIES:
                return answer
            await asyncio.sleep(wait_s)

    @asynccontextmanager
    async def watch(
        self, path: str, query: Mapping[str, str]
    ) -> AsyncGenerator[AsyncIterator[bytes]]:
        """See ``KubernetesApi.watch``; a line may be 64 MiB long.

        The connection is given up ``watch_slack_s`` after ``timeoutSeconds``: a server that is gone
        without a word would otherwise look like a quiet one. One that is too busy and says when to
        come back is waited for, and after a 401 it is opened again with credentials read anew.
        """
        while True:
            async with self._opened(path, {**query, "watch": "true"}) as answer:
                if answer.status == HTTPStatus.UNAUTHORIZED and await self._renewed():
                    continue  # not for ever: see ``_RENEWAL_S``
                await asyncio.sleep(asked_to_wait_s(answer.status, answer.headers))
                refuse_redirect(answer.status)
                if answer.status != HTTPStatus.OK:
                    text = await answer.text(self._access.answer_bytes_max)
                    raise ApiStatusError(answer.status, status_message(text))
                yield answer.lines()
                return

    async def _ask(self, request: _Request) -> tuple[Response, float]:
        """Return an answer, and the seconds to wait before it is asked again; 0: it is not."""
        method, path, query, body, content_type = request
        headers = await self._headers(content_type)
        try:
            if self._quick is not None and limit_of(query) <= 1:
                response = await self._quick.ask(method, path, query, headers, body)
            else:
                async with asyncio.timeout(self._access.request_timeout_s):
                    response = await self._requested(method, path, query, headers, body)
        except NO_ANSWER as error:
            raise ApiUnreachableError(unreachable(method, self._base + path, error)) from error
        refuse_redirect(response.status)
        return Response(response.status, response.body), asked_to_wait_s(
            response.status, response.headers
        )

    async def _requested(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        headers: Mapping[str, str],
        body: bytes | None,
    ) -> Answer:
        async with self._session.request(
            method,
            self._base + path,
            params=query,
            data=body,
            headers=headers,
            allow_redirects=False,
            proxy=self._configuration.proxy,
            server_hostname=self._configuration.tls_server_name,
        ) as answer:
            content = await body_of(answer.content, limit_of(query), self._access.answer_bytes_max)
            return Answer(answer.status, answer.headers, content)

    async def _renewed(self) -> bool:
        """Read the credentials again, as an exec plugin's or a rotated token asks for."""
        now_s = asyncio.get_running_loop().time()
        if self._access.url or now_s < self._renewable_s:
            return False
        self._renewable_s = now_s + _RENEWAL_S
        try:
            await _load(self._access, self._configuration)
        except (*_UNREADABLE, ApiUnreachableError):
            return False
        return True

    async def _headers(self, content_type: str) -> dict[str, str]:
        headers = {"Content-Type": content_type, "Accept": JSON}
        # It reads a service account's token again each minute.
        token = await self._configuration.get_api_key_with_prefix("BearerToken")
        if token:
            headers["Authorization"] = token
        if self._access.impersonate:
            headers["Impersonate-User"] = self._access.impersonate
        return headers

    def _opened(self, path: str, query: Mapping[str, str]) -> AbstractAsyncContextManager[Opened]:
        wanted_s = float(query.get("timeoutSeconds", "0"))
        return opened(
            self._session if self._quick is None else self._quick,
            Opening(
                url=self._base + path,
                path=path,
                query=query,
                headers=partial(self._headers, JSON),
                connect_s=self._access.request_timeout_s,
                lasting_s=wanted_s + self._access.watch_slack_s if wanted_s else None,
                proxy=self._configuration.proxy,
                server_hostname=self._configuration.tls_server_name,
            ),
        )


@asynccontextmanager
async def connect(access: Access) -> AsyncGenerator[KubernetesClient]:
    """Open a client; it is closed with the context.

    Raises:
        NotSupportedError: there is no way to an API server in ``access`` nor in the environment.
    """
    configuration = await _configuration(access)
    context = RESTClientObject(configuration).ssl_context
    connector = aiohttp.TCPConnector(
        limit=access.connections_max,
        ssl=context,
        keepalive_timeout=60,
        socket_factory=watchful_socket,
    )
    async with aiohttp.ClientSession(
        connector=connector,
        read_bufsize=_BUFFER_BYTES,
        timeout=aiohttp.ClientTimeout(total=access.request_timeout_s),
        cookie_jar=aiohttp.DummyCookieJar(),  # an API server sets none: else each request looks
    ) as session:
        quick = access.quick and not (configuration.proxy or access.answer_bytes_max)
        server = configuration.host, context, configuration.tls_server_name, access.connections_max
        within_s = access.request_timeout_s
        with closing(Connections(*server, within_s)) if quick else nullcontext() as connections:
            yield KubernetesClient(session, configuration, access, connections)


async def _configuration(access: Access) -> Configuration:
    # Without this the library hands out one shared, mutable default.
    configuration: Configuration = type.__call__(Configuration)
    try:
        await _load(access, configuration)
    except _UNREADABLE as error:
        raise NotSupportedError(
            f"No Kubernetes API server to talk to ({error}): give a URL, a kubeconfig, or run in "
            "a pod with a service account."
        ) from error
    return configuration


async def _load(access: Access, configuration: Configuration) -> None:
    path = access.kubeconfig or os.environ.get("KUBECONFIG", "")
    if access.url:
        configuration.host = access.url
        configuration.ssl_ca_cert = access.ca_file or None
        if access.token:
            configuration.api_key["BearerToken"] = f"Bearer {access.token}"
    elif access.document is not None:
        await kube_config.load_kube_config_from_dict(  # type: ignore[no-untyped-call]  # no types
            await access.document(), client_configuration=configuration
        )
    elif not path and "KUBERNETES_SERVICE_HOST" in os.environ:
        kube_config.load_incluster_config(configuration)  # type: ignore[no-untyped-call]  # no types
    else:
        await kube_config.load_kube_config(  # type: ignore[no-untyped-call]  # it ships no types
            config_file=existing(path),
            context=access.context or None,
            client_configuration=configuration,
            persist_config=False,
        )
