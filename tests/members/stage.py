"""A hub and two members: an API server and services of each, one scheduler, and what they did."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from store.access.engine import open_engine
from store.ledger import SqlLedger
from tests.e2e.cast import define
from tests.members.leaves import HUB, Servers, hub_and_leaves
from tests.outages.test_three_servers import api_server
from tidegate.cluster.supervisor import Program, Supervisor
from tidegate.contracts.codec import decode
from tidegate.contracts.decisions import QuotaReleased, QuotaReserved
from tidegate.contracts.facts import (
    PodsReclaimed,
    WorkloadAdopted,
    WorkloadFinished,
    WorkloadRemoved,
)
from tidegate.kube.client import KubernetesClient
from tidegate.kube.ports import MERGE_PATCH
from tidegate.model.podset import PodSetAssignment
from tidegate.ports import free_ports

Object = dict[str, Any]
Server: TypeAlias = Callable[[Path], AbstractAsyncContextManager[KubernetesClient]]
MEMBERS = ("east", "west")
NAMESPACE, QUEUE, QUOTA = "team", "main", 4
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
JOBS = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"
LOOK_S = 0.5


class World:
    """What runs, by cluster."""

    def __init__(self, servers: Servers, apis: dict[str, KubernetesClient], ledger: Path) -> None:
        self.servers, self.apis, self.ledger = servers, apis, f"sqlite:///{ledger}"
        self.most = Counter[str]()  # jobs that ran at once, by cluster

    async def submit(self, cluster: str, name: str, seconds: float) -> None:
        """Create a Job of one CPU in a cluster."""
        container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
        template = {
            "metadata": {"annotations": {"simulate/seconds": str(seconds)}},
            "spec": {"restartPolicy": "Never", "containers": [container]},
        }
        meta = {"name": name, "labels": {"kueue.x-k8s.io/queue-name": QUEUE}}
        job = {"metadata": meta, "spec": {"suspend": True, "template": template}}
        await send(self.apis[cluster], JOBS, job)

    async def jobs(self, cluster: str) -> list[Object]:
        """Return a cluster's Jobs, and note how many run there."""
        documents = await listed(self.apis[cluster], JOBS)
        running = sum(not obj["spec"]["suspend"] and not is_complete(obj) for obj in documents)
        self.most[cluster] = max(self.most[cluster], running)
        return documents

    async def completed(self, cluster: str) -> int:
        """Return how many of a cluster's Jobs are complete."""
        return sum(map(is_complete, await self.jobs(cluster)))

    async def until_completed(self, counts: dict[str, int], patience_s: float) -> None:
        """Wait until each cluster has so many complete Jobs."""
        async with asyncio.timeout(patience_s):
            for cluster, count in counts.items():
                while await self.completed(cluster) < count:
                    for other in self.apis:
                        await self.jobs(other)
                    await asyncio.sleep(LOOK_S)

    def highest(self) -> dict[str, int]:
        """Return how much of each flavor was charged at most, in CPUs, by the ledger."""
        engine = open_engine(self.ledger)
        try:
            most = Counter[str]()
            for charged in _charged(SqlLedger(engine)):
                most |= charged
            return {flavor: milli // 1_000 for flavor, milli in most.items()}
        finally:
            engine.dispose()


def _charged(ledger: SqlLedger) -> Iterator[Counter[str]]:
    """Yield what is charged of each flavor behind each entry, in milli-CPU.

    A pod that is over gives its part back while others of its podset or job still run.
    """
    assigned = dict[str, tuple[PodSetAssignment, ...]]()
    reclaimed = dict[str, dict[str, int]]()
    for entry in ledger.read():
        event = decode(entry.payload)
        match event:
            case QuotaReserved() | WorkloadAdopted():
                assigned[event.workload] = event.assignment
            case PodsReclaimed():
                reclaimed[event.workload] = event.reclaimable
            case QuotaReleased() | WorkloadFinished() | WorkloadRemoved():
                assigned.pop(event.workload, None)
            case _:
                continue
        charged = Counter[str]()
        for workload, assignment in assigned.items():
            for podset in assignment:
                done = reclaimed.get(workload, {}).get(podset.name, 0)
                running = podset.count - min(done, podset.count)
                milli = podset.usage["cpu"] * running // podset.count
                charged[podset.flavors["cpu"]] += milli
        yield charged


async def send(api: KubernetesClient, path: str, body: Object) -> None:
    """Create an object, or fail the test."""
    answer = await api.request("POST", path, body=msgspec.json.encode(body))
    assert answer.status < 300, (path, answer.body)


async def change(api: KubernetesClient, path: str, patch: Object) -> None:
    """Merge a patch into an object, or fail the test."""
    body = msgspec.json.encode(patch)
    answer = await api.request("PATCH", path, body=body, content_type=MERGE_PATCH)
    assert answer.status < 300, (path, answer.body)


async def listed(api: KubernetesClient, path: str) -> list[Object]:
    documents: list[Object] = msgspec.json.decode((await api.request("GET", path)).body)["items"]
    return documents


def is_complete(job: Object) -> bool:
    current_conditions = job.get("status", {}).get("conditions", [])
    return any(
        condition["type"] == "Complete" and condition["status"] == "True"
        for condition in current_conditions
    )


async def furnish(apis: dict[str, KubernetesClient]) -> None:
    """Make a namespace everywhere, and at the hub a queue with a flavor for each cluster."""
    for api in apis.values():
        await send(api, "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    hub, flavors = apis[HUB], list[Object]()
    for cluster in apis:
        meta: Object = {"name": cluster}
        if cluster != HUB:
            meta["annotations"] = {"tidegate.dev/clusters": cluster}
        await send(hub, f"{KUEUE}/resourceflavors", _kueue("ResourceFlavor", meta, {}))
        quota = {"name": "cpu", "nominalQuota": str(QUOTA)}
        flavors.append({"name": cluster, "resources": [quota]})
    groups = [{"coveredResources": ["cpu"], "flavors": flavors}]
    spec: Object = {"namespaceSelector": {}, "resourceGroups": groups}
    await send(hub, f"{KUEUE}/clusterqueues", _kueue("ClusterQueue", {"name": QUEUE}, spec))
    local = _kueue("LocalQueue", {"name": QUEUE}, {"clusterQueue": QUEUE})
    await send(hub, f"{KUEUE}/namespaces/{NAMESPACE}/localqueues", local)


def _kueue(kind: str, meta: Object, spec: Object) -> Object:
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": meta, "spec": spec}


@asynccontextmanager
async def hub_and_members(
    folder: Path,
    *,
    ingest: Sequence[str] = (),
    crds: Sequence[Object] = (),
    server: Server = api_server,
) -> AsyncGenerator[World]:
    """Run everything until the block ends; ``ingest`` are words for each of these.

    ``server`` runs an API server, and writes a kubeconfig of it.
    """
    async with AsyncExitStack() as stack:
        servers = stack.enter_context(hub_and_leaves(folder / "nats", *MEMBERS))
        apis = {
            cluster: await stack.enter_async_context(server(folder / f"{cluster}.kubeconfig"))
            for cluster in (HUB, *MEMBERS)
        }
        for api in apis.values():
            for crd in crds:
                await define(api, crd)
        await furnish(apis)
        supervisor, ports = Supervisor(_silent), iter(free_ports(7))
        stack.push_async_callback(supervisor.stop)
        words = ("--member-clusters", ",".join(MEMBERS))
        wanted: list[tuple[str, str, Sequence[str]]] = [(HUB, "scheduler", words)]
        wanted += [(HUB, "ingest", ingest), (HUB, "actuator", ())]
        for cluster in MEMBERS:
            wanted += [(cluster, "ingest", ingest), (cluster, "actuator", ("--hub", HUB))]
        for cluster, service, more in wanted:
            program = _program(servers, folder, cluster, service, next(ports))
            program = msgspec.structs.replace(program, command=[*program.command, *more])
            await supervisor.start(program)
        yield World(servers, apis, folder / "ledger.db")
        assert set(supervisor.restarts.values()) <= {0}


def _program(servers: Servers, folder: Path, cluster: str, service: str, port: int) -> Program:
    return Program(
        name=f"{service}-{cluster}",
        command=[sys.executable, "-m", service],
        environment={
            **os.environ,
            "TIDEGATE_CLUSTER": cluster,
            "TIDEGATE_NATS_URL": servers.url(cluster, service),
            "TIDEGATE_LEDGER": str(folder / "ledger.db"),
            "TIDEGATE_KUBECONFIG": str(folder / f"{cluster}.kubeconfig"),
            "TIDEGATE_HEALTH_PORT": str(port),
            "TIDEGATE_LOG_FORMAT": "json",
        },
        log=folder / f"{service}-{cluster}.log",
    )


def _silent(_text: str) -> None:
    """Hear what the supervisor says."""
