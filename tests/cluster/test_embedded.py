"""What only the embedded server can be asked: bounds, slow controllers, taints, a body too long."""

from __future__ import annotations

from io import BytesIO
from random import Random
from typing import Any

import aiohttp
import msgspec
import pytest

from apiserver.api import EmbeddedApi
from apiserver.controllers.controller_manager import ControllerManager
from apiserver.http import serve
from tests.cluster.talking import Object, Talk, job, pod
from tests.parts.kubernetes import make_namespace
from tidegate.cluster.pod_lifetimes import exit_code_of, run_us_of

START_US = 1_800_000_000_000_000
SECOND_US = 1_000_000


class Stage:
    """A cluster on a clock that moves only when it is told to."""

    def __init__(self, *, delay_us: int = 0, history_max: int = 100) -> None:
        self.now_us = START_US
        self.api = EmbeddedApi(
            now_us=lambda: self.now_us, random=Random(1), history_max=history_max
        )
        self.controller_manager = ControllerManager(self.api, delay_us=lambda: delay_us)
        self.kube = Talk(self.api, "default", self.api.compact)

    def pass_time(self, seconds: float) -> None:
        """Let time pass, and everything happen that comes due on the way."""
        until_us = self.now_us + int(seconds * SECOND_US)
        while (due_us := self.controller_manager.step()) is not None and due_us <= until_us:
            self.now_us = max(self.now_us, due_us)
        self.now_us = until_us

    def found(self, path: str) -> Any:  # noqa: ANN401 - an object or a list
        return msgspec.json.decode(self.api.call("GET", path).body)


@pytest.mark.parametrize("count", [1, 4, 5, 30])
async def test_history_is_bounded_and_what_is_forgotten_is_gone(count: int) -> None:
    kube = Stage(history_max=2).kube
    await kube.make(kube.leases, {"metadata": {"name": "a"}})
    at = (await kube.get(kube.leases))["metadata"]["resourceVersion"]
    for number in range(count):
        await kube.make(kube.leases, {"metadata": {"name": f"b{number:02}"}})
    async with kube.watch(kube.leases, resourceVersion=at) as events:
        first = await anext(events)
    if count <= 3:  # twice the bound, less the one before
        assert first["object"]["metadata"]["name"] == "b00"
    else:
        assert (first["type"], first["object"]["code"]) == ("ERROR", 410)


async def test_events_go_an_hour_after_they_were_written() -> None:
    stage, events = Stage(), "/api/v1/namespaces/default/events"
    about = {"involvedObject": {"namespace": "default"}}
    for name, pause_s in (("first", 0), ("counted", 1_800), ("new", 1_801)):
        stage.pass_time(pause_s)
        await stage.kube.make(events, {"metadata": {"name": name}, **about})
        if name == "counted":
            await stage.kube.merge(f"{events}/first", {"count": 2})
            stage.pass_time(1_000)
            await stage.kube.merge(f"{events}/first", {"count": 3})
    stage.pass_time(900)
    await stage.kube.make(events, {"metadata": {"name": "newer"}, **about})
    left = [event["metadata"]["name"] for event in stage.found(events)["items"]]
    assert left == ["first", "new", "newer"]


async def test_after_forgetting_every_older_version_is_gone() -> None:
    kube = Stage().kube
    at = (await kube.get(kube.leases))["metadata"]["resourceVersion"]
    await kube.make(kube.maps, {"metadata": {"name": "elsewhere"}})
    kube.compact()
    async with kube.watch(kube.leases, resourceVersion=at) as events:
        first = await anext(events)
    assert (first["type"], first["object"]["code"]) == ("ERROR", 410)


async def test_a_watch_that_is_too_slow_is_ended() -> None:
    kube = Stage(history_max=2).kube
    await kube.make(kube.leases, {"metadata": {"name": "a"}})
    async with kube.watch(kube.leases) as events:
        await anext(events)
        for number in range(20):
            await kube.make(kube.leases, {"metadata": {"name": f"b{number}"}})
        fields = await anext(events)
    assert (fields["type"], fields["object"]["code"]) == ("ERROR", 410)


async def test_a_slow_controller_acts_late() -> None:
    stage = Stage(delay_us=SECOND_US)
    stage.controller_manager.add_node("node-0")
    await stage.kube.make(stage.kube.jobs, job("a", seconds="10"))
    stage.pass_time(0.9)
    assert stage.found(stage.kube.pods)["items"] == []
    stage.pass_time(0.2)
    (made,) = stage.found(stage.kube.pods)["items"]
    assert "nodeName" not in made["spec"]
    stage.pass_time(2)
    assert stage.found(stage.kube.pods)["items"][0]["status"]["phase"] == "Running"
    stage.pass_time(20)
    assert stage.found(f"{stage.kube.jobs}/a")["status"]["succeeded"] == 1


