"""A browser, and servers of this process on ports of loopback."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Literal

import pytest
from playwright.async_api import Browser, async_playwright, expect

from tests.serve.conftest import judged
from tests.serve.people import ReviewingApi
from tidegate.ports import free_ports
from tidegate.serve.app import create_application, open_services
from tidegate.serve.auth.callers import Authenticator
from tidegate.serve.auth.limits import RateLimiter
from tidegate.serve.auth.rights import Rights
from tidegate.serve.server import ListenAddress, create_server

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_NO_AUTH = Authenticator(None, None, RateLimiter(1_000))
Open = Callable[[Literal["asking", "local"]], Awaitable[str]]


# A busy machine answers late: what never comes fails all the same.
expect.set_options(timeout=60_000)


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    """Lend a browser; skip the test if this machine has none."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip(
            "No browser to look at the page with: install chromium (Debian: apt install chromium)."
        )
    async with async_playwright() as driver:
        opened = await driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield opened
        await opened.close()


@pytest.fixture
async def pages(ledger: str) -> AsyncIterator[Open]:
    """Lend what gives the page's address: of a server that asks for a token, or of an open one."""
    async with AsyncExitStack() as servers:

        async def opened(who: Literal["asking", "local"]) -> str:
            asked = who == "asking"
            row = judged(ReviewingApi()) if asked else (_NO_AUTH, Rights(None))
            return await servers.enter_async_context(serving(ledger, row))

        yield opened


@asynccontextmanager
async def serving(ledger: str, who: tuple[Authenticator, Rights]) -> AsyncGenerator[str]:
    """Lend the address of a server's page."""
    (port,) = free_ports(1)
    parts = open_services(ledger, *who)
    running = create_server(create_application(parts), ListenAddress(host="127.0.0.1", port=port))
    working = asyncio.create_task(running.serve())
    async with asyncio.timeout(60):
        while not running.started or parts.followed_ledger.fault:
            await asyncio.sleep(0.02)
    yield f"http://127.0.0.1:{port}/look/"
    running.should_exit = True
    await working
