"""Starts go on while servers of NATS die one after another, and after two of three were gone."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.e2e.cast import job_of, make_queues, submit, until
from tests.outages.servers import Servers, three_servers
from tidegate.cluster.install import install, manifests_folder
from tidegate.cluster.supervisor import Program, Supervisor
from tidegate.kube.client import KubernetesClient, connect
from tidegate.kube.credentials import Access
from tidegate.ports import free_ports

pytestmark = [pytest.mark.slow, pytest.mark.real, pytest.mark.timeout(900)]
SERVICES = ("scheduler", "ingest", "actuator")
ONE_DEATH_S = 10.0
"""Within so long after one server's death a new job starts; a busy machine gets twice that."""
NAMESPACE = "outages"


def tell(text: str) -> None:
    """Write a figure where ``pytest -s`` shows it."""
    sys.stdout.write(f"{text}\n")


class Site:
    """The services on three servers, and jobs that come one at a time."""

    def __init__(self, api: KubernetesClient, servers: Servers, supervisor: Supervisor) -> None:
        self.api, self.servers, self.supervisor = api, servers, supervisor
        self._jobs = 0

    async def submit(self) -> str:
        """Create a Job and return its name."""
        self._jobs += 1
        name = f"job-{self._jobs}"
        await submit(self.api, NAMESPACE, name, cpu="1", seconds=1)
        return name

    async def started(self, name: str, patience_s: float = 120.0) -> None:
        """Wait until a Job was started."""

        async def is_started() -> bool:
            return not (await job_of(self.api, NAMESPACE, name))["spec"].get("suspend")

        await until(is_started, f"{name} starts", patience_s)

    async def starts_in_s(self) -> float:
        """Return after how many seconds a new Job starts."""
        began_s = asyncio.get_running_loop().time()
        await self.started(await self.submit())
        return asyncio.get_running_loop().time() - began_s


def program(servers: Servers, folder: Path, kubeconfig: Path, service: str, port: int) -> Program:
    """Return a service that is told one server only."""
    return Program(
        name=service,
        command=[sys.executable, "-m", service],
        environment={
            **os.environ,
            "TIDEGATE_NATS_URL": servers.url(service),
            "TIDEGATE_NATS_CA": str(servers.tls / "tls.crt"),
            "TIDEGATE_REPLICAS": "3",
            "TIDEGATE_LEDGER": str(folder / "ledger.db"),
            "TIDEGATE_KUBECONFIG": str(kubeconfig),
            "TIDEGATE_HEALTH_PORT": str(port),
            "TIDEGATE_LOG_FORMAT": "json",
        },
        log=folder / f"{service}.log",
    )


@asynccontextmanager
async def api_server(kubeconfig: Path) -> AsyncGenerator[KubernetesClient]:
    """Run the embedded API server and yield a client of it."""
    command = [sys.executable, "-m", "apiserver", f"--kubeconfig={kubeconfig}"]
    process = await asyncio.create_subprocess_exec(*command)
    try:
        async with asyncio.timeout(30):
            while not kubeconfig.exists():
                await asyncio.sleep(0.05)
        async with connect(Access(kubeconfig=str(kubeconfig))) as api:
            await install(api, manifests_folder(), tell)
            yield api
    finally:
        process.terminate()
        await process.wait()


@pytest.fixture
async def site(tmp_path: Path) -> AsyncGenerator[Site, None]:
    kubeconfig, supervisor = tmp_path / "kubeconfig", Supervisor(tell)
    with three_servers(tmp_path / "nats") as servers:
        async with api_server(kubeconfig) as api:
            try:
                for service, port in zip(SERVICES, free_ports(3), strict=True):
                    actual_program = program(servers, tmp_path, kubeconfig, service, port)
                    await supervisor.start(actual_program)
                await make_queues(api, {NAMESPACE: "9"})
                made = Site(api, servers, supervisor)
                tell(f"first start: {await made.starts_in_s():.1f} s")
                yield made
            finally:
                await supervisor.stop()


async def until_whole(site: Site, number: int) -> None:
    """Start a server again, and wait until its streams follow: another may die then."""
    site.servers.start(number)

    async def is_whole() -> bool:
        return await asyncio.to_thread(site.servers.is_whole, number)

    await until(is_whole, f"server {number} follows", 120)


async def test_starts_go_on_within_ten_seconds_of_each_server_s_death(site: Site) -> None:
    took_s = list[float]()
    for number in (0, 1, 2, 0, 1, 2):
        site.servers.kill(number)
        took_s.append(await site.starts_in_s())
        await until_whole(site, number)
    tell("one death: " + " ".join(f"{seconds:.1f}" for seconds in took_s))
    assert sorted(took_s)[len(took_s) // 2] < ONE_DEATH_S
    assert max(took_s) < 2 * ONE_DEATH_S
    assert set(site.supervisor.restarts.values()) == {0}, "no service died of it"


async def test_with_two_gone_nothing_starts_and_with_one_of_them_back_it_does(site: Site) -> None:
    site.servers.kill(1)
    site.servers.kill(2)
    name = await site.submit()
    before = (await job_of(site.api, NAMESPACE, name))["spec"]["suspend"]
    site.servers.start(1)
    began_s = asyncio.get_running_loop().time()
    await site.started(name)
    tell(f"quorum back: {asyncio.get_running_loop().time() - began_s:.1f} s")
    assert before is True
    assert set(site.supervisor.restarts.values()) == {0}, "no service died of it"


async def test_a_server_whose_disk_was_lost_comes_back_empty_and_nothing_is_lost(
    site: Site,
) -> None:
    site.servers.kill(2)
    site.servers.lose_disk(2)
    tell(f"disk lost: {await site.starts_in_s():.1f} s")
    await until_whole(site, 2)
    site.servers.kill(0)  # what the one without a disk was given again counts now
    tell(f"another died: {await site.starts_in_s():.1f} s")
    assert set(site.supervisor.restarts.values()) == {0}, "no service died of it"
