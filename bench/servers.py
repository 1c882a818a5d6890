"""Measure what a write costs differently set up API servers: ``python -m bench.servers [--help]``.

Each is a control plane of its own, and they are asked by turns in short bursts, so that a machine
whose speed changes from second to second disturbs all of them alike. Compare within one run only.
A user creates and finishes a Workload; the actuator's own account starts it.
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
from bench.cluster.sending import RAW, condition, run_all, send
from bench.virtual.loads import Arrival
from tidegate.cluster.go.building import build
from tidegate.cluster.go.plane import ControlPlane
from tidegate.cluster.install import ORDER, apply, install, manifests_folder, read_manifests
from tidegate.kinds.crds import without_rules
from tidegate.kinds.policies.forms import ACCOUNTS, ANOTHER_WRITES
from tidegate.kube.client import connect
from tidegate.kube.credentials import Access
from tidegate.kube.ports import KubernetesApi
from tidegate.service.loop import loop_factory

Object = dict[str, Any]
_PATH = f"/apis/{KUEUE}/namespaces/{RAW}/workloads"
_SETTLING_S, _AFTER_S = 10.0, 0.15
_WRITES = ("create", "start", "finish")
_ACTUATOR = ACCOUNTS[0]


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """How one of them differs from what an installation and a local cluster make."""

    change: Callable[[Object], Object | None] = lambda obj: obj  # None: it is left out
    environment: Mapping[str, str] = {}


class RequestCost(msgspec.Struct, frozen=True, kw_only=True):
    """One API server, and the CPU milliseconds that its writes have taken."""

    api: KubernetesApi
    actuator: KubernetesApi  # the same as the actuator's account
    process: psutil.Process
    took_ms: dict[str, list[float]]

    def cpu_ms(self) -> float:
        """Return the CPU time that it has taken since it was started."""
        return 1e3 * sum(self.process.cpu_times()[:2])

    def mean_ms(self, verb: str) -> float:
        """Return what a write took in the mean of all turns."""
        return sum(self.took_ms[verb]) / len(self.took_ms[verb])


def without_policies(obj: Object) -> Object | None:
    """Leave admission policies out."""
    return None if "AdmissionPolicy" in obj["kind"] else obj


def policies_for_all(obj: Object) -> Object:
    """Let policies also match what Tidegate's own accounts write."""
    if "matchConditions" not in obj.get("spec", {}):
        return obj
    conditions = [
        condition
        for condition in obj["spec"]["matchConditions"]
        if condition["name"] != ANOTHER_WRITES
    ]
    return {**obj, "spec": {**obj["spec"], "matchConditions": conditions}}


def in_three_versions(obj: Object) -> Object:
    """Serve Workloads in one more version."""
    if obj["metadata"]["name"] != "workloads.kueue.x-k8s.io":
        return obj
    stored, *others = obj["spec"]["versions"]
    more = {**stored, "name": "v1alpha1", "storage": False}
    return {**obj, "spec": {**obj["spec"], "versions": [stored, *others, more]}}


def in_one_version(obj: Object) -> Object:
    """Serve only what is stored."""
    if obj["kind"] != "CustomResourceDefinition":
        return obj
    stored = [version for version in obj["spec"]["versions"] if version["storage"]]
    return {**obj, "spec": {**obj["spec"], "versions": stored}}


SETUPS = {
    "installed": Setup(),
    "without-policies": Setup(change=without_policies),
    "policies-for-all": Setup(change=policies_for_all),
    "without-rules": Setup(change=without_rules),
    "one-version": Setup(change=in_one_version),
    "three-versions": Setup(change=in_three_versions),
    "gogc-100": Setup(environment={"GOGC": "100"}),
    "gogc-200": Setup(environment={"GOGC": "200"}),
}


