"""What a user may not see stays hidden, however a request asks for it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.serve.conftest import Client, judged, running
from tests.serve.people import ReviewingApi
from tests.serve.test_answers import job
from tidegate.serve.api.endpoints import ENDPOINTS
from tidegate.serve.auth.callers import Authenticator
from tidegate.serve.auth.limits import RateLimiter
from tidegate.serve.auth.proxies import FrontProxy
from tidegate.serve.auth.redaction import HIDDEN
from tidegate.serve.auth.reviews import AccessReviewer
from tidegate.serve.auth.rights import Rights
from tidegate.serve.ledger.caches import ENTRY_BYTES, Reply, ReplyCache

OF_ANN = {
    "/v1/workloads/{namespace}/{name}/why": [
        f"/v1/workloads/a/{name}/why?detail={detail}"
        for name in ("sweep", "huge", "tune", "train")
        for detail in ("usual", "brief", "whole")
    ],
    "/v1/workloads/{namespace}/{name}/why-not": ["/v1/workloads/a/huge/why-not"],
    "/v1/namespaces/{namespace}/dry-run": [],  # see below
    "/v1/what-if": [],
    "/v1/queues": ["/v1/queues?namespace=a"],
    "/v1/positions": ["/v1/positions?namespace=a", "/v1/positions?namespace=a&asOf=50"],
    "/v1/tree": [],
    "/v1/shares": [],
    "/v1/usage": [],
    "/v1/running": ["/v1/running?namespace=a", "/v1/running?namespace=a&asOf=50"],
    "/v1/budgets": [],
    "/v1/topology": [],
    "/v1/costs": ["/v1/costs?namespace=a", "/v1/costs?namespace=a&month=2026-03&asOf=60"],
    "/v1/quota-use": [],
    "/v1/search": ["/v1/search?text=job&namespace=a", "/v1/search?text=main&namespace=a"],
    "/v1/reports": ["/v1/reports"],
    "/v1/reports/{report}": [
        f"/v1/reports/{name}?namespace=a"
        for name in ("queue_now", "admitted_now", "waits", "preemptions", "chargeback")
    ],
    "/v1/events": ["/v1/events?namespace=a&after=0&limit=1000"],
    "/v1/ledger": ["/v1/ledger"],
    "/v1/me": ["/v1/me"],
}
"""Everything that a user may ask for with the right to list Workloads of namespace a alone."""
ATTEMPTS = (
    ("", "/v1/queues", 401),
    ("forged", "/v1/queues", 401),
    ("x" * 20_000, "/v1/queues", 401),
    ("guest", "/v1/queues", 403),
    ("guest", "/v1/workloads/a/huge/why", 403),
    ("ann", "/v1/workloads/b/urgent/why", 403),
    ("ann", "/v1/workloads/b/urgent/why?asOf=46", 403),
    ("ann", "/v1/workloads/b/urgent/why?detail=whole&format=table", 403),
    ("ann", "/v1/workloads/b/urgent/why-not", 403),
    ("ann", "/v1/workloads/b/no-such/why", 403),
    ("ann", "/v1/workloads/a/sweep/why-not", 422),  # it does not wait
    ("ann", "/v1/workloads/a%2F..%2Fb/urgent/why", 404),
    ("ann", "/v1/workloads/b%2Furgent/why", 403),
    ("ann", "/v1/workloads/a/urgent/why", 404),
    ("ann", "/v1/workloads/a/urgent/why?namespace=b", 400),
    ("ann", "/v1/workloads/a/b%00/why", 400),
    ("job", "/v1/workloads/job/urgent/why", 404),  # a namespace called as a kind of job is
    ("job", "/v1/workloads/batch/urgent/why?kind=job", 404),
    ("job", "/v1/workloads/job/urgent/why-not?asOf=46", 404),
    ("job", "/apis/read.tidegate.dev/v1/namespaces/job/workloads/urgent/why", 404),
    ("ann", "/v1/positions", 403),
    ("ann", "/v1/positions?namespace=b", 403),
    ("ann", "/v1/positions?namespace=b&asOf=46", 403),
    ("ann", "/v1/positions?namespace=", 403),
    ("ann", "/v1/queues", 403),
    ("ann", "/v1/queues?namespace=b", 403),
    ("ann", "/v1/tree", 403),
    ("ann", "/v1/shares?asOf=46", 403),
    ("ann", "/v1/usage", 403),
    ("ann", "/v1/reports/waits", 403),
    ("ann", "/v1/reports/waits?namespace=b", 403),
    ("ann", "/v1/reports/quota_now?namespace=a", 422),
    ("ann", "/v1/reports/waits?namespace=a'%20OR%20'1'='1", 403),
    ("root", "/v1/reports/waits?namespace=a'%20OR%20'1'='1", 404),
    ("root", "/v1/reports/ledger_event", 404),
    ("ann", "/v1/what-if?set=clusterqueue/team-a.cpu=16", 403),
    ("queues", "/v1/what-if?set=clusterqueue/team-a.cpu=16", 403),
    ("root", "/v1/namespaces/a/dry-run", 405),
    ("ann", "/v1/running", 403),
    ("ann", "/v1/running?queue=team-a", 403),
    ("ann", "/v1/running?namespace=b&asOf=46", 403),
    ("queues", "/v1/running?queue=team-a", 403),
    ("ann", "/v1/budgets", 403),
    ("ann", "/v1/topology", 403),
    ("ann", "/v1/costs", 403),
    ("ann", "/v1/costs?namespace=b", 403),
    ("ann", "/v1/costs?namespace=a&month=March", 400),
    ("ann", "/v1/quota-use", 403),
    ("ann", "/v1/search?text=job", 403),
    ("ann", "/v1/search?text=job&namespace=b", 403),
    ("ann", "/v1/search?text=j&namespace=a", 400),
    ("queues", "/v1/search?text=team", 403),
    ("ann", "/v1/events", 403),
    ("ann", "/v1/events?namespace=b", 403),
    ("ann", "/v1/events?namespace=b&asOf=46", 403),
    ("jobs", "/v1/positions?namespace=a", 403),
    ("jobs", "/v1/events?namespace=a", 403),
    ("jobs", "/v1/workloads/a/huge/why?kind=pytorchjob", 403),
    ("queues", "/v1/workloads/a/huge/why", 403),
    ("queues", "/v1/positions?queue=team-a", 403),
    ("root", "/v1/tree?asOf=1000", 400),
    ("root", "/v1/tree?asOf=0", 400),
    ("root", "/v1/tree?of=nothing", 404),
    ("root", "/v1/tree?limit=-1", 400),
    ("root", "/v1/events?type=Nosuch", 404),
    ("root", "/look/../command.py", 404),
    ("root", "/look/%2e%2e/command.py", 404),
    ("ann", "/apis/read.tidegate.dev/v1/namespaces/b/workloads/urgent/why", 403),
    ("ann", "/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/team-a/pendingworkloads", 403),
    (
        "local",
        "/apis/visibility.kueue.x-k8s.io/v1beta1/namespaces/b/localqueues/main/pendingworkloads",
        403,
    ),
)
PAGE = (Path(__file__).parents[2] / "docs" / "serve.md").read_text()
ROWS = re.findall(r"^\| ([^|]+) \| ([^|]+) \| `(/[^`]+)` \| (\d+) \|$", PAGE, re.MULTILINE)
NAMED = re.compile(r"\bb/|\bjob-(urgent|report)|\bzoe\b")
"""What belongs to namespace b in the sample."""


def test_every_endpoint_is_tried() -> None:
    assert OF_ANN.keys() == {row.path for row in ENDPOINTS}


@pytest.mark.parametrize(("who", "path", "status"), ATTEMPTS)
def test_a_user_without_the_right_is_refused(
    served: Client, who: str, path: str, status: int
) -> None:
    answer = served(who).get(path)
    assert (answer.status_code, answer.json()["kind"]) == (status, "Status"), answer.text
    assert not re.search(r"\bjob-(urgent|report)", answer.text)


def test_a_user_of_one_namespace_is_shown_no_name_of_another(served: Client) -> None:
    hidden = 0
    for paths in OF_ANN.values():
        for path in paths:
            answer = served("ann").get(path)
            assert answer.status_code == 200, (path, answer.text)
            assert NAMED.findall(answer.text) == [], path
            hidden += answer.text.count(HIDDEN)
    assert hidden > 0  # others' workloads had their part in what was reported


def test_a_user_that_may_see_all_is_shown_all(served: Client) -> None:
    text = served("root").get("/v1/workloads/a/sweep/why?detail=whole").text
    assert "b/job-urgent" in text
    assert HIDDEN not in text


def test_a_user_who_may_list_queues_alone_sees_no_name_in_them(served: Client) -> None:
    answer = served("queues").get("/v1/queues")
    heads = {queue["head"] for queue in answer.json()["items"]} - {None}
    assert heads == {HIDDEN}
    usage = served("queues").get("/v1/usage").json()["items"]
    assert [row["usedBy"] for row in usage] == [[]] * len(usage)
    assert served("root").get("/v1/usage").json()["items"][0]["usedBy"]


def test_a_user_that_may_get_jobs_is_shown_such_jobs(served: Client) -> None:
    answer = served("jobs").get("/v1/workloads/a/huge/why")
    assert answer.status_code == 200
    assert answer.json()["job"]["kind"] == "batch/job"


def test_without_an_answer_of_the_api_server_nothing_is_shown(ledger: str) -> None:
    api = ReviewingApi()
    api.answers = False
    with running(ledger, *judged(api)) as client:
        answer = client("root").get("/v1/tree")
    assert answer.status_code == 503
    assert json.loads(answer.text)["reason"] == "ServiceUnavailable"


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("path", sorted(OF_ANN))
def test_nothing_can_be_changed(served: Client, method: str, path: str) -> None:
    (row,) = (endpoint for endpoint in ENDPOINTS if endpoint.path == path)
    status = 400 if method == row.method else 405  # what is tried alone takes something
    assert served("root").request(method, path).status_code == status


def test_a_user_that_tries_a_job_is_shown_no_name_of_another_namespace(served: Client) -> None:
    body = job("500")
    assert served("ann").post("/v1/namespaces/b/dry-run", json=body).status_code == 403
    assert served("guest").post("/v1/namespaces/a/dry-run", json=body).status_code == 403
    answer = served("ann").post("/v1/namespaces/a/dry-run", json=body)
    assert answer.status_code == 200, answer.text
    assert NAMED.findall(answer.text) == []


def test_a_client_that_guesses_tokens_is_slowed_down_and_others_are_not(ledger: str) -> None:
    api = ReviewingApi()
    reviews = AccessReviewer(api)
    callers = Authenticator(
        reviews, FrontProxy(authority=""), RateLimiter(5, lambda: 0.0)
    )  # it never refills
    with running(ledger, callers, Rights(reviews)) as client:
        assert client("ann").get("/v1/me").status_code == 200
        tried = [client(f"guess-{n}").get("/v1/me").status_code for n in range(60)]
        assert client("ann").get("/v1/me").status_code == 200
    assert tried[0] == 401
    assert tried[-1] == 429
    assert api.asked["tokenreviews"] == 1 + tried.count(401) == 16


def test_what_is_remembered_is_bounded_by_questions_too() -> None:
    replies = ReplyCache(bytes_max=10 * ENTRY_BYTES)
    for number in range(100):
        replies.put((number,), Reply("text/plain", b"[]"))
    assert sum(replies.get((number,)) is not None for number in range(100)) == 9
    assert replies.get((99,)) == Reply("text/plain", b"[]")


@pytest.mark.parametrize("path", ["/v1/positions?namespace=a", "/v1/workloads/a/sweep/why"])
def test_an_answer_for_one_is_none_for_another(served: Client, path: str) -> None:
    root, ann = served("root").get(path), served("ann").get(path)
    assert root.headers["etag"] != ann.headers["etag"]
    again = served("ann").get(path, headers={"If-None-Match": root.headers["etag"]})
    assert (again.status_code, again.text) == (200, ann.text)
    known = {"If-None-Match": root.headers["etag"]}
    assert served("guest").get(path, headers=known).status_code == 403
    assert served("root").get(path, headers=known).status_code == 304


@pytest.mark.parametrize("row", ROWS, ids=" ".join)
def test_the_documented_attempts_are_refused(
    served: Client, row: tuple[str, str, str, str]
) -> None:
    who, way, path, status = row
    client = served("" if who == "unknown" else who)
    headers = {"stream": {"Accept": "text/event-stream"}}.get(way, {})
    if way == "another's ETag":
        headers = {"If-None-Match": served("root").get(path).headers["etag"]}
    method = "POST" if way == "dry run" else "GET"
    answer = client.request(method, path, headers=headers, json=job("1"))
    assert answer.status_code == int(status), answer.text
    assert not re.search(r"\bjob-(urgent|report)|\bzoe\b", answer.text)


def test_every_way_is_documented() -> None:
    ways = {"path", "parameters", "as-of", "what-if", "dry run", "stream", "visibility"}
    assert {way for _, way, _, _ in ROWS} == {*ways, "another's ETag"}
