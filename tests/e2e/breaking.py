"""What breaks parts of a running system, each as it breaks by itself."""

from __future__ import annotations

import asyncio
import base64
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import nats
import psutil

from tidegate.cluster.go.plane import ControlPlane, PlaneError
from tidegate.cluster.running import RunningServices
from tidegate.cluster.supervisor import Program


def nats_process(state: Path) -> psutil.Process:
    """Return the nats-server that keeps its streams below a folder."""
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # it ended meanwhile, waited for or not
            if child.name() == "nats-server" and str(state) in " ".join(child.cmdline()):
                return child
    message = f"no nats-server runs in {state}"
    raise AssertionError(message)


async def delete_stream(url: str, name: str) -> None:
    """Delete a stream with all that it holds."""
    client = await nats.connect(url)
    assert await client.jetstream().delete_stream(name)
    await client.close()


def pause(running: RunningServices, name: str) -> None:
    """Stop a service where it stands; ``kill`` ends it."""
    os.kill(running.supervisor.pid(name), signal.SIGSTOP)


async def kill(running: RunningServices, name: str) -> None:
    """End a service as a crash does, and wait until it is started again."""
    before = running.supervisor.restarts[name]
    pid = running.supervisor.pid(name)
    os.kill(pid, signal.SIGKILL)
    async with asyncio.timeout(60):
        while running.supervisor.restarts[name] == before:
            await asyncio.sleep(0.05)


def twin(running: RunningServices, service: str, port: int) -> Program:
    """Return a second copy of a service, told the same as the first."""
    return Program(
        name=f"{service}-2",
        command=[sys.executable, "-m", service],
        environment={
            **os.environ,
            "TIDEGATE_NATS_URL": running.nats_url,
            "TIDEGATE_LEDGER": running.ledger,
            "TIDEGATE_KUBECONFIG": str(running.kubeconfig),
            "TIDEGATE_HEALTH_PORT": str(port),
            "TIDEGATE_LOG_FORMAT": "json",
        },
        log=running.logs / f"{service}-2.log",
    )


async def restart(plane: ControlPlane, name: str) -> None:
    """Kill a component of the control plane and start it again on its ports.

    Meanwhile a client's connection may have been given the port as its own: then it is tried again.
    """
    await asyncio.to_thread(plane.kill, name)
    async with asyncio.timeout(60):
        while True:
            try:
                return await asyncio.to_thread(plane.start, name)
            except PlaneError:
                await asyncio.sleep(0.5)


class Storage:
    """The control plane's etcd, over its own HTTP gateway, past every admission."""

    def __init__(self, plane: ControlPlane) -> None:
        server = next(process for process in plane.processes() if process.name == "kube-apiserver")
        flag = next(part for part in server.command if part.startswith("--etcd-servers="))
        self._url = flag.partition("=")[2]

    async def put(self, key: str, obj: dict[str, Any]) -> None:
        """Store an object as the API server would, whatever it says."""
        body = {"key": _b64(key.encode()), "value": _b64(msgspec.json.encode(obj))}
        async with (
            aiohttp.ClientSession(trust_env=False) as session,
            session.post(f"{self._url}/v3/kv/put", json=body) as answer,
        ):
            assert answer.status == 200, await answer.text()


def _b64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()
