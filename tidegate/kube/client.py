"""The real form of ``KubernetesApi``: raw bytes over a session of aiohttp.

The generated methods and models of the official client stay out of the way, because they would
parse every object on the hot path: see ``tidegate.kube.credentials``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing, nullcontext
from functools import partial
from http import HTTPStatus
from typing import NamedTuple

import aiohttp

from tidegate.errors import (
    ApiStatusError,
    ApiUnreachableError,
    NotSupportedError,
    PageTooLargeError,
)
from tidegate.kube.answers import (
    NO_ANSWER,
    refuse_redirect,
    retry_after_s,
    status_message,
    unreachable_message,
)
from tidegate.kube.connections import Answer, ConnectionPool
from tidegate.kube.credentials import UNREADABLE, Access, Server, find_server
from tidegate.kube.ports import JSON, Response
from tidegate.kube.reading import PageSizes, limit_of, read_body
from tidegate.kube.sockets import keepalive_socket
from tidegate.kube.watches import WatchRequest, WatchResponse, open_watch

_BUFFER_BYTES = 2**20
BUSY_TRIES = 4
"""How often a server that is too busy is asked again."""
_RENEWAL_S = 10.0


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
        server: Server,
        access: Access,
        quick: ConnectionPool | None = None,
    ) -> None:
        self._session, self._quick = session, quick
        self._server = server
        self._access = access
        self._base = server.url.rstrip("/")
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
            within = self._pages.limit_query(path, query)
            try:
                answer = await self._request_with_retries(
                    _Request(method, path, within, body, content_type)
                )
            except PageTooLargeError:
                self._pages.shrink(path, within)
            else:
                self._pages.grow(path, within)
                return answer

    async def _request_with_retries(self, request: _Request) -> Response:
        """Ask until there is an answer other than that the server is too busy.

        A 429 was not carried out. Where it says when to come back, so it is done, a few times.
        """
        tries = 0
        while True:
            answer, wait_s = await self._request_once(request)
            if answer.status == HTTPStatus.UNAUTHORIZED and await self._reload_credentials():
                answer, wait_s = await self._request_once(request)
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
            async with self._open_watch(path, {**query, "watch": "true"}) as answer:
                if answer.status == HTTPStatus.UNAUTHORIZED and await self._reload_credentials():
                    continue  # not for ever: see ``_RENEWAL_S``
                await asyncio.sleep(retry_after_s(answer.status, answer.headers))
                refuse_redirect(answer.status)
                if answer.status != HTTPStatus.OK:
                    text = await answer.text(self._access.answer_bytes_max)
                    raise ApiStatusError(answer.status, status_message(text))
                yield answer.lines()
                return

    async def _request_once(self, request: _Request) -> tuple[Response, float]:
        """Return an answer, and the seconds to wait before it is asked again; 0: it is not."""
        method, path, query, body, content_type = request
        headers = await self._headers(content_type)
        try:
            if self._quick is not None and limit_of(query) <= 1:
                response = await self._quick.request(method, path, query, headers, body)
            else:
                async with asyncio.timeout(self._access.request_timeout_s):
                    response = await self._send_request(method, path, query, headers, body)
        except NO_ANSWER as error:
            raise ApiUnreachableError(
                unreachable_message(method, self._base + path, error)
            ) from error
        refuse_redirect(response.status)
        return Response(response.status, response.body), retry_after_s(
            response.status, response.headers
        )

    async def _send_request(
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
            proxy=self._server.proxy,
            server_hostname=self._server.tls_server_name,
        ) as answer:
            content = await read_body(
                answer.content, limit_of(query), self._access.answer_bytes_max
            )
            return Answer(answer.status, answer.headers, content)

    async def _reload_credentials(self) -> bool:
        """Read the credentials again, as an exec plugin's or a rotated token asks for."""
        now_s = asyncio.get_running_loop().time()
        if self._access.url or now_s < self._renewable_s:
            return False
        self._renewable_s = now_s + _RENEWAL_S
        try:
            self._server = await find_server(self._access)
        except (*UNREADABLE, ApiUnreachableError):
            return False
        return True

    async def _headers(self, content_type: str) -> dict[str, str]:
        headers = {"Content-Type": content_type, "Accept": JSON}
        if authorization := await self._server.authorization():
            headers["Authorization"] = authorization
        if self._access.impersonate:
            headers["Impersonate-User"] = self._access.impersonate
        return headers

    def _open_watch(
        self, path: str, query: Mapping[str, str]
    ) -> AbstractAsyncContextManager[WatchResponse]:
        wanted_s = float(query.get("timeoutSeconds", "0"))
        return open_watch(
            self._session if self._quick is None else self._quick,
            WatchRequest(
                url=self._base + path,
                path=path,
                query=query,
                headers=partial(self._headers, JSON),
                connect_s=self._access.request_timeout_s,
                lasting_s=wanted_s + self._access.watch_slack_s if wanted_s else None,
                proxy=self._server.proxy,
                server_hostname=self._server.tls_server_name,
            ),
        )


@asynccontextmanager
async def connect(access: Access) -> AsyncGenerator[KubernetesClient]:
    """Open a client; it is closed with the context.

    Raises:
        NotSupportedError: there is no way to an API server in ``access`` nor in the environment.
    """
    server = await _server(access)
    connector = aiohttp.TCPConnector(
        limit=access.connections_max,
        ssl=server.tls,
        keepalive_timeout=60,
        socket_factory=keepalive_socket,
    )
    async with aiohttp.ClientSession(
        connector=connector,
        read_bufsize=_BUFFER_BYTES,
        timeout=aiohttp.ClientTimeout(total=access.request_timeout_s),
        cookie_jar=aiohttp.DummyCookieJar(),  # an API server sets none: else each request looks
    ) as session:
        quick = access.quick and not (server.proxy or access.answer_bytes_max)
        named = server.url, server.tls, server.tls_server_name, access.connections_max
        within_s = access.request_timeout_s
        with closing(ConnectionPool(*named, within_s)) if quick else nullcontext() as connections:
            yield KubernetesClient(session, server, access, connections)


async def _server(access: Access) -> Server:
    try:
        return await find_server(access)
    except UNREADABLE as error:
        why = " ".join(str(error).split())  # a YAML error has several lines
        raise NotSupportedError(
            f"No Kubernetes API server to talk to ({why}): give a URL, a kubeconfig, or run in "
            "a pod with a service account."
        ) from error
