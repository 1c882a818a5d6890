"""What changes though no event was written is reported anew: waits go on, and the index grows."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.parts.sample import TURNS, filled
from tests.serve.conftest import running
from tidegate.cli.times import parse_utc
from tidegate.serve.api import answering, handling
from tidegate.serve.auth.callers import Authenticator
from tidegate.serve.auth.limits import RateLimiter
from tidegate.serve.auth.rights import Rights
from tidegate.serve.ledger.live import LiveState

NO_AUTH = Authenticator(None, None, RateLimiter(1_000)), Rights(None)
SECOND_US = 1_000_000


@pytest.mark.parametrize(
    ("path", "field"),
    [("/v1/positions", "waitedSeconds"), ("/v1/queues", "longestWaitSeconds")],
)
def test_waits_go_on_while_nothing_is_written(
    ledger: str, monkeypatch: pytest.MonkeyPatch, path: str, field: str
) -> None:
    with running(ledger, *NO_AUTH) as client:
        before = client("").get(path)
        for module in (answering, handling):
            monkeypatch.setattr(module, "lag_us", lambda _: 40 * SECOND_US)
        known = {"If-None-Match": before.headers["etag"]}
        after = client("").get(path, headers=known)
        assert after.status_code == 200
        waits = [answer.json()["items"][0][field] for answer in (before, after)]
        assert waits[1] == waits[0] + 40
        known = {"If-None-Match": after.headers["etag"]}
        assert client("").get(path, headers=known).status_code == 304


def test_of_the_past_nothing_goes_on(tmp_path: Path) -> None:
    file = tmp_path / "ledger.db"
    with filled(f"sqlite:///{file}", TURNS):
        with closing(sqlite3.connect(file)) as conn, conn:
            conn.execute("UPDATE ledger_writer SET lease_until_us = ?", (2**60,))
        with running(str(file), *NO_AUTH) as client:
            (now,) = client("").get("/v1/positions").json()["items"]
            (then,) = client("").get("/v1/positions?asOf=79").json()["items"]
    assert now["workload"] == then["workload"]
    assert then["waitedSeconds"] < now["waitedSeconds"]


@pytest.mark.parametrize(
    ("path", "field"),
    [("/v1/positions", "waitedSeconds"), ("/v1/queues", "longestWaitSeconds")],
)
def test_of_a_time_of_the_past_waits_last_until_then(
    local: TestClient, path: str, field: str
) -> None:
    at = "2026-03-02T08:50:00Z"
    begun_us = parse_utc("2026-03-02T08:40:01Z")  # nothing is reported of sweep from then to 09:15
    answer = local.get(f"{path}?asOf={at}")
    (waited_s,) = {row[field] for row in answer.json()["items"] if row[field]}
    assert waited_s == (parse_utc(at) - begun_us) // SECOND_US
    later = local.get(f"{path}?asOf=2026-03-02T08:51:00Z")
    assert later.headers["tidegate-seq"] == answer.headers["tidegate-seq"]
    assert later.headers["etag"] != answer.headers["etag"]
    assert {row[field] for row in later.json()["items"] if row[field]} == {waited_s + 60}


def test_how_far_the_chain_was_followed_is_reported_as_it_is(
    ledger: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(ledger, *NO_AUTH) as client:
        for seq in (3, 70):
            monkeypatch.setattr(LiveState, "verified_seq", seq)
            assert client("").get("/v1/ledger").json()["verifiedSeq"] == seq
