"""The server's process: sockets, TLS, and the name in each client's certificate."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import msgspec
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from tidegate.errors import NotSupportedError
from tidegate.serve.auth.callers import PEER
from tidegate.service.http.bounded_protocol import BoundedProtocol

HEAD_BYTES_MAX, IDLE_S, DRAIN_S = 65_536, 30, 5
CONNECTIONS_MAX = 500


class ListenAddress(msgspec.Struct, frozen=True, kw_only=True):
    """The address that the server listens on, and its certificate."""

    host: str
    port: int
    certificate: str = ""  # paths in PEM; empty: without TLS
    key: str = ""
    authority: str = ""  # PEM: the CA of client certificates; empty: none are verified


def refuse_address_in_use(host: str, port: int) -> None:
    """Refuse an address that cannot be listened on, before anything says that it is served.

    Raises:
        NotSupportedError: another program listens there, or it is no address of this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.create_server((host, port), family=family).close()
    except OSError as error:
        raise NotSupportedError(
            f"The server cannot listen: {error.strerror}. Choose another --port or --host."
        ) from error


def create_server(app: ASGIApp, place: ListenAddress) -> uvicorn.Server:
    """Return a server that is run with ``serve()``."""
    config = uvicorn.Config(
        app,
        host=place.host,
        port=place.port,
        http=NamingProtocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # headers of a proxy in between are not believed
        limit_concurrency=CONNECTIONS_MAX,
        timeout_keep_alive=IDLE_S,
        timeout_graceful_shutdown=DRAIN_S,
        h11_max_incomplete_event_size=HEAD_BYTES_MAX,
        ssl_context_factory=partial(_tls_context, place) if place.certificate else None,
    )
    return uvicorn.Server(config)


def _tls_context(
    place: ListenAddress, _config: uvicorn.Config, _default: Callable[[], Any]
) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(place.certificate, place.key)
    if place.authority:
        # A client certificate is optional, but must be signed by this authority.
        context.verify_mode = ssl.CERT_OPTIONAL
        context.load_verify_locations(cadata=place.authority)
    return context


class NamingProtocol(BoundedProtocol):
    """A connection that tells the application the common name of its peer's certificate."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as BoundedProtocol has it
        """Note the client certificate's name."""
        super().connection_made(transport)
        self.app = _with_peer_name(self.app, _peer_name(transport))


def _with_peer_name(
    app: Any,  # noqa: ANN401 - uvicorn's
    peer: str | None,
) -> Callable[[Scope, Receive, Send], Awaitable[None]]:
    async def call(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, PEER: peer}, receive, send)

    return call


def _peer_name(transport: asyncio.Transport) -> str | None:
    """Return the common name of a certificate that TLS has verified; None: there is none."""
    certificate = transport.get_extra_info("peercert")
    if not certificate:
        return None
    names = [
        value
        for part in certificate.get("subject", ())
        for key, value in part
        if key == "commonName"
    ]
    return str(names[0]) if names else ""
