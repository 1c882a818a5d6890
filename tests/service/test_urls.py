"""No secret of a URL is shown, wherever the URL stands."""

from __future__ import annotations

import pytest

from tidegate.urls import shown

SEEN = [
    ("nats://127.0.0.1:4222", "nats://127.0.0.1:4222"),
    ("nats://ingest:s3cret@nats:4222", "nats://ingest:***@nats:4222"),
    ("tls://a:s3cret@n1:4222,tls://a:s3cret@n2", "tls://a:***@n1:4222,tls://a:***@n2"),
    ("nats://s3cret@nats:4222", "nats://***@nats:4222"),
    ("nats://a:s3c/r?e:t@nats", "nats://a:***@nats"),
    ("postgresql://w@db/x?password=s3cret&a=b", "postgresql://w@db/x?password=***&a=b"),
    ("cannot reach 'nats://a:s3cret@n': OSError()", "cannot reach 'nats://a:***@n': OSError()"),
    ("sqlite:////var/lib/ledger.db", "sqlite:////var/lib/ledger.db"),
    ("mail to a@b.c about http://x/y", "mail to a@b.c about http://x/y"),
]


@pytest.mark.parametrize(("given", "seen"), SEEN)
def test_a_secret_is_hidden_and_the_rest_stays(given: str, seen: str) -> None:
    assert shown(given) == seen
    assert "s3c" not in shown(given)