def main(arguments: Sequence[str]) -> int:
    """Measure, print, and return 0."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if unknown := sorted({*options.setups} - SETUPS.keys()):
        parser.error(f"there is no setup {', '.join(unknown)}: there are {', '.join(SETUPS)}")
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        for line in runner.run(_measure(options)):
            print(line)
    return 0


async def _measure(options: Namespace) -> list[str]:
    names = ("installed", *(setup for setup in options.setups if setup != "installed"))
    async with AsyncExitStack() as stack:
        servers = {name: await stack.enter_async_context(_server(name)) for name in names}
        _print_progress(f"waiting {_SETTLING_S:.0f} s until all is compiled")
        await asyncio.sleep(_SETTLING_S)
        for turn in range(-1, options.turns):  # the first warms up and does not count
            _print_progress(f"turn {turn + 1} of {options.turns}")
            for verb in _WRITES:
                first = turn % len(names)
                for name in names[first:] + names[:first]:
                    await _burst(servers[name], verb, turn, options.burst)
        return list(_lines(servers))


async def _burst(server: RequestCost, verb: str, turn: int, count: int) -> None:
    arrivals = [
        Arrival(at_us=0, name=f"raw-{turn}-{number}", queue=0, cpu=1, priority=0, run_us=0)
        for number in range(count)
    ]
    began_ms = server.cpu_ms()
    api = server.actuator if verb == "start" else server.api
    await run_all(_write(api, verb, arrival) for arrival in arrivals)
    await asyncio.sleep(_AFTER_S)  # watch events follow the answers
    if turn >= 0:
        server.took_ms[verb].append((server.cpu_ms() - began_ms) / count)


async def _write(api: KubernetesApi, verb: str, arrival: Arrival) -> None:
    if verb == "create":
        await send(api, "POST", _PATH, workload(arrival))
        return
    types = ("QuotaReserved", "Admitted", *(("Finished",) if verb == "finish" else ()))
    place = {"name": "main", "count": 1, "flavors": {"cpu": "default"}}
    status = {
        "conditions": [condition(kind, "Measured") for kind in types],
        "admission": {"clusterQueue": "queue-0", "podSetAssignments": [place]},
    }
    body = msgspec.json.encode({"status": status})
    await send(api, "PATCH", f"{_PATH}/{arrival.name}/status", body)


@asynccontextmanager
async def _server(name: str) -> AsyncGenerator[RequestCost]:
    setup = SETUPS[name]
    _print_progress(f"starting {name}")
    with tempfile.TemporaryDirectory(prefix="tidegate-bench-") as folder:
        plane = await asyncio.to_thread(_started, Path(folder), setup)
        try:
            access = Access(kubeconfig=str(plane.kubeconfig))
            acting = msgspec.structs.replace(access, impersonate=_ACTUATOR)
            async with connect(access) as api, connect(acting) as actuator:
                await install(api, _manifests(Path(folder), setup), lambda _: None)
                await apply(api, namespace(RAW))
                took = {verb: list[float]() for verb in _WRITES}
                pid = next(
                    process.pid for process in plane.processes() if process.name == "kube-apiserver"
                )
                yield RequestCost(
                    api=api, actuator=actuator, process=psutil.Process(pid), took_ms=took
                )
        finally:
            await asyncio.to_thread(plane.remove)


def _started(folder: Path, setup: Setup) -> ControlPlane:
    binaries = build(lambda step, done, total: _print_progress(f"{step} {done} of {total}"))
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
        generator = (
            setup.change(read_manifest)
            for read_manifest in read_manifests(manifests_folder() / room)
        )
        (manifests / room).mkdir(parents=True)
        text = yaml.safe_dump_all([obj for obj in generator if obj is not None])
        (manifests / room / "all.yaml").write_text(text)
    return manifests


def _lines(servers: Mapping[str, RequestCost]) -> Iterator[str]:
    base = servers["installed"]
    yield "| API server, ms CPU | " + " | ".join(_WRITES) + " | all | MiB |"
    yield "| --- |" + " --: |" * (len(_WRITES) + 2)
    whole = sum(base.mean_ms(verb) for verb in _WRITES)
    for name, server in servers.items():
        each = [f"{server.mean_ms(verb):.2f}" for verb in _WRITES]
        share = sum(server.mean_ms(verb) for verb in _WRITES) / whole
        memory_mib = server.process.memory_info().rss >> 20
        yield f"| {name} | {' | '.join(each)} | {share:.2f} | {memory_mib:,} |"


def _print_progress(line: str) -> None:
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
