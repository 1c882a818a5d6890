"""The application: routes of the table, the page, health, and what follows the ledger meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus
from importlib.metadata import version
from typing import Any

import msgspec
import typer
from anyio import CancelScope, CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tidegate.errors import TidegateError
from tidegate.serve.api import endpoints
from tidegate.serve.api.endpoint import Endpoint
from tidegate.serve.api.endpoints import ENDPOINTS
from tidegate.serve.api.handling import (
    DECIDED_OF_ONE_MAX,
    JSON,
    OF_ONE_MAX,
    THREADS,
    Handler,
    Services,
    ThreadPool,
    answer_handler,
    identity_handler,
)
from tidegate.serve.api.openapi import document
from tidegate.serve.api.streaming import STREAMS_MAX, STREAMS_OF_ONE_MAX, events_handler
from tidegate.serve.auth.callers import Authenticator
from tidegate.serve.auth.limits import ConcurrencyLimiter
from tidegate.serve.auth.rights import Rights
from tidegate.serve.ledger.caches import ReplyCache, RowCache
from tidegate.serve.ledger.partitions.following import LedgerFollower
from tidegate.serve.ledger.readers import ReaderPool
from tidegate.serve.pages import SECURE, page_routes
from tidegate.serve.refusals import RefusalError, refusal_of
from tidegate.service.logs import get_log

POLL_S, AGAIN_S = 0.5, 2.0


def open_services(
    url: str, callers: Authenticator, rights: Rights, partition: int | None = None
) -> Services:
    """Return what requests about a ledger are answered from, or about one partition of it.

    ``create_application`` closes it.
    """
    live = LedgerFollower(url, partition)
    return Services(
        callers=callers,
        rights=rights,
        followed_ledger=live,
        readers=ReaderPool(url, live, partition),
        sums=RowCache(),
        replies=ReplyCache(),
        threads=ThreadPool(
            CapacityLimiter(THREADS), ConcurrencyLimiter("requests", of_one_max=OF_ONE_MAX)
        ),
        deciding=ThreadPool(
            CapacityLimiter(1), ConcurrencyLimiter("such requests", of_one_max=DECIDED_OF_ONE_MAX)
        ),
    )


def create_application(parts: Services, more: Sequence[BaseRoute] = ()) -> ASGIApp:
    """Return the application: it follows the ledger while it runs."""

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncGenerator[None]:
        # A task's own cancel() would leave the thread that reads a page behind, and its connection
        # be closed in use, which ends the process; a scope's waits for it.
        scope = CancelScope()
        following = asyncio.create_task(_follow_within(scope, parts.followed_ledger))
        try:
            yield
        finally:
            scope.cancel()
            await following
            parts.followed_ledger.close()
            parts.readers.close()

    streams = ConcurrencyLimiter("streams", of_one_max=STREAMS_OF_ONE_MAX, total_max=STREAMS_MAX)
    routes = [
        Route("/healthz", _liveness),
        Route("/readyz", _readiness_handler(parts)),
        Route("/openapi.json", _openapi_handler()),
        *[
            Route(row.path, _handler(parts, row, streams), methods=[row.method])
            for row in ENDPOINTS
        ],
        *page_routes(),
        *more,
    ]
    app = Starlette(
        routes=routes,
        lifespan=lifespan,
        exception_handlers={
            TidegateError: handle_refusal,
            typer.BadParameter: handle_refusal,  # as the command line refuses a moment
            HTTPException: _handle_not_found,
            Exception: _handle_failure,
        },
    )
    return _SecurityHeaders(app)


async def _follow_within(scope: CancelScope, live: LedgerFollower) -> None:
    with scope:
        await follow_ledger(live)


async def follow_ledger(live: LedgerFollower) -> None:
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


async def handle_refusal(_request: Request, error: Exception) -> Response:
    """Answer an error of ours with a Status; what may not be shown is logged instead."""
    refusal = refusal_of(error)
    if refusal is None:
        return await _handle_failure(_request, error)
    if refusal is not error:
        get_log("serve").info("refused", error=str(error), status=refusal.status)
    headers = {"Retry-After": str(refusal.retry_after_s)} if refusal.retry_after_s else {}
    if refusal.status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    return _json_response(refusal.as_status(), refusal.status, headers)


async def _handle_not_found(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    message = f"There is no {request.url.path[:200]} here, or not for {request.method[:10]}."
    return await handle_refusal(request, RefusalError(error.status_code, message))


async def _handle_failure(_request: Request, error: Exception) -> Response:
    get_log("serve").error("failed", error=repr(error))
    refusal = RefusalError(HTTPStatus.INTERNAL_SERVER_ERROR, "This failed; the log says why.")
    return _json_response(refusal.as_status(), refusal.status, {})


def _handler(parts: Services, row: Endpoint, streams: ConcurrencyLimiter) -> Handler:
    match row.path:
        case endpoints.ME:
            return identity_handler(parts, row)
        case endpoints.EVENTS:
            return events_handler(parts, row, streams)
        case _:
            return answer_handler(parts, row)


async def _liveness(_request: Request) -> Response:
    return Response("ok\n")


def _readiness_handler(parts: Services) -> Handler:
    async def handle(_request: Request) -> Response:
        fault = parts.followed_ledger.fault
        status = HTTPStatus.SERVICE_UNAVAILABLE if fault else HTTPStatus.OK
        return Response(f"{fault or 'ok'}\n", status)

    return handle


def _openapi_handler() -> Handler:
    body = msgspec.json.encode(document(ENDPOINTS, version("tidegate")))

    async def handle(_request: Request) -> Response:
        return Response(body, media_type=JSON)

    return handle


def _json_response(record: dict[str, Any], status: int, headers: dict[str, str]) -> Response:
    return Response(msgspec.json.encode(record), status, headers, JSON)


class _SecurityHeaders:
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