async def test_a_failed_pod_is_replaced_after_a_growing_while() -> None:
    stage = Stage()
    stage.controller_manager.add_node("node-0")
    await stage.kube.make(stage.kube.jobs, job("a", seconds="1", exit_code="1", backoffLimit=2))
    for after_s, failed in ((2, 1), (8, 1), (3, 2), (17, 2), (4, 3)):
        stage.pass_time(after_s)
        assert stage.found(f"{stage.kube.jobs}/a")["status"]["failed"] == failed
    conditions = stage.found(f"{stage.kube.jobs}/a")["status"]["conditions"]
    assert [condition["type"] for condition in conditions] == ["FailureTarget", "Failed"]


@pytest.mark.parametrize(
    ("tolerations", "bound"),
    [
        ([], False),
        ([{"key": "only", "operator": "Exists"}], True),
        ([{"key": "only", "value": "big", "effect": "NoSchedule"}], True),
        ([{"key": "only", "value": "small"}], False),
        ([{"operator": "Exists"}], True),
        ([{"key": "only", "operator": "Exists", "effect": "NoExecute"}], False),
    ],
)
async def test_a_taint_keeps_pods_off_that_do_not_bear_it(
    tolerations: list[Object], *, bound: bool
) -> None:
    stage = Stage()
    stage.controller_manager.add_node("node-0")
    taint = {"key": "only", "value": "big", "effect": "NoSchedule"}
    await stage.kube.merge("/api/v1/nodes/node-0", {"spec": {"taints": [taint]}})
    await stage.kube.make(stage.kube.pods, pod("a", tolerations=tolerations))
    stage.pass_time(1)
    assert ("nodeName" in stage.found(f"{stage.kube.pods}/a")["spec"]) is bound


async def test_a_node_takes_no_more_than_it_has_and_the_urgent_go_first() -> None:
    stage = Stage()
    path = "/apis/scheduling.k8s.io/v1/priorityclasses"
    await stage.kube.make(path, {"metadata": {"name": "urgent"}, "value": 10})
    requests = {"requests": {"cpu": "1"}}
    for name in ("a", "b", "c"):
        body = pod(name, **({"priorityClassName": "urgent"} if name == "c" else {}))
        body["spec"]["containers"][0]["resources"] = requests
        await stage.kube.make(stage.kube.pods, body)
    stage.controller_manager.add_node("node-0", cpu="2")
    stage.pass_time(1)
    pods = stage.found(stage.kube.pods)["items"]
    assert [obj["metadata"]["name"] for obj in pods if "nodeName" in obj["spec"]] == ["a", "c"]
    await stage.kube.remove(f"{stage.kube.pods}/a")
    stage.pass_time(1)
    assert stage.found(f"{stage.kube.pods}/b")["spec"]["nodeName"] == "node-0"


async def test_sidecars_and_first_containers_are_charged_together() -> None:
    stage = Stage()
    stage.controller_manager.add_node("node-0", cpu="5")
    body = pod("a")
    sidecar: Object = {"name": "s", "image": "i", "restartPolicy": "Always"}
    first = {"name": "f", "image": "i", "resources": {"requests": {"cpu": "4"}}}
    sidecar["resources"] = {"requests": {"cpu": "2"}}
    body["spec"]["initContainers"] = [sidecar, first]  # 2 + 4 at once, before the pod itself
    await stage.kube.make(stage.kube.pods, body)
    stage.pass_time(1)
    assert "nodeName" not in stage.found(f"{stage.kube.pods}/a")["spec"]


@pytest.mark.parametrize(
    ("written", "seconds"), [("3", 3), ("0.25", 0.25), ("soon", 2), ("-1", 2), ("1e9", 2)]
)
def test_how_long_a_pod_runs_is_what_it_says(written: str, seconds: float) -> None:
    obj = {"metadata": {"annotations": {"simulate/seconds": written}}}
    assert run_us_of(obj) == int(seconds * SECOND_US)


@pytest.mark.parametrize(("written", "code"), [("3", 3), ("none", 0)])
def test_how_a_pod_ends_is_what_it_says(written: str, code: int) -> None:
    assert exit_code_of({"metadata": {"annotations": {"simulate/exit-code": written}}}) == code


async def test_a_body_beyond_the_bound_is_refused(embedded_api: EmbeddedApi) -> None:
    await make_namespace(embedded_api)
    async with serve(embedded_api) as url, aiohttp.ClientSession() as session:
        path = f"{url}/api/v1/namespaces/default/configmaps"
        async with session.post(path, data=BytesIO(b" " * (3 * 2**20 + 1))) as answer:
            assert answer.status == 413


@pytest.mark.parametrize("body", [b"{", b"[]", b'"text"', b""])
async def test_a_body_that_is_no_object_is_refused(embedded_api: EmbeddedApi, body: bytes) -> None:
    path = "/api/v1/namespaces/default/configmaps"
    assert (await embedded_api.request("POST", path, body=body)).status == 400
