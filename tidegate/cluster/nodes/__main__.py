"""``python -m tidegate.cluster.nodes``: simulated nodes for a control plane that has none."""

from __future__ import annotations

import argparse
import asyncio
import signal

from tidegate.cluster.nodes.fleet import SimulatedNodes
from tidegate.kube.client import connect
from tidegate.kube.credentials import Access


async def run(access: Access, names: tuple[str, ...], capacity: dict[str, str]) -> None:
    """Play nodes until a signal comes."""
    async with connect(access) as api:
        playing = asyncio.create_task(SimulatedNodes(api, names, capacity).run())
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, playing.cancel)
        await asyncio.wait([playing])
        if not playing.cancelled():
            playing.result()


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m tidegate.cluster.nodes")
    parser.add_argument("--kubeconfig", required=True)
    parser.add_argument("--nodes", type=int, default=3, help="how many")
    parser.add_argument("--cpu", default="8", help="of each")
    parser.add_argument("--memory", default="32Gi", help="of each")
    parser.add_argument("--pods", default="110", help="of each at most")
    arguments = parser.parse_args()
    names = tuple(f"node-{number}" for number in range(arguments.nodes))
    capacity = {"cpu": arguments.cpu, "memory": arguments.memory, "pods": arguments.pods}
    asyncio.run(run(Access(kubeconfig=arguments.kubeconfig), names, capacity))


if __name__ == "__main__":
    main()
