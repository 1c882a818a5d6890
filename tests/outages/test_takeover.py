"""Of each service a second one takes over: after a kill when its lease ends, after SIGTERM at once.

They are on three NATS servers. No file of a holder is shared, as on two nodes, and nothing starts
again in the place of the dead.
"""

from __future__ import annotations

import asyncio
import os
import signal
import statistics
import sys
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.rendering import DEPLOY
from tests.e2e.cast import eventually, job_of, make_queues, submit, until
from tests.outages.servers import three_servers
from tests.outages.test_three_servers import SERVICES, api_server, program
from tidegate.kube.client import KubernetesClient

pytestmark = [pytest.mark.slow, pytest.mark.real, pytest.mark.timeout(900)]
NAMESPACE = "takeover"
TIMES = int(os.environ.get("TIDEGATE_TEST_TAKEOVERS", "3"))
BOUND_S = {signal.SIGKILL: 10.0, signal.SIGTERM: 3.0}
"""Within so long a Job that comes with the signal starts; a busy machine gets twice that."""


def lease_of(service: str) -> str:
    """Return the lease that the production overlay gives a service, in seconds."""
    file = DEPLOY / "overlays" / "production" / f"{service}.yaml"
    (found,) = (one for one in yaml.safe_load_all(file.read_text()) if one["kind"] == "Deployment")
    env: list[dict[str, Any]] = found["spec"]["template"]["spec"]["containers"][0]["env"]
    (lease,) = (one["value"] for one in env if one["name"] == "TIDEGATE_LEASE_S")
    return str(lease)


class Pair:
    """Two processes of a service; the older one works."""

    def __init__(self, service: str, environment: dict[str, str], log: Path) -> None:
        self.service, self._log = service, log
        self._environment = environment | {"TIDEGATE_LEASE_S": lease_of(service)}
        self.processes = list[asyncio.subprocess.Process]()

    async def start(self) -> None:
        """Start one more, and wait until it has said that it stands by or works."""
        said = self._words()
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
        await eventually(lambda: self._words() > said, f"{self.service} is there")

    def end(self, how: signal.Signals) -> asyncio.subprocess.Process:
        """Send a signal to the older one, and return it."""
        first = self.processes.pop(0)
        first.send_signal(how)
        return first

    async def close(self) -> None:
        for one in self.processes:
            one.kill()
            await one.wait()

    def _words(self) -> int:
        text = self._log.read_text() if self._log.exists() else ""
        return text.count('"started"')


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncGenerator[tuple[KubernetesClient, dict[str, Pair]]]:
    kubeconfig = tmp_path / "kubeconfig"
    async with AsyncExitStack() as stack:
        api = await stack.enter_async_context(api_server(kubeconfig))
        servers = stack.enter_context(three_servers(tmp_path / "nats"))
        pairs = dict[str, Pair]()
        for service in SERVICES:
            told = dict(program(servers, tmp_path, kubeconfig, service, 0).environment)
            del told["TIDEGATE_HEALTH_PORT"]  # of two processes each would ask for the same
            pairs[service] = Pair(service, told, tmp_path / f"{service}.log")
            stack.push_async_callback(pairs[service].close)
            await pairs[service].start()
        await make_queues(api, {NAMESPACE: "100"})
        await starts(api, "first")
        for pair in pairs.values():
            await pair.start()
        yield api, pairs


async def starts(api: KubernetesClient, name: str) -> float:
    """Submit a Job and return after how many seconds it starts."""
    began_s = asyncio.get_running_loop().time()
    await submit(api, NAMESPACE, name, cpu="1", seconds=1)

    async def is_started() -> bool:
        return not (await job_of(api, NAMESPACE, name))["spec"].get("suspend")

    await until(is_started, f"{name} starts", 120)
    return asyncio.get_running_loop().time() - began_s


@pytest.mark.parametrize("how", BOUND_S, ids=lambda how: how.name)
async def test_the_other_takes_over(
    stage: tuple[KubernetesClient, dict[str, Pair]], how: signal.Signals
) -> None:
    api, pairs = stage
    for service, pair in pairs.items():
        took_s = list[float]()
        for turn in range(TIMES):
            ending = pair.end(how)
            took_s.append(await starts(api, f"{service}-{turn}"))
            await ending.wait()
            await pair.start()
        told = " ".join(f"{one:.1f}" for one in took_s)
        sys.stdout.write(f"{how.name} {service}: {told} s\n")
        assert statistics.median(took_s) < 2 * BOUND_S[how], f"{service}: {told}"
