"""Under Kueue's default settings, an object of a disabled kind that names a queue gets an Event."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.e2e.acts import ray
from tests.e2e.cast import define, make_queues, post, submit, until
from tests.e2e.ordeal import alone
from tests.e2e.test_serving import of_apps
from tidegate.cluster.running import run_services
from tidegate.kube.ports import KubernetesApi

pytestmark = pytest.mark.real
Object = dict[str, Any]
NAME = "disabled-kinds"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{NAME}/deployments"
(RAY_JOB,) = [act for act in ray.ACTS if act.framework == "ray.io/rayjob"]


async def events_on(api: KubernetesApi, name: str) -> list[Object]:
    """Return what is reported of an object, and of no other of its name."""
    query = {"fieldSelector": f"involvedObject.name={name},reason=QueuedNotManaged"}
    answer = await api.request("GET", f"/api/v1/namespaces/{NAME}/events", query=query)
    documents: list[Object] = msgspec.json.decode(answer.body)["items"]
    return documents


async def make(api: KubernetesApi, path: str, obj: Object) -> str:
    """Create an object and return its uid."""
    answer = await post(api, path.format(NAME), obj)
    assert answer.status == 201, answer.body
    return str(msgspec.json.decode(answer.body)["metadata"]["uid"])


@pytest.mark.slow
async def test_an_object_of_a_kind_that_is_not_enabled_is_reported_once_that_it_is_not_queued(
    api: KubernetesApi, own_api: str, tmp_path: Path
) -> None:
    assert RAY_JOB.crd is not None
    await define(api, RAY_JOB.crd)
    await make_queues(api, {NAME: "1"})
    uids = {"web": await make(api, DEPLOYMENTS, of_apps("Deployment", "web", NAME, 0))}

    async def is_reported(name: str) -> bool:
        return [event["involvedObject"]["uid"] for event in await events_on(api, name)] == [
            uids[name]
        ]

    async with run_services(alone(tmp_path, own_api), print):
        await until(partial(is_reported, "web"), "an Event on what was there before")
        uids["ray"] = await make(api, RAY_JOB.path, RAY_JOB.make("ray", NAME, 60))
        await submit(api, NAME, "queued", cpu="1", seconds=1)
        await until(partial(is_reported, "ray"), "an Event on what came later")
    async with run_services(alone(tmp_path / "again", own_api), print):
        uids["late"] = await make(api, DEPLOYMENTS, of_apps("Deployment", "late", NAME, 0))
        await until(partial(is_reported, "late"), "an Event by another actuator")
    assert await is_reported("web")
    assert await events_on(api, "queued") == []
    (fields,) = await events_on(api, "ray")
    assert fields["message"].startswith(f"The object names queue {NAME}, but RayJob is not enabled")
