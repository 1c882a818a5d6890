"""Measure what a write costs differently set up API servers: ``python -m bench.servers [--help]``.

Each is a control plane of its own, and they are asked by turns in short bursts, so that a machine
whose speed changes from second to second disturbs all of them alike. Compare within one run only.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import psutil
import yaml

from bench.cluster.objects import KUEUE, namespace, workload
from bench.cluster.sending import RAW, all_of, condition, send
from bench.virtual.loads import Arrival
from tidegate.cluster.go.building import build
from tidegate.cluster.go.plane import ControlPlane
from tidegate.cluster.install import ORDER, apply, install, manifests_folder, read_manifests
from tidegate.kinds.crds import without_rules
from tidegate.kube.client import Access, connect
from tidegate.kube.ports import KubernetesApi
from tidegate.service.loop import loop_factory

Object = dict[str, Any]
_PATH = f"/apis/{KUEUE}/namespaces/{RAW}/workloads"
_SETTLING_S, _AFTER_S = 10.0, 0.15
_WRITES = ("create", "start", "finish")


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """How one of them differs from what an installation and a local cluster make."""

    change: Callable[[Object], Object | None] = lambda found: found  # None: it is left out
    environment: Mapping[str, str] = {}


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """One API server, and the CPU milliseconds that its writes have taken."""

    api: KubernetesApi
    process: psutil.Process
    took_ms: dict[str, list[float]]

    def cpu_ms(self) -> float:
        """Return the CPU time that it has taken since it was started."""
        return 1e3 * sum(self.process.cpu_times()[:2])

    def mean_ms(self, what: str) -> float:
        """Return what a write took in the mean of all turns."""
        return sum(self.took_ms[what]) / len(self.took_ms[what])


def without_policies(found: Object) -> Object | None:
    """Leave admission policies out."""
    return None if "AdmissionPolicy" in found["kind"] else found


def in_three_versions(found: Object) -> Object:
    """Serve Workloads in one more version."""
    if found["metadata"]["name"] != "workloads.kueue.x-k8s.io":
        return found
    stored, *others = found["spec"]["versions"]
    more = {**stored, "name": "v1alpha1", "storage": False}
    return {**found, "spec": {**found["spec"], "versions": [stored, *others, more]}}


def in_one_version(found: Object) -> Object:
    """Serve only what is stored."""
    if found["kind"] != "CustomResourceDefinition":
        return found
    stored = [one for one in found["spec"]["versions"] if one["storage"]]
    return {**found, "spec": {**found["spec"], "versions": stored}}


SETUPS = {
    "installed": Setup(),
    "without-policies": Setup(change=without_policies),
    "without-rules": Setup(change=without_rules),
    "one-version": Setup(change=in_one_version),
    "three-versions": Setup(change=in_three_versions),
    "gogc-100": Setup(environment={"GOGC": "100"}),
    "gogc-200": Setup(environment={"GOGC": "200"}),
}


def main(arguments: Sequence[str]) -> int:
    """Measure, print, and return 0."""
    parser = _parser()
    asked = parser.parse_args(arguments)
    if unknown := sorted({*asked.setups} - SETUPS.keys()):
        parser.error(f"there is no setup {', '.join(unknown)}: there are {', '.join(SETUPS)}")
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        for line in runner.run(_measure(asked)):
            print(line)
    return 0


async def _measure(asked: Namespace) -> list[str]:
    names = ("installed", *(one for one in asked.setups if one != "installed"))
    async with AsyncExitStack() as stack:
        servers = {name: await stack.enter_async_context(_server(name)) for name in names}
        _tell(f"waiting {_SETTLING_S:.0f} s until all is compiled")
        await asyncio.sleep(_SETTLING_S)
        for turn in range(-1, asked.turns):  # the first warms up and does not count
            _tell(f"turn {turn + 1} of {asked.turns}")
            for what in _WRITES:
                first = turn % len(names)
                for name in names[first:] + names[:first]:
                    await _burst(servers[name], what, turn, asked.burst)
        return list(_lines(servers))


async def _burst(server: Asked, what: str, turn: int, count: int) -> None:
    arrivals = [
        Arrival(at_us=0, name=f"raw-{turn}-{one}", queue=0, cpu=1, priority=0, run_us=0)
        for one in range(count)
    ]
    began_ms = server.cpu_ms()
    await all_of(_write(server.api, what, one) for one in arrivals)
    await asyncio.sleep(_AFTER_S)  # its own watches are told behind the answers
    if turn >= 0:
        server.took_ms[what].append((server.cpu_ms() - began_ms) / count)


async def _write(api: KubernetesApi, what: str, one: Arrival) -> None:
    if what == "create":
        await send(api, "POST", _PATH, workload(one))
        return
    told = ("QuotaReserved", "Admitted", *(("Finished",) if what == "finish" else ()))
    place = {"name": "main", "count": 1, "flavors": {"cpu": "default"}}
    status = {
        "conditions": [condition(kind, "Measured") for kind in told],
        "admission": {"clusterQueue": "queue-0", "podSetAssignments": [place]},
    }
    body = msgspec.json.encode({"status": status})
    await send(api, "PATCH", f"{_PATH}/{one.name}/status", body)


@asynccontextmanager
async def _server(name: str) -> AsyncGenerator[Asked]:
    setup = SETUPS[name]
    _tell(f"starting {name}")
    with tempfile.TemporaryDirectory(prefix="tidegate-bench-") as folder:
        plane = await asyncio.to_thread(_started, Path(folder), setup)
        try:
            access = Access(kubeconfig=str(plane.kubeconfig))
            async with connect(access) as api:
                await install(api, _manifests(Path(folder), setup), lambda _: None)
                await apply(api, namespace(RAW))
                took = {what: list[float]() for what in _WRITES}
                pid = next(one.pid for one in plane.processes() if one.name == "kube-apiserver")
                yield Asked(api=api, process=psutil.Process(pid), took_ms=took)
        finally:
            await asyncio.to_thread(plane.remove)


def _started(folder: Path, setup: Setup) -> ControlPlane:
    binaries = build(lambda what, done, total: _tell(f"{what} {done} of {total}"))
    plane = ControlPlane(
        folder / "control-plane",
        binaries,
        nodes_count=1,
        environ={**os.environ, **setup.environment},
    )
    plane.up(lambda _: None)
    return plane


def _manifests(folder: Path, setup: Setup) -> Path:
    """Write the manifests as a setup has them, and return where."""
    manifests = folder / "deploy"
    for room in ORDER:
        found = (setup.change(one) for one in read_manifests(manifests_folder() / room))
        (manifests / room).mkdir(parents=True)
        text = yaml.safe_dump_all([one for one in found if one is not None])
        (manifests / room / "all.yaml").write_text(text)
    return manifests


def _lines(servers: Mapping[str, Asked]) -> Iterator[str]:
    base = servers["installed"]
    yield "| API server, ms CPU | " + " | ".join(_WRITES) + " | all | MiB |"
    yield "| --- |" + " --: |" * (len(_WRITES) + 2)
    whole = sum(base.mean_ms(what) for what in _WRITES)
    for name, server in servers.items():
        each = [f"{server.mean_ms(what):.2f}" for what in _WRITES]
        share = sum(server.mean_ms(what) for what in _WRITES) / whole
        held = server.process.memory_info().rss >> 20
        yield f"| {name} | {' | '.join(each)} | {share:.2f} | {held:,} |"


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _parser() -> ArgumentParser:
    parser = ArgumentParser(prog="python -m bench.servers", description=__doc__)
    parser.add_argument(
        "setups", nargs="*", default=[*SETUPS], metavar="SETUP", help=str([*SETUPS])
    )
    parser.add_argument("--turns", type=int, default=12, help="bursts of each write")
    parser.add_argument("--burst", type=int, default=100, help="writes in a burst")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
