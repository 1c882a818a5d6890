"""A manager and two workers, each a control plane with Tidegate on it: a job's life among them."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from tests.e2e.breaking import kill
from tests.e2e.cast import KUEUE, Object, job_of, make_queues, until
from tests.e2e.ordeal import alone
from tests.parts.kubernetes import fresh_plane
from tidegate.cluster.go.plane import ControlPlane
from tidegate.cluster.install import apply, install, manifests_folder
from tidegate.cluster.running import Running, run_services, services_of
from tidegate.kube.client import Access, connect
from tidegate.kube.ports import KubernetesApi

pytestmark = [pytest.mark.real, pytest.mark.slow]
NAME, SYSTEM = "far", "tidegate-system"
CONTROLLER = "kueue.x-k8s.io/multikueue"
CONFIG = """apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
multiKueue:
  gcInterval: 5s
  workerLostTimeout: 10m
  dispatcherName: kueue.x-k8s.io/multikueue-dispatcher-incremental
  incrementalDispatcherConfig: {stepSize: 1}
"""
GROUP = f"/apis/{KUEUE}"
JOBS = f"/apis/batch/v1/namespaces/{NAME}/jobs"


class Site:
    """One cluster with its services."""

    def __init__(self, plane: ControlPlane, api: KubernetesApi, running: Running) -> None:
        self.plane, self.api, self.running = plane, api, running

    async def get(self, path: str) -> Object:
        answer = await self.api.request("GET", path)
        found: Object = msgspec.json.decode(answer.body) if answer.status == 200 else {}
        return found

    async def items(self, path: str) -> list[Object]:
        found: list[Object] = (await self.get(path)).get("items") or []
        return found


class World:
    """All three, and what is waited for."""

    def __init__(self, manager: Site, workers: dict[str, Site]) -> None:
        self.manager, self.workers = manager, workers

    async def until(self, holds: Callable[[], Any], what: str) -> None:
        await until(holds, what, 300.0)

    async def status(self, job: str) -> Object:
        found = await self.manager.items(f"{GROUP}/namespaces/{NAME}/workloads")
        named = [one for one in found if one["metadata"]["name"].startswith(f"job-{job}-")]
        status: Object = named[0].get("status", {}) if named else {}
        return status

    async def chosen(self, job: str) -> str:
        """Wait until a worker runs a job; return which."""

        async def ready() -> bool:
            told = (await self.status(job)).get("admissionChecks", [])
            return [one["state"] for one in told] == ["Ready"]

        await self.until(ready, "the check is ready")
        name: str = (await self.status(job))["clusterName"]
        return name

    async def active(self, name: str) -> str:
        """Return the reason of a MultiKueueCluster's condition, and whether it holds."""
        found = await self.manager.get(f"{GROUP}/multikueueclusters/{name}")
        told = found.get("status", {}).get("conditions", [])
        return next((f"{one['status']} {one['reason']}" for one in told), "")

    async def complete(self, name: str) -> None:
        async def is_complete() -> bool:
            told = (await job_of(self.manager.api, NAME, name)).get("status", {})
            return any(one["type"] == "Complete" for one in told.get("conditions", ()))

        await self.until(is_complete, f"{name} completes here")

    async def clean(self) -> None:
        async def is_clean() -> bool:
            paths = (
                f"{GROUP}/namespaces/{NAME}/workloads",
                f"/apis/batch/v1/namespaces/{NAME}/jobs",
            )
            left = [await one.items(path) for one in self.workers.values() for path in paths]
            return not any(left)

        await self.until(is_clean, "nothing is left on the workers")


