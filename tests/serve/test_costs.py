"""What a tenant asks costs as much whatever the other tenants have.

Counted are executed lines; the server looks at each LocalQueue, and at no other's workload.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from tests.parts.cost import count_lines
from tests.parts.sample import filled
from tests.serve.tenants import Tenants
from tidegate.cli.live.top_view import top_frame
from tidegate.serve.api.endpoint import Endpoint
from tidegate.serve.api.endpoints import ENDPOINTS
from tidegate.serve.api.handling import AnswerBasis, AuthorizedQuery, Services, compute_reply
from tidegate.serve.app import open_services
from tidegate.serve.auth.callers import Authenticator
from tidegate.serve.auth.limits import RateLimiter
from tidegate.serve.auth.reviews import User
from tidegate.serve.auth.rights import Rights, Visibility
from tidegate.serve.visibility.routes import pending_endpoints

OTHERS, FEW, MANY = 4, 3, 30
ROWS = {row.path: row for row in (*ENDPOINTS, *pending_endpoints("/pending", "v1beta2"))}


class Ask(NamedTuple):
    path: str
    values: dict[str, str]
    query: dict[str, str]


OWN = {"namespace": "own"}
ASKED = [
    Ask("/v1/queues", {}, OWN),
    Ask("/v1/positions", {}, OWN),
    Ask("/v1/positions", {}, {"queue": "own"}),
    Ask("/v1/running", {}, OWN),
    Ask("/v1/running", {}, {"queue": "own"}),
    Ask("/v1/search", {}, OWN | {"text": "main"}),
    Ask("/v1/usage", {}, {"queue": "own"}),
    Ask("/v1/workloads/{namespace}/{name}/why", OWN | {"name": "j1"}, {}),
    Ask("/pending/clusterqueues/{name}/pendingworkloads", {"name": "own"}, {}),
    Ask(
        "/pending/namespaces/{namespace}/localqueues/{name}/pendingworkloads",
        OWN | {"name": "main"},
        {},
    ),
]


def _history(jobs: int) -> Tenants:
    tenants = Tenants()
    names = ["own", *(f"other-{number}" for number in range(OTHERS))]
    for name in names:
        tenants.add(name)
    for number in range(jobs):
        for name in names if number < FEW else names[1:]:
            tenants.submit(name, f"j{number}")
            if name != "own":  # they have jobs of the same name again and again
                tenants.submit(name, "j1")
    return tenants


@pytest.fixture(scope="module")
def costs(tmp_path_factory: pytest.TempPathFactory) -> list[list[int]]:
    """Return the lines of each question, beside few and beside many jobs of others."""
    counted = list[list[int]]()
    for jobs in (FEW, MANY):
        file = tmp_path_factory.mktemp("costs") / "ledger.db"
        with filled(f"sqlite:///{file}", [_history(jobs).entries]):
            counted.append(_lines_of_all(file))
    return counted


def _lines_of_all(file: Path) -> list[int]:
    parts = open_services(str(file), Authenticator(None, None, RateLimiter(1_000)), Rights(None))
    try:
        while parts.followed_ledger.poll():
            pass
        return [_lines(parts, ROWS[ask.path], ask) for ask in ASKED]
    finally:
        parts.followed_ledger.close()
        parts.readers.close()


def _lines(parts: Services, row: Endpoint, ask: Ask) -> int:
    values, sight = row.values(ask.values, ask.query), Visibility(everything=True)
    query = AuthorizedQuery(row, values, User(name="ann", local=True), sight)
    basis = AnswerBasis(parts.followed_ledger.ends, past=False)
    compute_reply(parts, query, basis)  # what is made once is made
    with count_lines("tidegate.", "store.") as lines:
        assert b"own" in compute_reply(parts, query, basis).body
    return lines.total()


@pytest.mark.parametrize(
    "number", range(len(ASKED)), ids=[f"{at}{ask.path}" for at, ask in enumerate(ASKED)]
)
def test_a_question_costs_as_much_beside_many_jobs_of_others(
    costs: list[list[int]], number: int
) -> None:
    few, many = costs[0][number], costs[1][number]
    assert many <= few * 1.1


def test_a_frame_costs_as_much_for_each_workload_that_waits() -> None:
    def lines_of(tenants: int) -> int:
        history = Tenants()
        for number in range(tenants):
            history.add(f"t{number}")
            for job in range(3):
                history.submit(f"t{number}", f"j{job}")
        top_frame([history.state], ())
        with count_lines("tidegate.cli.live") as lines:
            top_frame([history.state], ())
        return lines.total()

    assert lines_of(60) <= 6 * lines_of(10) * 1.1
