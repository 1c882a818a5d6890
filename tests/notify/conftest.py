"""A webhook of the tests' own, on a real HTTP server."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from typing import Any

import msgspec
import pytest
import stamina
from aiohttp import web


class Hook:
    """Answers with the statuses that it is told to, then with 200; keeps what it was sent."""

    def __init__(self) -> None:
        self.url, self.statuses = "", list[int]()
        self.bodies, self.keys = list[dict[str, Any]](), list[str]()
        self.taken = list[str]()

    async def answer(self, request: web.Request) -> web.Response:
        key = request.headers["Idempotency-Key"]
        self.bodies.append(msgspec.json.decode(await request.read()))
        self.keys.append(key)
        status = self.statuses.pop(0) if self.statuses else 200
        if status == 200:
            self.taken.append(key)
        return web.Response(status=status, headers={"Location": self.url})


@pytest.fixture
async def hook() -> AsyncGenerator[Hook]:
    hook, app = Hook(), web.Application()
    app.router.add_post("/secret-path", hook.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    _, port = runner.addresses[0]
    hook.url = f"http://127.0.0.1:{port}/secret-path"
    yield hook
    await runner.cleanup()


@pytest.fixture
def at_once() -> Iterator[None]:
    """Retries wait for nothing, and end after five."""
    stamina.set_testing(True, attempts=5)
    yield
    stamina.set_testing(False)
