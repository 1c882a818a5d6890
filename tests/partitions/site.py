"""One API server, one NATS, one PostgreSQL, one ingest; a scheduler and an actuator a partition."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import msgspec

from store.access.engine import open_engine
from store.ledger import SqlLedger
from store.schema.migrate import upgrade
from tests.deploy.nats_server import Served, nats_with_accounts
from tests.e2e.cast import job_of, submit, until
from tests.outages.test_three_servers import api_server
from tidegate.cluster.install import apply
from tidegate.cluster.supervisor import Program, Supervisor
from tidegate.contracts.codec import decode
from tidegate.contracts.facts import Event
from tidegate.kube.client import KubernetesClient
from tidegate.ports import free_ports

KUEUE = "kueue.x-k8s.io/v1beta2"
NAMESPACE = "team"
Object = dict[str, Any]


class Site:
    """What runs, by partition."""

    def __init__(
        self, api: KubernetesClient, folder: Path, served: Served, ledger: str, run: Supervisor
    ) -> None:
        self.api, self.ledger, self.supervisor = api, ledger, run
        self._api = ["--kubeconfig", str(folder / "kubeconfig")]
        self._bus = ["--bus", served.url("reader"), "--bus-ca", str(served.ca)]

    async def tidegate(self, *words: str, asks: Literal["api", "bus"] = "api") -> str:
        """Run a command that ends well and asks the API server or NATS; return what it prints."""
        where = ["--ledger", self.ledger, *(self._api if asks == "api" else self._bus)]
        ran = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tidegate.cli.main", *words, *where, stdout=PIPE, stderr=PIPE
        )
        out, err = await ran.communicate()
        assert ran.returncode == 0, err.decode()
        return out.decode()

    async def queue(self, name: str, partition: int, *, cohort: str = "", cpu: str = "2") -> None:
        """Create a ClusterQueue in a partition, and a LocalQueue of its name that leads there."""
        quota = {"name": "cpu", "nominalQuota": cpu}
        group = {"coveredResources": ["cpu"], "flavors": [{"name": "any", "resources": [quota]}]}
        spec: Object = {"namespaceSelector": {}, "resourceGroups": [group]}
        spec |= {"cohortName": cohort} if cohort else {}
        meta: Object = {"name": name}
        if partition:
            meta["annotations"] = {"tidegate.dev/partition": str(partition)}
        await apply(self.api, kueue("ClusterQueue", meta, spec))
        local = {"name": name, "namespace": NAMESPACE}
        await apply(self.api, kueue("LocalQueue", local, {"clusterQueue": name}))

    async def submit(self, name: str, queue: str, seconds: float = 1) -> None:
        """Create a Job of one CPU in a queue."""
        await submit(self.api, NAMESPACE, name, cpu="1", seconds=seconds, queue=queue)

    async def job(self, name: str) -> Object:
        """Return a Job."""
        return await job_of(self.api, NAMESPACE, name)

    async def get(self, path: str) -> Object:
        """Return what is at a path of Kueue's group."""
        answer = await self.api.request("GET", f"/apis/{KUEUE}/{path}")
        document: Object = msgspec.json.decode(answer.body)
        return document

    async def until_complete(self, *names: str) -> None:
        """Wait until Jobs have succeeded."""

        async def are_complete() -> bool:
            return all([bool((await self.job(name))["status"].get("succeeded")) for name in names])

        await until(are_complete, f"{names} are complete")

    async def until_started(self, *names: str) -> None:
        """Wait until Jobs are let run."""

        async def are_started() -> bool:
            return not any([(await self.job(name))["spec"].get("suspend") for name in names])

        await until(are_started, f"{names} are started")

    def halt(self, service: str) -> None:
        """Stop a process where it stands, as a machine that hangs."""
        os.kill(self.supervisor.pid(service), signal.SIGSTOP)

    def resume(self, service: str) -> None:
        """Let a process go on that was stopped."""
        os.kill(self.supervisor.pid(service), signal.SIGCONT)

    def events(self, partition: int) -> list[Event]:
        """Return all of a partition's ledger."""
        engine = open_engine(self.ledger)
        try:
            return [decode(entry.payload) for entry in SqlLedger(engine, partition).read()]
        finally:
            engine.dispose()


def kueue(kind: str, meta: Object, spec: Object) -> Object:
    """Return an object of Kueue's group."""
    return {"apiVersion": KUEUE, "kind": kind, "metadata": meta, "spec": spec}


@asynccontextmanager
async def partitioned(
    folder: Path, ledger: str, partitions: Sequence[int] = (0, 1)
) -> AsyncGenerator[Site]:
    """Run everything until the block ends."""
    supervisor = Supervisor(_silent)
    async with AsyncExitStack() as stack:
        others = [number for number in partitions if number]
        served = stack.enter_context(nats_with_accounts(folder / "nats", others))
        api = await stack.enter_async_context(api_server(folder / "kubeconfig"))
        await apply(
            api, {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": "any"}}
        )
        await apply(api, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        engine = open_engine(ledger)
        upgrade(engine)
        engine.dispose()
        stack.push_async_callback(supervisor.stop)
        for program in _programs(folder, served, ledger, partitions):
            await supervisor.start(program)
        yield Site(api, folder, served, ledger, supervisor)


def _programs(
    folder: Path, served: Served, ledger: str, partitions: Sequence[int]
) -> Iterator[Program]:
    ports = iter(free_ports(1 + 2 * len(partitions)))
    environment = {
        **os.environ,
        "TIDEGATE_NATS_CA": str(served.ca),
        "TIDEGATE_LEDGER": ledger,
        "TIDEGATE_MIGRATE": "false",
        "TIDEGATE_KUBECONFIG": str(folder / "kubeconfig"),
        "TIDEGATE_LOG_FORMAT": "json",
    }
    named = [("ingest", 0), *((s, n) for n in partitions for s in ("scheduler", "actuator"))]
    for service, number in named:
        user = f"{service}_{number}" if number else service
        own = {
            "TIDEGATE_NATS_URL": served.url(user),
            "TIDEGATE_HEALTH_PORT": str(next(ports)),
            "TIDEGATE_PARTITION": str(number),
        }
        yield Program(
            name=user,
            command=[sys.executable, "-m", service],
            environment={**environment, **own},
            log=folder / f"{user}.log",
        )


def _silent(_text: str) -> None:
    """Hear what the supervisor says."""
