"""A server that ends closes its ledger only once no thread reads it any more."""

from __future__ import annotations

from threading import Event

import pytest
from starlette.testclient import TestClient

from tidegate.serve.app import create_application, open_services
from tidegate.serve.auth.callers import Authenticator
from tidegate.serve.auth.limits import RateLimiter
from tidegate.serve.auth.rights import Rights

ENDS_S = 0.5
"""How long a page takes to read, unless its connection is closed meanwhile."""


def test_no_connection_is_closed_while_a_page_is_read(
    ledger: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, closed, closed_in_use = Event(), Event(), list[bool]()
    parts = open_services(ledger, Authenticator(None, None, RateLimiter(1_000)), Rights(None))
    follower = parts.followed_ledger
    poll, close = follower.poll, follower.close

    def slow_poll() -> int:
        begun.set()
        closed_in_use.append(closed.wait(ENDS_S))
        return poll()

    def told_close() -> None:
        closed.set()
        close()

    monkeypatch.setattr(follower, "poll", slow_poll)
    monkeypatch.setattr(follower, "close", told_close)
    with TestClient(create_application(parts)):
        assert begun.wait(60)
    assert closed.is_set()
    assert closed_in_use == [False] * len(closed_in_use)
