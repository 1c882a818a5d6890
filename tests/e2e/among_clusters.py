"""A manager and two workers, each a control plane with Tidegate on it, and what is seen of them."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from tests.e2e.act import has_condition
from tests.e2e.acts.jobset import jobset_children, jobset_status
from tests.e2e.breaking import kill
from tests.e2e.cast import KUEUE, Object, define, make_queues, until
from tests.e2e.kueue_manager import Kueue
from tests.e2e.lws import leader_worker_sets, numbering
from tests.e2e.operators import Operator, at_work
from tests.e2e.ordeal import alone
from tests.parts.foreign import JOBSETS, foreign_crd
from tests.parts.kubernetes import fresh_plane
from tidegate.cluster.go.plane import ControlPlane
from tidegate.cluster.install import apply, install, manifests_folder
from tidegate.cluster.running import RunningServices, run_services, services_of
from tidegate.kinds.manifests import policies
from tidegate.kinds.names import POD_GROUP_NAME
from tidegate.kube.client import connect
from tidegate.kube.credentials import Access
from tidegate.kube.ports import MERGE_PATCH, KubernetesApi

NAME, SYSTEM = "far", "tidegate-system"
CONTROLLER = "kueue.x-k8s.io/multikueue"
LWS = "leaderworkerset.x-k8s.io/leaderworkerset"
FRAMEWORKS = ("batch/job", "jobset.x-k8s.io/jobset", "pod", "statefulset")
CONFIG = """apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
integrations: {{frameworks: [{}]}}
"""
MANAGER = """multiKueue:
  gcInterval: 5s
  workerLostTimeout: 10m
  dispatcherName: kueue.x-k8s.io/multikueue-dispatcher-incremental
  incrementalDispatcherConfig: {stepSize: 1}
"""
GROUP = f"/apis/{KUEUE}"
JOBS = f"/apis/batch/v1/namespaces/{NAME}/jobs"
SETS = JOBSETS.format(NAME)
PODS = f"/api/v1/namespaces/{NAME}/pods"
STATEFUL_SETS = f"/apis/apps/v1/namespaces/{NAME}/statefulsets"
LEADER_WORKER_SETS = f"/apis/leaderworkerset.x-k8s.io/v1/namespaces/{NAME}/leaderworkersets"
GATE = "kueue.x-k8s.io/admission"


class Site:
    """One cluster with what runs on it: Tidegate's services, or Kueue."""

    def __init__(
        self, plane: ControlPlane, api: KubernetesApi, running: RunningServices | Kueue
    ) -> None:
        self.plane, self.api, self.running = plane, api, running

    async def fall(self) -> None:
        """Kill what knows of jobs that were sent or came, and let it begin anew."""
        if isinstance(self.running, Kueue):
            await self.running.restart()
            return
        for service in ("dispatcher", "scheduler"):
            if service in self.running.health:  # a worker has no dispatcher
                await kill(self.running, service)

    async def get(self, path: str) -> Object:
        answer = await self.api.request("GET", path)
        fields: Object = msgspec.json.decode(answer.body) if answer.status == 200 else {}
        return fields

    async def items(self, path: str) -> list[Object]:
        documents: list[Object] = (await self.get(path)).get("items") or []
        return documents

    async def change(self, path: str, patch: Object) -> None:
        """Merge a patch into an object."""
        body = msgspec.json.encode(patch)
        answer = await self.api.request("PATCH", path, body=body, content_type=MERGE_PATCH)
        assert answer.status == HTTPStatus.OK, answer.body

    async def remove(self, path: str) -> None:
        """Delete an object, and what hangs on it."""
        answer = await self.api.request("DELETE", path, body=b'{"propagationPolicy":"Background"}')
        assert answer.status == HTTPStatus.OK, answer.body

    async def runs(self) -> list[str]:
        """Return the names of the pods that run."""
        pods = await self.items(PODS)
        phases = {obj["metadata"]["name"]: obj.get("status", {}).get("phase") for obj in pods}
        return sorted(name for name, phase in phases.items() if phase == "Running")


def is_gated(pod: Object) -> bool:
    return GATE in [gate["name"] for gate in pod["spec"].get("schedulingGates", ())]


