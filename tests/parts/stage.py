"""An embedded API server and a bus in memory on one virtual loop, for tests of the services."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from functools import cache
from random import Random
from typing import Any

import msgspec

from apiserver.api import EmbeddedApi
from tests.bus.memory.all_ports import MemoryBus
from tests.parts.interposed import Interposed
from tidegate.contracts.codec import decode_observation
from tidegate.contracts.entry import Position
from tidegate.contracts.observations import Observation
from tidegate.kinds.crds import crds
from tidegate.kube.ports import JSON, MERGE_PATCH

Object = dict[str, Any]
DEADLINE_S = 3_600.0
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
JOBS = "/apis/batch/v1/namespaces/default/jobs"


class Stage:
    """What a service stands on; made inside a running loop."""

    def __init__(
        self,
        *,
        with_crds: bool = True,
        observations_max: int = 500_000,
        events_max: int = 500_000,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self.embedded = EmbeddedApi(now_us=self.now_us, random=Random(1), history_max=1_000)
        self.api = Interposed(self.embedded)
        self.bus = MemoryBus(observations_max=observations_max, events_max=events_max)
        self._heard = list[Observation]()
        self._at = Position()
        if with_crds:
            self.install_crds()

    def now_us(self) -> int:
        """Return the virtual time in microseconds."""
        return int(self._loop.time() * 1_000_000)

    def install_crds(self) -> None:
        for crd in _crds():
            self.make(CRDS, crd)

    def make(self, path: str, obj: Object) -> Object:
        """Create an object, or fail the test."""
        return self._call("POST", path, obj)

    def change(self, path: str, patch: Object) -> Object:
        return self._call("PATCH", path, patch, MERGE_PATCH)

    def read(self, path: str) -> Object:
        return self._call("GET", path, None)

    def remove(self, path: str) -> None:
        self._call("DELETE", path, {"propagationPolicy": "Background"})

    async def heard(self) -> list[Observation]:
        """Return everything that stands in OBSERVATIONS, and all that was heard before."""
        while new := await self.bus.observation_reader().pull(self._at, count_max=10_000, wait_s=0):
            self._heard += [decode_observation(message.payload) for message in new]
            self._at = new[-1].at
        return list(self._heard)

    async def hear(self, kind: type, until: Callable[[Any], bool] = lambda _: True) -> Any:  # noqa: ANN401
        """Return the first observation of this kind that fits, waiting for it."""
        async with asyncio.timeout(DEADLINE_S):
            while True:
                for observation in await self.heard():
                    if isinstance(observation, kind) and until(observation):
                        return observation
                await asyncio.sleep(0.1)

    def _call(self, method: str, path: str, body: Object | None, content: str = JSON) -> Object:
        data = None if body is None else msgspec.json.encode(body)
        answer = self.embedded.call(method, path, body=data, content_type=content)
        assert answer.status < 300, f"{method} {path}: {answer.status} {answer.body!r}"
        document: Object = msgspec.json.decode(answer.body)
        return document


@cache
def _crds() -> list[Object]:
    """Return the CRDs, made from the types once: that takes longer than most tests."""
    return crds(rules=False)


@asynccontextmanager
async def alongside(work: Coroutine[Any, Any, None]) -> AsyncGenerator[asyncio.Task[None]]:
    """Run a service beside the test, and kill it at the end."""
    task = asyncio.create_task(work)
    try:
        yield task
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def eventually(holds: Callable[[], bool], within_s: float = DEADLINE_S) -> None:
    """Wait until something holds; the virtual clock makes long waits short."""
    async with asyncio.timeout(within_s):
        while not holds():
            await asyncio.sleep(0.05)


def kueue(kind: str, name: str, **spec: object) -> Object:
    """Return one of Kueue's objects."""
    head = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind}
    return {**head, "metadata": {"name": name}, "spec": spec}


def job(name: str = "train", **spec: object) -> Object:
    """Return a suspended Job in the queue ``main``."""
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    return {
        "metadata": {
            "name": name,
            "namespace": "default",
            "labels": {"kueue.x-k8s.io/queue-name": "main"},
        },
        "spec": {"suspend": True, "template": template, **spec},
    }
