"""A server in this process over the sample's ledger, for people with rights or for this machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from starlette.testclient import TestClient

from tests.parts.sample import TURNS, filled
from tests.serve.people import ReviewingApi
from tidegate.serve.app import create_application, open_services
from tidegate.serve.auth.callers import Authenticator
from tidegate.serve.auth.limits import RateLimiter
from tidegate.serve.auth.proxies import FrontProxy
from tidegate.serve.auth.reviews import AccessReviewer
from tidegate.serve.auth.rights import Rights
from tidegate.serve.visibility.routes import visibility_routes

DEADLINE_S = 60
Client = Callable[[str], TestClient]


@pytest.fixture(scope="session")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the path of the sample's ledger; no test writes to it."""
    path = tmp_path_factory.mktemp("serve") / "ledger.db"
    with filled(f"sqlite:///{path}", TURNS):
        return str(path)


@pytest.fixture(scope="session")
def served(ledger: str) -> Iterator[Client]:
    """Lend a factory of clients: each with the token of the user that is named."""
    with running(ledger, *judged(ReviewingApi())) as client:
        yield client


def judged(api: ReviewingApi, per_s: float = 1_000) -> tuple[Authenticator, Rights]:
    """Return the identities and their rights, as an API server says them."""
    reviews = AccessReviewer(api)
    return Authenticator(reviews, FrontProxy(authority=""), RateLimiter(per_s)), Rights(reviews)


@pytest.fixture(scope="session")
def local(ledger: str) -> Iterator[TestClient]:
    """Lend a client of a server that answers this machine alone."""
    with running(ledger, Authenticator(None, None, RateLimiter(1_000)), Rights(None)) as client:
        yield client("")


class running:  # noqa: N801 - a context
    """A server that has folded its ledger."""

    def __init__(
        self, ledger: str, callers: Authenticator, rights: Rights, partition: int | None = None
    ) -> None:
        self._parts = open_services(ledger, callers, rights, partition)
        self._app = create_application(self._parts, visibility_routes(self._parts))
        self._opened = ExitStack()

    def __enter__(self) -> Client:
        first = self._client("")
        self._opened.enter_context(first)
        until = time.monotonic() + DEADLINE_S
        while first.get("/readyz").status_code != 200:
            assert time.monotonic() < until, first.get("/readyz").text
        return self._client

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def _client(self, token: str) -> TestClient:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        client = TestClient(self._app, base_url="http://127.0.0.1", headers=headers)
        client.headers.pop("user-agent")
        return client
