"""A Job started and stopped on a real API server, under a real Job controller."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from random import Random

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from actuator.calls import Calls
from actuator.events import FanOut
from actuator.metrics import Metrics
from actuator.ordering.apply import Applier
from actuator.ordering.consume import Consumer, Session
from actuator.ordering.reports import Reporter
from tests.bus.memory.all_ports import MemoryBus
from tests.parts.history import History
from tests.parts.stage import Object, alongside, job
from tidegate.contracts.codec import decode_observation
from tidegate.contracts.decisions import PodSetStart, StartOrdered, StopOrdered
from tidegate.contracts.entry import Position
from tidegate.contracts.observations import ActuationReported
from tidegate.kube.client import KubernetesClient, connect
from tidegate.kube.credentials import Access
from tidegate.kube.ports import MERGE_PATCH
from tidegate.model.ids import ObjectRef
from tidegate.model.podset import Toleration

pytestmark = pytest.mark.real
DEADLINE_S = 90


class Real:
    """One namespace of a real API server, and an actuator on it."""

    def __init__(self, api: KubernetesClient, namespace: str) -> None:
        self._api, self._namespace = api, namespace
        self.jobs = f"/apis/batch/v1/namespaces/{namespace}/jobs"
        self.pods = f"/api/v1/namespaces/{namespace}/pods"
        self._bus = MemoryBus()
        self.history = History(self._bus)

    def actuator(self) -> Session:
        random, metrics = Random(1), Metrics(CollectorRegistry())
        port = self._bus.observation_publisher()
        reporter = Reporter(port, cluster="local", session="a", random=random, metrics=metrics)
        applier = Applier(Calls(self._api, metrics), reporter, random, metrics)
        consumer = Consumer(self._bus.event_feed(), applier, FanOut(), random)
        return Session(consumer, self._bus.lease("a", holder="a"), 10, 4)

    async def make(self, obj: Object) -> tuple[Object, ObjectRef]:
        obj["metadata"]["namespace"] = self._namespace
        answer = await self._api.request("POST", self.jobs, body=msgspec.json.encode(obj))
        assert answer.status == 201, answer.body
        made = msgspec.json.decode(answer.body)
        meta = made["metadata"]
        return made, ObjectRef(
            kind="batch/job", namespace=self._namespace, name=meta["name"], uid=meta["uid"]
        )

    async def unsuspend(self, path: str) -> None:
        body = msgspec.json.encode({"spec": {"suspend": False}})
        answer = await self._api.request("PATCH", path, body=body, content_type=MERGE_PATCH)
        assert answer.status == 200, answer.body

    async def until(self, path: str, holds: Callable[[Object], bool]) -> Object:
        async with asyncio.timeout(DEADLINE_S):
            while True:
                document: Object = msgspec.json.decode((await self._api.request("GET", path)).body)
                if holds(document):
                    return document
                await asyncio.sleep(0.1)

    async def reported(self) -> list[ActuationReported]:
        messages = await self._bus.observation_reader().pull(Position(), count_max=100, wait_s=0)
        observations = [decode_observation(message.payload) for message in messages]
        return [
            observation
            for observation in observations
            if isinstance(observation, ActuationReported)
        ]


@pytest.fixture
async def real(real_api: str, real_namespace: str) -> AsyncGenerator[Real]:
    async with connect(Access(kubeconfig=real_api)) as api:
        yield Real(api, real_namespace)


@asynccontextmanager
async def started(real: Real, order: StartOrdered) -> AsyncGenerator[None]:
    async with alongside(real.actuator().run()):
        await real.history.write(order)
        yield


def start(job: ObjectRef, **placed: object) -> StartOrdered:
    podset = msgspec.convert({"name": "main", "count": 2, **placed}, PodSetStart)
    return StartOrdered(at_us=1, workload="w", job=job, podsets=(podset,))


async def test_a_running_job_is_stopped_and_its_template_is_as_it_was(real: Real) -> None:
    wanted = job(parallelism=2, completions=2)
    wanted["spec"]["template"]["metadata"] = {"annotations": {"simulate/seconds": "600"}}
    wanted["spec"]["template"]["spec"]["tolerations"] = [{"key": "own", "operator": "Exists"}]
    made, ref = await real.make(wanted)
    spot = Toleration(key="spot", operator="Exists", effect="NoExecute", seconds=60)
    order = start(ref, node_selector={"kubernetes.io/os": "none"}, tolerations=(spot,))
    path = f"{real.jobs}/train"
    async with started(real, order):
        await real.until(path, lambda obj: obj["status"].get("active") == 2)
        pods = await real.until(real.pods, lambda pod: len(pod["items"]) == 2)
        assert pods["items"][0]["spec"]["nodeSelector"] == {"kubernetes.io/os": "none"}
        assert "spot" in [
            toleration.get("key") for toleration in pods["items"][0]["spec"]["tolerations"]
        ]
        await real.history.write(StopOrdered(at_us=2, workload="w", job=ref))
        after = await real.until(path, lambda obj: obj["spec"] == made["spec"])
        await real.until(real.pods, lambda pod: not pod["items"])
    assert msgspec.json.encode(after["spec"]) == msgspec.json.encode(made["spec"])
    marks = after["metadata"]["annotations"]
    marks.pop("tidegate.dev/author", "")  # a policy's, where other tests installed it
    assert marks == {"tidegate.dev/decision": "L1/2"}
    assert await real.reported() == []


async def test_a_job_is_started_again_elsewhere_after_it_was_stopped(real: Real) -> None:
    _, ref = await real.make(job(parallelism=2, completions=2))
    path = f"{real.jobs}/train"
    async with started(real, start(ref, node_selector={"zone": "a"})):
        await real.until(path, lambda obj: obj["status"].get("active") == 2)
        await real.history.write(StopOrdered(at_us=2, workload="w", job=ref))
        await real.until(path, lambda obj: "startTime" not in obj["status"])
        await real.history.write(start(ref, node_selector={"zone": "b"}))
        again = await real.until(path, lambda obj: not obj["spec"]["suspend"])
    assert again["spec"]["template"]["spec"]["nodeSelector"] == {"zone": "b"}


async def test_a_job_unsuspended_by_hand_is_placed_all_the_same(real: Real) -> None:
    _, ref = await real.make(job(parallelism=2, completions=2))
    path = f"{real.jobs}/train"
    await real.unsuspend(path)
    await real.until(path, lambda obj: obj["status"].get("active") == 2)
    async with started(real, start(ref, node_selector={"zone": "a"})):
        placed = await real.until(
            path,
            lambda obj: obj["spec"]["template"]["spec"].get("nodeSelector") == {"zone": "a"},
        )
    assert placed["spec"]["suspend"] is False


async def test_a_namesake_is_reported_gone_and_left_alone(real: Real) -> None:
    _, ref = await real.make(job())
    other = msgspec.structs.replace(ref, uid="00000000-0000-4000-8000-000000000000")
    async with started(real, start(other)):
        async with asyncio.timeout(DEADLINE_S):
            while not await real.reported():
                await asyncio.sleep(0.1)
        obj = await real.until(f"{real.jobs}/train", lambda _: True)
    assert [observation.reason for observation in await real.reported()] == ["gone"]
    assert obj["spec"]["suspend"] is True
