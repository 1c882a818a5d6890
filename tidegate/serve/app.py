"""The application: routes of the table, the page, health, and what follows the ledger meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from importlib.metadata import version
from typing import Any

import msgspec
import typer
from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tidegate.errors import TidegateError
from tidegate.serve.api import endpoints
from tidegate.serve.api.asking import Endpoint
from tidegate.serve.api.endpoints import ENDPOINTS
from tidegate.serve.api.handling import (
    DECIDED_OF_ONE_MAX,
    JSON,
    OF_ONE_MAX,
    THREADS,
    Handler,
    Parts,
    Threads,
    answered,
    me,
)
from tidegate.serve.api.openapi import document
from tidegate.serve.api.streaming import STREAMS_MAX, STREAMS_OF_ONE_MAX, events
from tidegate.serve.auth.callers import Callers
from tidegate.serve.auth.crowd import Crowd
from tidegate.serve.auth.rights import Rights
from tidegate.serve.ledger.partitions.following import Following
from tidegate.serve.ledger.readers import Readers
from tidegate.serve.ledger.replies import Replies
from tidegate.serve.ledger.sums import Sums
from tidegate.serve.pages import SECURE, page_routes
from tidegate.serve.refusals import RefusalError, refusal_of
from tidegate.service.logs import get_log

POLL_S, AGAIN_S = 0.5, 2.0


def parts_of(url: str, callers: Callers, rights: Rights, partition: int | None = None) -> Parts:
    """Return what requests about a ledger are answered from, or about one partition of it.

    ``application`` closes it.
    """
    live = Following(url, partition)
    return Parts(
        callers=callers,
        rights=rights,
        live=live,
        readers=Readers(url, live, partition),
        sums=Sums(),
        replies=Replies(),
        threads=Threads(CapacityLimiter(THREADS), Crowd("requests", of_one_max=OF_ONE_MAX)),
        deciding=Threads(CapacityLimiter(1), Crowd("such requests", of_one_max=DECIDED_OF_ONE_MAX)),
    )


def application(parts: Parts, more: Sequence[BaseRoute] = ()) -> ASGIApp:
    """Return the application: it follows the ledger while it runs."""

    @asynccontextmanager
    async def running(_app: Starlette) -> AsyncGenerator[None]:
        following = asyncio.create_task(follow(parts.live))
        try:
            yield
        finally:
            following.cancel()
            with suppress(asyncio.CancelledError):
                await following
            parts.live.close()
            parts.readers.close()

    streams = Crowd("streams", of_one_max=STREAMS_OF_ONE_MAX, total_max=STREAMS_MAX)
    routes = [
        Route("/healthz", _live),
        Route("/readyz", _ready(parts)),
        Route("/openapi.json", _document()),
        *[
            Route(row.path, _handler(parts, row, streams), methods=[row.method])
            for row in ENDPOINTS
        ],
        *page_routes(),
        *more,
    ]
    app = Starlette(
        routes=routes,
        lifespan=running,
        exception_handlers={
            TidegateError: refused,
            typer.BadParameter: refused,  # as the command line refuses a moment
            HTTPException: _unknown,
            Exception: _failed,
        },
    )
    return _Secured(app)


async def follow(live: Following) -> None:
    """Fold what is written, for ever; a ledger that does not answer is asked again.

    Whatever else happens ends it, and then nothing is answered any more.
    """
    log = get_log("serve")
    while True:
        try:
            looked = await to_thread.run_sync(live.poll)
        except TidegateError as error:
            live.fault = "the ledger does not answer"
            log.warning("the ledger does not answer", error=str(error))
            await asyncio.sleep(AGAIN_S)
        except Exception:
            # What follows would be shown as of now, and is of some time ago.
            live.fault = "the ledger cannot be followed: restart"
            log.exception("failed")
            raise
        else:
            await asyncio.sleep(0 if looked else POLL_S)


async def refused(_request: Request, error: Exception) -> Response:
    """Answer an error of ours with a Status; what may not be shown is logged instead."""
    refusal = refusal_of(error)
    if refusal is None:
        return await _failed(_request, error)
    if refusal is not error:
        get_log("serve").info("refused", error=str(error), status=refusal.status)
    headers = {"Retry-After": str(refusal.retry_after_s)} if refusal.retry_after_s else {}
    if refusal.status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    return _json(refusal.record(), refusal.status, headers)


async def _unknown(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    message = f"There is no {request.url.path[:200]} here, or not for {request.method[:10]}."
    return await refused(request, RefusalError(error.status_code, message))


async def _failed(_request: Request, error: Exception) -> Response:
    get_log("serve").error("failed", error=repr(error))
    refusal = RefusalError(HTTPStatus.INTERNAL_SERVER_ERROR, "This failed; the log says why.")
    return _json(refusal.record(), refusal.status, {})


def _handler(parts: Parts, row: Endpoint, streams: Crowd) -> Handler:
    match row.path:
        case endpoints.ME:
            return me(parts, row)
        case endpoints.EVENTS:
            return events(parts, row, streams)
        case _:
            return answered(parts, row)


async def _live(_request: Request) -> Response:
    return Response("ok\n")


def _ready(parts: Parts) -> Handler:
    async def handle(_request: Request) -> Response:
        fault = parts.live.fault
        status = HTTPStatus.SERVICE_UNAVAILABLE if fault else HTTPStatus.OK
        return Response(f"{fault or 'ok'}\n", status)

    return handle


def _document() -> Handler:
    body = msgspec.json.encode(document(ENDPOINTS, version("tidegate")))

    async def handle(_request: Request) -> Response:
        return Response(body, media_type=JSON)

    return handle


def _json(record: dict[str, Any], status: int, headers: dict[str, str]) -> Response:
    return Response(msgspec.json.encode(record), status, headers, JSON)


class _Secured:
    """Adds what every answer bears."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                secure = [(name.lower().encode(), text.encode()) for name, text in SECURE.items()]
                message = {**message, "headers": [*message.get("headers", ()), *secure]}
            await send(message)

        await self._app(scope, receive, send_with_headers)
