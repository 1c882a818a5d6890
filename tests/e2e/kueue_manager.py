"""Kueue's own controller manager beside a control plane, to be killed and started again."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import msgspec
import pytest

from tests.e2e.cast import until
from tests.e2e.kueue_manifests import NAMESPACE, install_kueue
from tests.e2e.kueue_module import KueueModule
from tidegate.cluster.go.plane import ControlPlane
from tidegate.kube.ports import KubernetesApi
from tidegate.ports import free_ports

VERSION = "v0.19.0"
READY_S = 180.0


class Kueue:
    """One controller manager; it ends with the test, even if that is killed."""

    def __init__(self, command: Sequence[str], health: str, log: Path) -> None:
        self._command, self._health, self._log = command, health, log
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Start it and wait until its webhooks are served."""
        guard = [sys.executable, "-m", "tidegate.bus.parent_death", *self._command]
        with self._log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *guard, stdin=subprocess.PIPE, stdout=log, stderr=log
            )

        async def is_ready() -> bool:
            assert self._process is not None
            assert self._process.returncode is None, self._log.read_text()[-4_000:]
            return await asyncio.to_thread(_answers, self._health)

        await until(is_ready, f"Kueue is ready (its log: {self._log})", READY_S)

    async def kill(self) -> None:
        """End it as a crash does: the kernel kills it with its guard."""
        assert self._process is not None
        with suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()

        async def is_gone() -> bool:
            return not await asyncio.to_thread(_answers, self._health)

        await until(is_gone, "Kueue is gone")

    async def restart(self) -> None:
        await self.kill()
        await self.start()


@pytest.fixture(scope="session")
def kueue_module() -> KueueModule:
    """Return the module with its manager built; skip where Go or the module is not to be had."""
    module = KueueModule(VERSION)
    module.program("kueue", "kueue")
    return module


@asynccontextmanager
async def kueue(
    api: KubernetesApi,
    plane: ControlPlane,
    module: KueueModule,
    folder: Path,
    frameworks: Sequence[str],
) -> AsyncGenerator[Kueue]:
    """Install Kueue on a control plane and run it until the block ends."""
    folder.mkdir(parents=True, exist_ok=True)
    webhooks, health = free_ports(2)
    certificates = folder / "certificates"
    await install_kueue(api, module.source, webhooks, certificates)
    config = folder / "kueue.yaml"
    manifest = {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "namespace": NAMESPACE,
        "health": {"healthProbeBindAddress": f"127.0.0.1:{health}"},
        "metrics": {"bindAddress": "0"},
        "webhook": {"host": "127.0.0.1", "port": webhooks, "certDir": str(certificates)},
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": True},
        "featureGates": {
            "VisibilityOnDemand": False
        },  # it listens on a port of its own, the same everywhere
        "integrations": {"frameworks": list(frameworks)},
        "multiKueue": {"gcInterval": "5s"},
    }
    config.write_bytes(msgspec.json.encode(manifest))
    program = module.program("kueue", "kueue")
    command = [str(program), f"--config={config}", f"--kubeconfig={plane.kubeconfig}"]
    running = Kueue(command, f"http://127.0.0.1:{health}/readyz", folder / "kueue.log")
    try:
        await running.start()
        yield running
    finally:
        await running.kill()


def _answers(url: str) -> bool:
    handlers = [urllib.request.ProxyHandler({})]  # never through a proxy
    try:
        with urllib.request.build_opener(*handlers).open(url, timeout=2) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False
