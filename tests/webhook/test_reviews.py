"""AdmissionReviews over HTTP: every one is answered, and what is none is refused."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import msgspec
import pytest
from starlette.testclient import TestClient

from tests.webhook.test_mutating import POLICIES, asked, job, missing
from tidegate.kinds.names import QUEUE_NAME
from tidegate.webhook import app as served
from tidegate.webhook.app import Webhook

PATH = "/mutate/0"


@pytest.fixture
def client() -> TestClient:
    return TestClient(Webhook({PATH: POLICIES}, missing).application())


def reviewed(client: TestClient, request: dict[str, Any]) -> dict[str, Any]:
    answer = client.post(PATH, json={"kind": "AdmissionReview", "request": request})
    assert answer.status_code == 200, answer.text
    response: dict[str, Any] = answer.json()["response"]
    return response


def test_a_change_is_answered_as_a_patch(client: TestClient) -> None:
    fields = reviewed(client, asked("batch/jobs", job(**{QUEUE_NAME: "main"})))
    assert (fields["uid"], fields["allowed"], fields["patchType"]) == ("u", True, "JSONPatch")
    patch = msgspec.json.decode(b64decode(fields["patch"]))
    assert {"op": "add", "path": "/spec/suspend", "value": True} in patch


def test_nothing_to_change_is_no_patch(client: TestClient) -> None:
    assert reviewed(client, asked("batch/cronjobs", job())) == {"uid": "u", "allowed": True}


def test_an_object_that_makes_policies_fail_is_let_pass_and_counted(client: TestClient) -> None:
    assert reviewed(client, asked("batch/jobs", {"metadata": 3}))["allowed"]
    counted = client.get("/metrics").text
    assert 'passed_over_total{policy="tidegate-suspend-batch-job"} 1.0' in counted


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"request": {}}', b'{"request": 1}'])
def test_what_is_no_review_is_refused(client: TestClient, body: bytes) -> None:
    assert client.post(PATH, content=body).status_code == 400
    assert 'reviews_total{outcome="refused"} 1.0' in client.get("/metrics").text


def test_a_review_that_no_api_server_sends_is_not_read(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served, "BODY_BYTES_MAX", 1_000)
    assert client.post(PATH, content=b" " * 1_001).status_code == 413


async def test_clients_that_write_slowly_keep_no_review_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(served, "READ_S", 0.5)
    app = Webhook({PATH: POLICIES}, missing).application()
    review = {"kind": "AdmissionReview", "request": asked("batch/cronjobs", job())}
    stopped, never = asyncio.Event(), asyncio.Event()

    async def slowly() -> AsyncIterator[bytes]:
        yield b"{"
        stopped.set()
        await never.wait()

    transport = httpx2.ASGITransport(app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://webhook") as http:
        slow = [asyncio.create_task(http.post(PATH, content=slowly())) for _ in range(20)]
        await stopped.wait()
        assert (await http.post(PATH, json=review)).json()["response"]["allowed"]
        assert {(await task).status_code for task in slow} == {408}


async def test_no_more_is_read_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served, "HELD_BYTES_MAX", 1_000)
    app = Webhook({PATH: POLICIES}, missing).application()
    transport = httpx2.ASGITransport(app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://webhook") as http:
        assert (await http.post(PATH, content=b" " * 1_001)).status_code == 503
        assert (await http.post(PATH, content=b" " * 1_000)).status_code == 400


def test_it_is_well_while_it_answers(client: TestClient) -> None:
    assert client.get("/healthz").text == client.get("/readyz").text == "ok"
