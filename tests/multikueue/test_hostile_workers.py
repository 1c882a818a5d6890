"""A worker cluster that answers as it pleases harms only the workloads that were sent there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any

import msgspec
import pytest

from dispatcher.informer import OBJECTS_MAX, Informer, SizeLimit
from tests.multikueue.sites import Site, until
from tests.multikueue.world import WORKLOADS, World, job
from tests.parts.interposed import Interposed
from tests.parts.stage import JOBS, KUEUE, alongside
from tests.parts.virtual import run_virtually
from tidegate.errors import ApiStatusError, ApiUnreachableError
from tidegate.kube.ports import JSON, KubernetesApi, Response

Object = dict[str, Any]
Spoil = Callable[[Object], None]
HANG_S = 30.0


class Hostile(Interposed):
    """A worker's API server that changes each object that it shows."""

    def __init__(self, api: KubernetesApi, spoil: Spoil) -> None:
        super().__init__(api)
        self._spoil = spoil

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
    ) -> Response:
        answer = await super().request(
            method, path, query=query, body=body, content_type=content_type
        )
        document = msgspec.json.decode(answer.body)
        for obj in document.get("items", [document]):
            self._spoil(obj)
        return Response(answer.status, msgspec.json.encode(document))

    @asynccontextmanager
    async def watch(
        self, path: str, query: Mapping[str, str]
    ) -> AsyncGenerator[AsyncIterator[bytes]]:
        async with super().watch(path, query) as lines:
            yield self._spoilt(lines)

    async def _spoilt(self, lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for line in lines:
            document = msgspec.json.decode(line)
            self._spoil(document["object"])
            yield msgspec.json.encode(document)


def _conditions(obj: Object) -> None:
    if obj.get("kind") == "Workload":
        obj["status"] = {"conditions": "of no kind"}


def _spec(obj: Object) -> None:
    if obj.get("kind") == "Workload":
        obj["spec"] = None


def _version(obj: Object) -> None:
    if obj.get("kind") == "Workload":
        obj["metadata"]["resourceVersion"] = "9" * 5_000


def _meta(obj: Object) -> None:
    obj["metadata"] = None


def _annotations(obj: Object) -> None:
    if obj.get("metadata"):
        obj["metadata"]["annotations"] = None


@pytest.mark.parametrize("spoil", [_conditions, _spec, _version, _meta])
def test_a_worker_whose_objects_make_no_sense_keeps_no_job_from_another(spoil: Spoil) -> None:
    async def live() -> None:
        world = World(quotas=("4", "4"))
        w1 = world.workers["w1"].stage
        w1.api = Hostile(w1.embedded, spoil)
        async with world.running(), alongside(world.manager.dispatch()) as dispatcher:
            world.manager.stage.make(JOBS, job("train", 30))
            await until(lambda: world.holds("Finished"), "it is finished", patience_s=300)
            assert not dispatcher.done()
            assert world.status()["clusterName"] == "w2"

    run_virtually(live())


def test_a_worker_may_write_that_there_are_no_annotations() -> None:
    async def live() -> None:
        world = World(quotas=("4", "0"))
        w1 = world.workers["w1"].stage
        w1.api = Hostile(w1.embedded, _annotations)
        async with world.running(), alongside(world.manager.dispatch()):
            world.manager.stage.make(JOBS, job("train", 30))
            await until(lambda: world.holds("Finished"), "it is finished", patience_s=300)

    run_virtually(live())


def test_a_status_that_is_not_taken_here_keeps_no_quota() -> None:
    """A Job that is about to fail may not succeed: the API server here refuses it."""

    async def live() -> None:
        world = World(quotas=("4", "0"))
        w1 = world.workers["w1"].stage
        w1.api = Hostile(w1.embedded, _about_to_fail)
        async with world.running(), alongside(world.manager.dispatch()):
            world.manager.stage.make(JOBS, job("train", 30))
            await until(lambda: world.holds("Finished"), "it is finished", patience_s=300)
            assert "Complete" not in msgspec.json.encode(world.job("train")).decode()
            await until(world.is_clean, "nothing is left on the workers")

    run_virtually(live())


def _about_to_fail(obj: Object) -> None:
    if obj.get("kind") != "Job":
        return
    conditions = obj.setdefault("status", {}).setdefault("conditions", [])
    if not any(each["type"] == "Complete" for each in conditions):
        conditions.append({"type": "FailureTarget", "status": "True"})


def test_a_worker_that_cannot_be_read_is_shown_so_and_asked_ever_more_rarely() -> None:
    async def live() -> None:
        world = World()
        w1 = world.workers["w1"].stage
        w1.api = Hostile(w1.embedded, _meta)
        _leave_behind(world.workers["w1"], "left")
        async with alongside(world.manager.run()), alongside(world.manager.dispatch()):
            await until(lambda: _active(world, "w1").get("status") == "False", "it is not active")
            await until(lambda: _active(world, "w2").get("status") == "True", "the other one is")
            assert _active(world, "w1")["reason"] == "ClientConnectionFailed"
            before = len(w1.api.requests)
            await asyncio.sleep(300)
            assert len(w1.api.requests) - before < 30

    run_virtually(live())


@pytest.mark.slow
def test_a_worker_whose_watches_break_at_once_is_not_asked_without_pause() -> None:
    async def live() -> None:
        world = World()
        w1 = world.workers["w1"].stage
        w1.api = _Breaking(w1.embedded)
        async with world.running(), alongside(world.manager.dispatch()):
            await asyncio.sleep(300)
            assert len(w1.api.requests) < 300

    run_virtually(live())


class _Breaking(Interposed):
    @asynccontextmanager
    async def watch(
        self, path: str, query: Mapping[str, str]
    ) -> AsyncGenerator[AsyncIterator[bytes]]:
        async with super().watch(path, query):
            raise ApiUnreachableError("it broke")
            yield  # to be a generator


def test_a_copy_whose_owners_make_no_sense_keeps_no_other_from_being_collected() -> None:
    async def live() -> None:
        world = World()
        for site in world.workers.values():
            _leave_behind(site, "aaa")
            _leave_behind(site, "zzz")
        w1 = world.workers["w1"].stage
        w1.api = Hostile(w1.embedded, _owners)
        async with alongside(world.manager.run()), alongside(world.manager.dispatch()) as running:
            await until(lambda: not world.workers["w2"].items(WORKLOADS), "the other's are gone")
            await until(lambda: len(world.workers["w1"].items(WORKLOADS)) == 1, "one is gone")
            assert not running.done()

    run_virtually(live())


def _leave_behind(site: Site, name: str) -> None:
    labels = {"kueue.x-k8s.io/multikueue-origin": "here"}
    pods = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
    spec = {"podSets": [{"name": "main", "count": 1, "template": {"spec": pods}}]}
    meta = {"name": name, "namespace": "default", "labels": labels}
    head = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload"}
    site.stage.make(WORKLOADS, {**head, "metadata": meta, "spec": spec})


def _owners(obj: Object) -> None:
    if obj.get("kind") == "Workload" and obj["metadata"]["name"] == "aaa":
        obj["metadata"]["ownerReferences"] = [{}]


@pytest.mark.slow
def test_a_worker_that_answers_no_creation_delays_no_other() -> None:
    async def live() -> None:
        world = World(quotas=("0", "40"))
        world.manager.stage.change(f"{KUEUE}/clusterqueues/main", _quota("40"))
        w1 = world.workers["w1"].stage
        w1.api.before = _hang
        async with world.running(), alongside(world.manager.dispatch()):
            await until(lambda: _active(world, "w1").get("status") == "True", "it is active")
            for number in range(40):
                world.manager.stage.make(JOBS, job(f"train-{number}", 400))
            jobs = world.workers["w2"]
            await until(lambda: len(jobs.items(JOBS)) == 40, "all are there", patience_s=HANG_S)

    async def _hang(method: str, path: str) -> Response | None:
        del path
        if method != "POST":
            return None
        await asyncio.sleep(HANG_S)
        raise ApiUnreachableError("no answer")

    run_virtually(live())


def _quota(cpu: str) -> Object:
    quota = {"name": "cpu", "nominalQuota": cpu}
    flavors = [{"name": "any", "resources": [quota]}]
    return {"spec": {"resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}]}}


def _active(world: World, name: str) -> Object:
    documents = world.manager.items(f"{KUEUE}/multikueueclusters")
    obj = next(obj for obj in documents if obj["metadata"]["name"] == name)
    conditions: list[Object] = obj.get("status", {}).get("conditions", [])
    return next((condition for condition in conditions if condition["type"] == "Active"), {})


async def test_a_worker_that_lists_without_end_is_given_up() -> None:
    class Endless(Interposed):
        async def request(self, method: str, path: str, **_: object) -> Response:
            del method, path
            self.pages = getattr(self, "pages", 0) + 1
            items = [{"metadata": {"name": f"{self.pages}-{number}"}} for number in range(500)]
            meta = {"resourceVersion": "1", "continue": "more"}
            page = {"kind": "WorkloadList", "apiVersion": "v1", "metadata": meta, "items": items}
            return Response(HTTPStatus.OK, msgspec.json.encode(page))

    api = Endless(None)  # type: ignore[arg-type]  # it answers itself
    with pytest.raises(ApiStatusError, match=f"more than {OBJECTS_MAX} objects"):
        await Informer(api, "/apis/x", lambda _: None).open()


def heavy(number: int) -> Object:
    """Return an object whose JSON has some 1,000 bytes."""
    return {"metadata": {"name": f"w{number}", "resourceVersion": "1"}, "spec": "x" * 900}


async def test_what_all_objects_of_a_worker_may_take_is_shared_by_its_resources() -> None:
    class Full(Interposed):
        async def request(self, method: str, path: str, **_: object) -> Response:
            del method, path
            meta = {"resourceVersion": "1"}
            page = {"kind": "WorkloadList", "apiVersion": "v1", "metadata": meta}
            items = [heavy(number) for number in range(10)]
            return Response(HTTPStatus.OK, msgspec.json.encode({**page, "items": items}))

    api, allowance = Full(None), SizeLimit(25_000)  # type: ignore[arg-type]  # it answers itself
    first, second, third = (
        Informer(api, f"/apis/{name}", lambda _: None, allowance=allowance) for name in "abc"
    )
    await first.open()
    await first.open()  # anew: what was there before counts no more
    await second.open()
    with pytest.raises(ApiStatusError, match=r"more than \d+ bytes"):
        await third.open()
    assert (len(first.items), len(second.items), len(third.items)) == (10, 10, 0)
