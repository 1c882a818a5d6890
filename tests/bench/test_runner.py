"""The load as Kueue's runner plays it: when it creates what, and how it answers an eviction."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from bench.cluster.objects import WORKLOADS, workload
from bench.cluster.playing import Change
from bench.cluster.runner import RunnerPlay, without_reservation
from bench.pipeline.stub import Stub
from bench.virtual.loads import Kind, Load
from tidegate.kube.client import connect
from tidegate.kube.credentials import Access

MADE = Load("made", 1, 2, (Kind("small", 1, 50, 5, 1_000, 1), Kind("large", 20, 200, 3, 2_000, 1)))
EVICTED = ("QuotaReserved", "Admitted", "Evicted")


def conditions(*held: str) -> list[dict[str, str]]:
    return [{"type": text, "status": "True", "reason": "Told", "message": ""} for text in held]


def change(name: str, version: str, *held: str) -> Change:
    obj: dict[str, Any] = {
        "metadata": {"name": name, "resourceVersion": version},
        "status": {"conditions": conditions(*held)},
    }
    line = msgspec.json.encode({"type": "MODIFIED", "object": obj})
    return msgspec.json.decode(line, type=Change)


def test_what_depends_on_a_reservation_is_false_without_it_and_the_rest_stays() -> None:
    held = tuple(msgspec.Raw(msgspec.json.encode(condition)) for condition in conditions(*EVICTED))
    documents = msgspec.json.decode(
        msgspec.json.encode(without_reservation(held)), type=list[dict[str, str]]
    )
    assert {
        condition["type"]: (condition["status"], condition["reason"]) for condition in documents
    } == {
        "QuotaReserved": ("False", "Pending"),
        "Admitted": ("False", "NoReservation"),
        "Evicted": ("True", "Told"),
    }


@pytest.fixture
async def played() -> AsyncIterator[tuple[Stub, RunnerPlay]]:
    """Lend a player that has created everything, and the API server that took it."""
    stub = Stub(lambda *_: None)
    async with stub.serve() as url, connect(Access(url=url)) as api:
        play = RunnerPlay(api, MADE, workload)
        await play.submit(WORKLOADS)
        yield stub, play


async def test_each_queue_and_size_has_a_creator_and_all_of_them_create_everything(
    played: tuple[Stub, RunnerPlay],
) -> None:
    stub, play = played
    made = {arrival.name for arrival in MADE.arrivals(staggered=False)}
    assert {name for name, course in play.courses.items() if course.created_s >= 0} == made
    assert all(stub.find(f"{WORKLOADS}/{name}") for name in made)


async def test_an_eviction_is_answered_by_taking_the_reservation_off_once(
    played: tuple[Stub, RunnerPlay],
) -> None:
    stub, play = played
    path = f"{WORKLOADS}/{(name := next(iter(play.courses)))}"
    obj = stub.find(path)
    assert obj is not None
    obj = stub.put(path, {**obj, "status": {"admission": {"a": 1}}})
    play.on_change(change(name, obj["metadata"]["resourceVersion"], *EVICTED).object)
    await play.release_next()
    assert play.released == 1
    after = stub.find(path)
    assert after is not None
    assert "admission" not in after["status"]


async def test_a_workload_with_a_new_reservation_keeps_it(played: tuple[Stub, RunnerPlay]) -> None:
    _, play = played
    name = next(iter(play.courses))
    play.on_change(change(name, "1000", *EVICTED).object)
    play.on_change(change(name, "1001", "QuotaReserved", "Admitted").object)
    await play.release_next()
    assert play.released == 0