async def describe(api: KubernetesApi, workers: dict[str, bytes], namespace: str = SYSTEM) -> None:
    """Name the workers by their kubeconfigs on the manager, and let its queue use them."""
    for name, kubeconfig in workers.items():
        data = {"kubeconfig": b64encode(kubeconfig).decode()}
        meta = {"name": name, "namespace": namespace}
        await apply(api, {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": data})
        source = {"kubeConfig": {"location": name, "locationType": "Secret"}}
        await apply(api, made("MultiKueueCluster", name, clusterSource=source))
    await apply(api, made("MultiKueueConfig", NAME, clusters=list(workers)))
    named = {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": NAME}
    check = made("AdmissionCheck", NAME, controllerName=CONTROLLER, parameters=named)
    await apply(api, check)
    strategy = {"admissionChecks": [{"name": NAME}]}
    found = await api.request("GET", f"{GROUP}/clusterqueues/{NAME}")
    spec = msgspec.json.decode(found.body)["spec"] | {"admissionChecksStrategy": strategy}
    await apply(api, made("ClusterQueue", NAME, **spec))


def made(kind: str, name: str, **spec: object) -> Object:
    return {"apiVersion": KUEUE, "kind": kind, "metadata": {"name": name}, "spec": spec}


async def submit(api: KubernetesApi, name: str, seconds: float) -> None:
    spec = described(name, seconds, managedBy=CONTROLLER)
    answer = await api.request("POST", JOBS, body=msgspec.json.encode(spec))
    assert answer.status == 201, answer.body


async def submit_plain(api: KubernetesApi, name: str, seconds: float) -> None:
    """Make a job that names no controller, once such jobs are given to MultiKueue."""
    body = msgspec.json.encode(described(name, seconds))

    async def is_given() -> bool:
        answer = await api.request("POST", JOBS, body=body, query={"dryRun": "All"})
        made: Object = msgspec.json.decode(answer.body)
        return bool(made["spec"].get("managedBy") == CONTROLLER)

    await until(is_given, "jobs of the queue are given to MultiKueue", 300.0)
    answer = await api.request("POST", JOBS, body=body)
    assert answer.status == 201, answer.body


def described(name: str, seconds: float, **spec: str) -> Object:
    container = {"name": "c", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    template = {
        "metadata": {"annotations": {"simulate/seconds": str(seconds)}},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    labels = {"kueue.x-k8s.io/queue-name": NAME}
    return {"metadata": {"name": name, "labels": labels}, "spec": {**spec, "template": template}}


@asynccontextmanager
async def world(folder: Path) -> AsyncGenerator[World]:
    """Bring up three control planes with everything on them."""
    config = folder / "configuration.yaml"
    config.write_text(CONFIG)
    async with AsyncExitStack() as stack:
        planes = {one: stack.enter_context(fresh_plane(folder / one)) for one in ("w1", "w2", "m")}
        sites = dict[str, Site]()
        for name, plane in planes.items():
            access = Access(kubeconfig=str(plane.kubeconfig))
            api = await stack.enter_async_context(connect(access))
            await install(api, manifests_folder(), print)
            await make_queues(api, {NAME: "2"})
            wanted = alone(folder / f"state-{name}", str(plane.kubeconfig))
            if name == "m":
                await describe(
                    api, {one: planes[one].kubeconfig.read_bytes() for one in ("w1", "w2")}
                )
                wanted = replace(wanted, config=str(config), services=services_of(str(config)))
            running = await stack.enter_async_context(run_services(wanted, print))
            sites[name] = Site(plane, api, running)
        yield World(sites.pop("m"), sites)


async def test_jobs_among_clusters(tmp_path: Path) -> None:
    async with world(tmp_path) as there:
        await submit_plain(there.manager.api, "first", 5)
        assert await there.chosen("first") == "w1", "the first of the configuration was asked alone"
        await there.complete("first")
        await there.clean()
        await submit(there.manager.api, "second", 40)
        name = await there.chosen("second")
        for service in ("dispatcher", "scheduler"):
            await kill(there.manager.running, service)
        worker = there.workers[name]
        await asyncio.to_thread(worker.plane.kill, "kube-apiserver")

        async def lost() -> bool:
            return await there.active(name) == "False ClientConnectionFailed"

        await there.until(lost, "the loss is seen")
        await asyncio.to_thread(worker.plane.start, "kube-apiserver")
        await there.complete("second")
        await there.clean()
        assert await there.active(name) == "True Active"
