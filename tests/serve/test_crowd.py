"""One person who asks without end, or takes no answer, leaves the others a thread."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack

import httpx2
import pytest
from starlette.responses import Response
from starlette.testclient import TestClient
from starlette.types import Message

from tests.serve.conftest import DEADLINE_S, judged
from tests.serve.people import ReviewingApi
from tidegate.serve.api.handling import DECIDED_OF_ONE_MAX, OF_ONE_MAX
from tidegate.serve.api.sending import PART_BYTES, HeldResponse
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


class Slow:
    """A client that takes two parts of an answer, and the others once it is asked to."""

    def __init__(self) -> None:
        self.parts, self.goes_on = list[int](), asyncio.Event()

    async def send(self, message: Message) -> None:
        self.parts.append(len(message.get("body", b"")))
        if len(self.parts) > 2:
            await self.goes_on.wait()

    async def receive(self) -> Message:
        raise AssertionError("an answer reads nothing")


async def test_an_answer_counts_as_its_readers_until_it_is_taken() -> None:
    crowd, client, slots = ConcurrencyLimiter("requests", of_one_max=1), Slow(), ExitStack()
    slots.enter_context(crowd.acquire("ann"))
    answer = HeldResponse(Response(b"x" * 3 * PART_BYTES), slots)
    sending = asyncio.create_task(answer({"type": "http"}, client.receive, client.send))
    while len(client.parts) < 3:
        await asyncio.sleep(0)
    with pytest.raises(RefusalError):
        crowd.acquire("ann").__enter__()
    client.goes_on.set()
    await sending
    assert client.parts == [0, PART_BYTES, PART_BYTES, PART_BYTES, 0]
    with crowd.acquire("ann"):
        pass


async def test_a_body_that_does_not_come_is_not_waited_for(
    ledger: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidegate.serve.api.handling.READ_S", 0.01)

    async def endless() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.Event().wait()

    app = create_application(open_services(ledger, *judged(ReviewingApi())))
    url, headers = "/v1/namespaces/a/dry-run", {"Authorization": "Bearer ann"}
    transport = httpx2.ASGITransport(app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://h") as client:
        answer = await client.post(url, content=endless(), headers=headers)
    assert answer.status_code == 408
