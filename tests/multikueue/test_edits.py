"""A RayService that its user edits while a worker cluster runs it."""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from tests.multikueue.sites import NAMESPACE, QUEUE
from tests.multikueue.world import POLICY, SENT, Object, World
from tests.parts.definitions import RAY_SERVICE
from tests.parts.stage import alongside
from tests.parts.virtual import run_virtually
from tidegate.model.multikueue import CONTROLLER

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SERVICES = f"/apis/ray.io/v1/namespaces/{NAMESPACE}/rayservices"
KIND = "ray.io/rayservice"


def service() -> Object:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    head = {"rayStartParams": {}, "template": {"spec": {"containers": [container]}}}
    config = {"suspend": True, "headGroupSpec": head, "workerGroupSpecs": []}
    labels = {"kueue.x-k8s.io/queue-name": QUEUE}
    spec = {"managedBy": CONTROLLER, "serveConfigV2": "one", "rayClusterConfig": config}
    meta = {"name": "serve", "namespace": NAMESPACE, "labels": labels}
    return {"apiVersion": "ray.io/v1", "kind": "RayService", "metadata": meta, "spec": spec}


def test_an_edit_of_the_serve_config_is_there_within_seconds() -> None:
    async def live() -> None:
        world = World(replace(POLICY, multikueue=replace(SENT, kinds=(KIND,))))
        for site in (world.manager, *world.workers.values()):
            site.kinds = (*site.kinds, KIND)
            site.stage.make(CRDS, RAY_SERVICE)
        async with world.running(), alongside(world.manager.dispatch()):
            world.manager.stage.make(SERVICES, service())
            there, _ = await world.chosen()
            uid = there.stage.read(f"{SERVICES}/serve")["metadata"]["uid"]
            await asyncio.sleep(30)
            world.manager.stage.change(f"{SERVICES}/serve", {"spec": {"serveConfigV2": "two"}})
            await asyncio.sleep(3)
            obj = there.stage.read(f"{SERVICES}/serve")
            assert (obj["spec"]["serveConfigV2"], obj["metadata"]["uid"]) == ("two", uid)

    run_virtually(live())
