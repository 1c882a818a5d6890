"""The embedded API server over HTTP, for clients such as kubectl and the services.

One process, one loop: requests are answered in ``EmbeddedApi.call``, watches are streamed. It
listens on loopback only and authenticates no client: a client that impersonates a user is that user
to the policies; every other client is the administrator.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import msgspec
from aiohttp import web

from apiserver.api import EmbeddedApi
from apiserver.refusals import RefusedError
from tidegate.errors import ApiStatusError
from tidegate.kube.ports import JSON

_BODY_BYTES_MAX = 3 * 2**20  # the real server's bound
_TEXT_PATHS = ("/healthz", "/livez", "/readyz")
_YES = ("true", "1")
_DRAIN_S = 0.5
_API = web.AppKey("api", EmbeddedApi)
_REASONS = {404: "NotFound", 410: "Expired", 422: "Invalid"}


@asynccontextmanager
async def serve(api: EmbeddedApi, port: int = 0) -> AsyncGenerator[str]:
    """Serve an API on a port of loopback, any free one by default; yield the URL.

    Raises:
        OSError: the port is taken.
    """
    app = web.Application(client_max_size=_BODY_BYTES_MAX)
    app[_API] = api
    app.router.add_route("*", "/{path:.*}", _handle)
    # A handler whose client is gone is cancelled: a quiet watch would notice only at its end.
    runner = web.AppRunner(
        app, access_log=None, shutdown_timeout=_DRAIN_S, handler_cancellation=True
    )
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", port)
        await site.start()
        host, bound = runner.addresses[0][:2]
        yield f"http://{host}:{bound}"
    finally:
        await runner.cleanup()


async def _handle(request: web.Request) -> web.StreamResponse:
    query = dict(request.query)
    if request.method == "GET" and query.get("watch") in _YES:
        return await _stream_watch(request, query)
    response = request.app[_API].call(
        request.method,
        request.path,
        query=query,
        body=await request.read(),
        content_type=request.headers.get("Content-Type", JSON),
        user=request.headers.get("Impersonate-User", ""),
    )
    kind = "text/plain" if request.path in _TEXT_PATHS else JSON
    return web.Response(status=response.status, body=response.body, content_type=kind)


async def _stream_watch(request: web.Request, query: dict[str, str]) -> web.StreamResponse:
    answer = web.StreamResponse(headers={"Content-Type": JSON})
    try:
        async with request.app[_API].watch(request.path, query) as lines:
            await answer.prepare(request)
            async for line in lines:
                await answer.write(line)
    except ApiStatusError as error:
        return _error_response(error)
    except ConnectionResetError:  # the client went away between two lines
        return answer
    return answer


def _error_response(error: ApiStatusError) -> web.Response:
    reason = _REASONS.get(error.status, "BadRequest")
    body = msgspec.json.encode(RefusedError(error.status, reason, error.message).status())
    return web.Response(status=error.status, body=body, content_type=JSON)
