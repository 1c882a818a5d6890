"""Two processes of each service on three NATS servers and the embedded API server.

No file of a holder is shared, as on two nodes, and nothing starts again in the place of the dead.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from http import HTTPStatus
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from tests.deploy.rendering import DEPLOY
from tests.e2e.cast import eventually, job_of, make_queues, submit, until
from tests.outages.servers import Servers, three_servers
from tests.outages.test_three_servers import SERVICES, api_server, program
from tidegate.kube.client import KubernetesClient

NAMESPACE = "takeover"
TIMES = int(os.environ.get("TIDEGATE_TEST_TAKEOVERS", "3"))


def lease_of(service: str) -> str:
    """Return the lease that the production overlay gives a service, in seconds."""
    file = DEPLOY / "overlays" / "production" / f"{service}.yaml"
    (obj,) = (
        document
        for document in yaml.safe_load_all(file.read_text())
        if document["kind"] == "Deployment"
    )
    env: list[dict[str, Any]] = obj["spec"]["template"]["spec"]["containers"][0]["env"]
    (lease,) = (variable["value"] for variable in env if variable["name"] == "TIDEGATE_LEASE_S")
    return str(lease)


class Pair:
    """Two processes of a service; the older one works."""

    def __init__(self, service: str, environment: dict[str, str], log: Path) -> None:
        self.service, self._log = service, log
        self._environment = environment | {"TIDEGATE_LEASE_S": lease_of(service)}
        self.processes = list[asyncio.subprocess.Process]()

    async def start(self, *, ready: bool = True) -> None:
        """Start one more, and wait until it works, or knows as much and stands by.

        The first of all are ready only together.
        """
        before = len(self._ports())
        with self._log.open("ab") as log:
            self.processes.append(
                await asyncio.create_subprocess_exec(
                    sys.executable,
                    "-m",
                    self.service,
                    env=self._environment,
                    stdout=log,
                    stderr=log,
                )
            )
        await eventually(lambda: len(self._ports()) > before, f"{self.service} is there")
        if ready:
            await until(self._is_ready, f"{self.service} is ready", 120)

    def end(self, how: signal.Signals) -> asyncio.subprocess.Process:
        """Send a signal to the older one, and return it."""
        first = self.processes.pop(0)
        first.send_signal(how)
        return first

    async def close(self) -> None:
        for process in self.processes:
            process.kill()
            await process.wait()

    async def _is_ready(self) -> bool:
        url = f"http://127.0.0.1:{self._ports()[-1]}/readyz"
        try:
            async with aiohttp.ClientSession() as session, session.get(url) as answer:
                return answer.status == HTTPStatus.OK
        except aiohttp.ClientError:
            return False

    def _ports(self) -> list[str]:
        """Return where each process that was ever started tells how it is."""
        text = self._log.read_text() if self._log.exists() else ""
        return re.findall(r'"health_port": (\d+)', text)


class Stage:
    """What runs, and Jobs that come one at a time."""

    def __init__(self, api: KubernetesClient, servers: Servers, pairs: dict[str, Pair]) -> None:
        self.api, self.servers, self.pairs = api, servers, pairs
        self.ended = list[asyncio.subprocess.Process]()

    async def starts(self, name: str) -> float:
        """Submit a Job and return after how many seconds it starts."""
        began_s = asyncio.get_running_loop().time()
        await submit(self.api, NAMESPACE, name, cpu="1", seconds=1)
        await self.started(name)
        return asyncio.get_running_loop().time() - began_s

    async def started(self, name: str) -> float:
        """Wait until a Job is started; return how many seconds that takes."""
        began_s = asyncio.get_running_loop().time()

        async def is_started() -> bool:
            return not (await job_of(self.api, NAMESPACE, name))["spec"].get("suspend")

        await until(is_started, f"{name} starts", 120)
        return asyncio.get_running_loop().time() - began_s


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncGenerator[Stage]:
    """Lend all of it, once a first Job started and a second process of each service is there."""
    kubeconfig = tmp_path / "kubeconfig"
    async with AsyncExitStack() as stack:
        api = await stack.enter_async_context(api_server(kubeconfig))
        servers = stack.enter_context(three_servers(tmp_path / "nats"))
        pairs = dict[str, Pair]()
        made = Stage(api, servers, pairs)
        for service in SERVICES:
            environment = dict(program(servers, tmp_path, kubeconfig, service, 0).environment)
            del environment["TIDEGATE_HEALTH_PORT"]  # of two processes each would ask for the same
            environment["TIDEGATE_NATS_URL"] = servers.every_url(service)
            pairs[service] = Pair(service, environment, tmp_path / f"{service}.log")
            stack.push_async_callback(pairs[service].close)
            await pairs[service].start(ready=False)
        await make_queues(api, {NAMESPACE: "100"})
        await made.starts("first")
        for pair in pairs.values():
            await pair.start()
        yield made
