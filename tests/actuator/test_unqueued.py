"""Objects that name a queue, of kinds that are not enabled: each has one Event, and no more."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from random import Random

import pytest
from prometheus_client import CollectorRegistry

from actuator import unqueued
from actuator.calls import Calls
from actuator.metrics import Metrics
from actuator.unqueued import REASON, UnqueuedKinds
from tests.parts.interposed import Interposed
from tests.parts.stage import JOBS, Object, Stage, alongside, eventually, job
from tests.parts.virtual import run_virtually
from tidegate.kinds.policies.disabled import queued_kinds
from tidegate.kube.ports import Response

EVENTS = "/api/v1/namespaces/default/events"
AT_US = 1_772_352_000_000_000
NOT_JOBS = ("pod",)


def telling(api: Interposed, enabled: tuple[str, ...] = NOT_JOBS) -> UnqueuedKinds:
    calls = Calls(api, Metrics(CollectorRegistry()))
    return UnqueuedKinds(calls, Random(1), lambda: AT_US, queued_kinds(enabled))


def event_rows(stage: Stage) -> list[tuple[str, str]]:
    items = stage.read(EVENTS)["items"]
    return sorted((event["involvedObject"]["name"], event["reason"]) for event in items)


def unlabelled(name: str) -> Object:
    made = job(name)
    del made["metadata"]["labels"]
    return made


def owned(name: str) -> Object:
    made = job(name)
    owner = {"apiVersion": "x/v1", "kind": "X", "name": "x", "uid": "u", "controller": True}
    made["metadata"]["ownerReferences"] = [owner]
    return made


def play(story: Callable[[Stage, UnqueuedKinds], Awaitable[None]]) -> None:
    async def run() -> None:
        stage = Stage(with_crds=False)
        teller = telling(stage.api)
        async with alongside(teller.run()):
            await story(stage, teller)

    run_virtually(run())


def test_each_is_reported_once_and_says_which_queue_and_kind() -> None:
    async def story(stage: Stage, teller: UnqueuedKinds) -> None:
        made = stage.make(JOBS, job("before"))
        for other in (unlabelled("free"), owned("child")):
            stage.make(JOBS, other)
        teller.set_active(working=True)
        await eventually(lambda: event_rows(stage) == [("before", REASON)])
        stage.make(JOBS, job("later"))
        await eventually(lambda: len(event_rows(stage)) == 2)
        stage.change(f"{JOBS}/later", {"metadata": {"labels": {"more": "ofit"}}})
        await asyncio.sleep(300)
        assert event_rows(stage) == [("before", REASON), ("later", REASON)]
        event = stage.read(EVENTS)["items"][0]
        assert event["type"] == "Warning"
        assert event["involvedObject"]["uid"] == made["metadata"]["uid"]
        assert event["message"].startswith("The object names queue main, but Job is not enabled in")

    play(story)


def test_of_an_enabled_kind_no_event_is_written() -> None:
    async def run() -> None:
        stage = Stage(with_crds=False)
        stage.make(JOBS, job())
        teller = telling(stage.api, ("batch/job",))
        teller.set_active(working=True)
        async with alongside(teller.run()):
            await asyncio.sleep(300)
        assert event_rows(stage) == []
        assert not any(path == "/apis/batch/v1/jobs" for _, path in stage.api.requests)

    run_virtually(run())


def test_only_the_active_one_tells_and_its_successor_tells_nothing_twice() -> None:
    async def story(stage: Stage, teller: UnqueuedKinds) -> None:
        stage.make(JOBS, job("train"))
        await asyncio.sleep(60)
        assert event_rows(stage) == []
        teller.set_active(working=True)
        await eventually(lambda: len(event_rows(stage)) == 1)
        heir = telling(stage.api)
        heir.set_active(working=True)
        async with alongside(heir.run()):
            stage.make(JOBS, job("other"))
            await eventually(lambda: len(event_rows(stage)) == 2)
            await asyncio.sleep(60)
        assert len(event_rows(stage)) == 2

    play(story)


def test_a_kind_that_may_not_be_looked_at_is_asked_for_seldom_and_keeps_nothing_up() -> None:
    async def story(stage: Stage, teller: UnqueuedKinds) -> None:
        async def forbid(_method: str, path: str) -> Response | None:
            return Response(403, b"{}") if path == "/api/v1/pods" else None

        stage.api.before = forbid
        teller.set_active(working=True)
        stage.make(JOBS, job())
        await eventually(lambda: len(event_rows(stage)) == 1)
        since = len(stage.api.requests)
        await asyncio.sleep(3_600)
        asked = stage.api.requests[since:].count(("GET", "/apis/apps/v1/deployments"))
        assert 60 <= asked <= 120

    play(story)


def test_of_more_than_can_wait_the_oldest_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unqueued, "WAITING_MAX", 3)

    async def story(stage: Stage, teller: UnqueuedKinds) -> None:
        for number in range(9):
            stage.make(JOBS, job(f"train-{number}"))
        await asyncio.sleep(30)  # no replica is the active one
        teller.set_active(working=True)
        await eventually(lambda: len(event_rows(stage)) == 3)
        await asyncio.sleep(60)
        assert len(event_rows(stage)) == 3

    play(story)
