"""No secret of a URL is shown, wherever the URL stands."""

from __future__ import annotations

import time

import pytest

from tidegate.urls import Secret, is_readable, redacted

SEEN = [
    ("nats://127.0.0.1:4222", "nats://127.0.0.1:4222"),
    ("nats://ingest:s3cret@nats:4222", "nats://ingest:***@nats:4222"),
    ("tls://a:s3cret@n1:4222,tls://a:s3cret@n2", "tls://a:***@n1:4222,tls://a:***@n2"),
    ("nats://s3cret@nats:4222", "nats://***@nats:4222"),
    ("nats://a:s3c/r?e:t@nats", "nats://a:***@nats"),
    ("postgresql://w@db/x?password=s3cret&a=b", "postgresql://w@db/x?password=***&a=b"),
    ("cannot reach 'nats://a:s3cret@n': OSError()", "cannot reach 'nats://a:***@n': OSError()"),
    ("sqlite:////var/lib/ledger.db", "sqlite:////var/lib/ledger.db"),
    ("postgresql://u:s3c@s3c'\"@db/x", "postgresql://u:***@db/x"),
    ("nats://s3c'/,k@nats:4222", "nats://***@nats:4222"),
    ('["nats://u:s3c@h","tls://s3c@i"]', '["nats://u:***@h","tls://***@i"]'),
    ("x?user=u&sslpassword=s3cret.", "x?user=u&sslpassword=***."),
    ("password='s3 s3cret' host=db", "password=*** host=db"),
    ("Authorization: Bearer s3c.ret-", "Authorization: Bearer ***"),
    ("token eyJhbGciOiJ9.s3c.s3cret", "token ***"),
    ("seed SUAS2CRET" + "A" * 60, "seed ***"),
    ("-----BEGIN SEED-----\ns3c\n-----END SEED-----", "-----BEGIN SEED-----***-----END SEED-----"),
    ("mail to a@b.c about http://x/y", "mail to a@b.c about http://x/y"),
]


@pytest.mark.parametrize(("given", "seen"), SEEN)
def test_a_secret_is_hidden_and_the_rest_stays(given: str, seen: str) -> None:
    assert redacted(given) == seen
    assert "s3c" not in redacted(given)


READABLE = [
    ("postgresql://u:p%40@db-1:5432,db-2/x?host=/run", True),
    ("nats://u:p@[::1]:4222", True),
    ("postgresql://u:s3c/p@h/x", False),
    ("postgresql://u:s3c@p@h/x", False),
    ("postgresql://u:s3c%p@h/x", False),
    ("postgresql://u@h/x?password=s 3c", False),
    ("nats://u:s3c?p@h", False),
    ("nats://u:s3c]p@h", False),
]


@pytest.mark.parametrize(("url", "readable"), READABLE)
def test_what_parsers_read_differently_is_not_readable(url: str, readable: bool) -> None:  # noqa: FBT001 - a row of the table
    assert is_readable(url) is readable


def test_a_secret_is_a_text_that_shows_itself_hidden() -> None:
    assert repr(Secret("nats://u:s3c@h")) == "'nats://u:***@h'"
    assert (repr(Secret("s3cret")), repr(Secret(""))) == ("'***'", "''")
    assert Secret("s3cret") == "s3cret"


@pytest.mark.parametrize("part", ["password=;", "nats://", "://a:", "-eyJ", "-----BEGIN SEED-----"])
def test_a_hostile_text_costs_no_more_than_its_length(part: str) -> None:
    began_s = time.process_time()
    redacted(part * (200_000 // len(part)))
    assert time.process_time() - began_s < 10
