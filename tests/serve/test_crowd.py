"""One person who asks without end leaves the others a thread."""

from __future__ import annotations

import time
from contextlib import ExitStack

import pytest
from starlette.testclient import TestClient

from tests.serve.conftest import DEADLINE_S, judged
from tests.serve.people import ReviewingApi
from tidegate.serve.api.handling import DECIDED_OF_ONE_MAX, OF_ONE_MAX
from tidegate.serve.app import create_application, open_services
from tidegate.serve.auth.limits import ConcurrencyLimiter
from tidegate.serve.refusals import RefusalError


def status(client: TestClient, person: str, path: str) -> int:
    answer = client.get(path, headers={"Authorization": f"Bearer {person}"})
    return int(answer.status_code)


@pytest.mark.parametrize(("what", "most"), [("why-not", DECIDED_OF_ONE_MAX), ("why", OF_ONE_MAX)])
def test_a_user_with_many_requests_under_way_waits_and_others_do_not(
    ledger: str, what: str, most: int
) -> None:
    parts, path = open_services(ledger, *judged(ReviewingApi())), f"/v1/workloads/a/huge/{what}"
    queue = parts.deciding if what == "why-not" else parts.threads
    with TestClient(create_application(parts)) as client, ExitStack() as underway:
        until = time.monotonic() + DEADLINE_S
        while client.get("/readyz").status_code != 200:
            assert time.monotonic() < until
        for _ in range(most - 1):
            underway.enter_context(queue.admission.acquire("ann"))
        assert status(client, "ann", path) == 200
        underway.enter_context(queue.admission.acquire("ann"))
        assert (status(client, "ann", path), status(client, "root", path)) == (429, 200)
        underway.close()
        assert status(client, "ann", path) == 200


def test_all_together_have_so_many_and_no_more() -> None:
    crowd = ConcurrencyLimiter("streams", of_one_max=5, total_max=2)
    with crowd.acquire("ann"), crowd.acquire("bob"), pytest.raises(RefusalError):
        crowd.acquire("zoe").__enter__()