class World:
    """All three, and what is waited for."""

    def __init__(self, manager: Site, workers: dict[str, Site]) -> None:
        self.manager, self.workers = manager, workers

    async def until(self, holds: Callable[[], Any], what: str) -> None:
        await until(holds, what, 300.0)

    async def status(self, job: str) -> Object:
        documents = await self.manager.items(f"{GROUP}/namespaces/{NAME}/workloads")
        kinds = ("job", "jobset", "statefulset", "leaderworkerset")
        starts = tuple(f"{kind}-{job}-" for kind in kinds)
        names = {obj["metadata"]["name"]: obj for obj in documents}
        named = [names[name] for name in names if name == job or name.startswith(starts)]
        status: Object = named[0].get("status", {}) if named else {}
        return status

    async def chosen(self, job: str) -> str:
        """Wait until a worker runs a job; return which."""

        async def ready() -> bool:
            admission_checks = (await self.status(job)).get("admissionChecks", [])
            return [check["state"] for check in admission_checks] == ["Ready"]

        await self.until(ready, "the check is ready")
        name: str = (await self.status(job))["clusterName"]
        return name

    async def active(self, name: str) -> str:
        """Return the reason of a MultiKueueCluster's condition, and whether it holds."""
        obj = await self.manager.get(f"{GROUP}/multikueueclusters/{name}")
        current_conditions = obj.get("status", {}).get("conditions", [])
        return next(
            (f"{condition['status']} {condition['reason']}" for condition in current_conditions), ""
        )

    async def complete(self, name: str, path: str = JOBS) -> None:
        async def is_complete() -> bool:
            fields = await self.manager.get(f"{path}/{name}")
            return has_condition(fields, "Complete", "Completed")

        await self.until(is_complete, f"{name} completes here")

    async def succeeded(self, group: str) -> None:
        """Wait until the pods of a group have succeeded here, behind their gates."""

        async def all_succeeded() -> bool:
            pods = await self.members(group)
            return [pod["status"]["phase"] for pod in pods] == ["Succeeded"] * 2

        await self.until(all_succeeded, f"{group} succeeds here")
        assert all(map(is_gated, await self.members(group)))

    async def members(self, group: str) -> list[Object]:
        pods = await self.manager.items(PODS)
        return [pod for pod in pods if pod["metadata"]["labels"][POD_GROUP_NAME] == group]

    async def clean(self) -> None:
        async def is_clean() -> bool:
            workloads = f"{GROUP}/namespaces/{NAME}/workloads"
            paths = (workloads, JOBS, SETS, PODS, STATEFUL_SETS, LEADER_WORKER_SETS)
            left = [await worker.items(path) for worker in self.workers.values() for path in paths]
            return not any(left)

        await self.until(is_clean, "nothing is left on the workers")

    async def outlive(self, name: str, ends: Callable[[], Awaitable[None]]) -> None:
        """Kill the manager's services and the worker that runs a job, and let all come back."""
        chosen = await self.chosen(name)
        worker = self.workers[chosen]

        async def runs() -> bool:
            pods = await worker.items(f"/api/v1/namespaces/{NAME}/pods")
            phases = [pod.get("status", {}).get("phase") for pod in pods]
            return bool(phases) and set(phases) == {"Running"}

        await self.until(runs, f"{name} runs in {chosen}")
        await self.manager.fall()
        await asyncio.to_thread(worker.plane.kill, "kube-apiserver")

        async def lost() -> bool:
            return await self.active(chosen) == "False ClientConnectionFailed"

        await self.until(lost, "the loss is seen")
        await asyncio.to_thread(worker.plane.start, "kube-apiserver")
        await ends()
        await self.clean()
        assert await self.active(chosen) == "True Active"


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
    response = await api.request("GET", f"{GROUP}/clusterqueues/{NAME}")
    spec = msgspec.json.decode(response.body)["spec"] | {"admissionChecksStrategy": strategy}
    await apply(api, made("ClusterQueue", NAME, **spec))


def made(kind: str, name: str, **spec: object) -> Object:
    return {"apiVersion": KUEUE, "kind": kind, "metadata": {"name": name}, "spec": spec}


@asynccontextmanager
async def world(folder: Path, *kinds: str) -> AsyncGenerator[World]:
    """Bring up three control planes with everything on them; ``kinds``: such as are not usual."""
    frameworks, sites = (*FRAMEWORKS, *kinds), dict[str, Site]()
    async with AsyncExitStack() as stack:
        planes = {
            text: stack.enter_context(fresh_plane(folder / text)) for text in ("w1", "w2", "m")
        }
        workers = {name: planes[name].kubeconfig.read_bytes() for name in ("w1", "w2")}
        for name, plane in planes.items():
            access = Access(kubeconfig=str(plane.kubeconfig))
            api = await stack.enter_async_context(connect(access))
            await furnish(api, frameworks)
            if LWS in kinds:
                await stack.enter_async_context(leader_worker_sets(api, LEADER_WORKER_SETS))
            if name == "m":
                await describe(api, workers)
            else:
                await stack.enter_async_context(at_work(api, SET_CONTROLLER))
            rest = MANAGER if name == "m" else ""
            running = await stack.enter_async_context(
                tidegate(plane, folder / name, frameworks, rest)
            )
            sites[name] = Site(plane, api, running)
        yield World(sites.pop("m"), sites)


@asynccontextmanager
async def tidegate(
    plane: ControlPlane, folder: Path, frameworks: Sequence[str], rest: str = ""
) -> AsyncGenerator[RunningServices]:
    """Run the services of one cluster; ``rest`` is put behind their configuration."""
    config = folder / "configuration.yaml"
    config.write_text(CONFIG.format(", ".join(frameworks)) + rest)
    wanted = replace(
        alone(folder / "state", str(plane.kubeconfig)),
        config=str(config),
        services=services_of(str(config)),
    )
    async with run_services(wanted, print) as running:
        yield running


SET_CONTROLLER = Operator(
    SETS, jobset_children, jobset_status, lambda set_: has_condition(set_, "Completed")
)


async def furnish(api: KubernetesApi, frameworks: tuple[str, ...]) -> None:
    """Install what a cluster of the test needs: objects, foreign kinds, and a queue of 2 CPUs."""
    await define(api, foreign_crd("jobset"))
    if LWS in frameworks:
        await define(api, foreign_crd("leaderworkerset"))
    await install(api, manifests_folder(), print)
    for policy in (*policies(frameworks), *(numbering() if LWS in frameworks else ())):
        await apply(api, policy)
    await make_queues(api, {NAME: "2"})
