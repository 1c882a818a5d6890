"""``python -m apiserver``: the embedded cluster as a process of its own.

It prints one line of JSON with its URL once it serves, and ends with SIGTERM or SIGINT.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
import time
from pathlib import Path
from random import SystemRandom

import msgspec
import yaml

from apiserver.api import EmbeddedApi
from apiserver.controllers.controller_manager import ControllerManager
from apiserver.http import serve


def now_us() -> int:
    """Return the wall clock in UTC microseconds."""
    return time.time_ns() // 1_000


async def run(port: int, nodes_count: int, kubeconfig: Path) -> None:
    """Serve an empty cluster with simulated nodes until a signal comes."""
    api = EmbeddedApi(now_us=now_us, random=SystemRandom())
    controller_manager = ControllerManager(api)
    for number in range(nodes_count):
        controller_manager.add_node(f"node-{number}")
    ended, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    async with serve(api, port) as url, asyncio.TaskGroup() as tasks:
        working = tasks.create_task(controller_manager.run())
        await asyncio.to_thread(_write, kubeconfig, kubeconfig_of(url))
        sys.stdout.write(msgspec.json.encode({"url": url}).decode() + "\n")
        sys.stdout.flush()
        await ended.wait()
        working.cancel()


def kubeconfig_of(url: str) -> str:
    """Return a kubeconfig for a server without authentication."""
    name = "tidegate-embedded"
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": name,
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
            "clusters": [{"name": name, "cluster": {"server": url}}],
            "users": [{"name": name, "user": {}}],
        }
    )


def _write(path: Path, text: str) -> None:
    """Write a file that is never seen half-written."""
    fresh = path.with_name(f"{path.name}.new")
    fresh.write_text(text)
    fresh.replace(path)


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m apiserver")
    parser.add_argument("--port", type=int, default=0, help="of loopback; 0: any free one")
    parser.add_argument("--nodes", type=int, default=3, help="simulated nodes")
    parser.add_argument("--kubeconfig", type=Path, required=True, help="is written there")
    arguments = parser.parse_args()
    asyncio.run(run(arguments.port, arguments.nodes, arguments.kubeconfig))


if __name__ == "__main__":
    main()
