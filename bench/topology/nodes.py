"""Measure watching nodes: ``python -m bench.topology.nodes [--nodes 5000 --pods 20000]``.

The three services as they are deployed, NATS and the ledger; the stub of ``bench.pipeline`` stands
for the API server. Nodes and pods are as large as a real kubelet's. First nothing names a topology,
then a flavor does and everything is listed, then each kubelet writes its node's status every five
minutes, and nothing else happens. Leases are not watched, so none are played.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path

from bench.cluster.objects import KUEUE
from bench.pipeline.__main__ import kubeconfig_of
from bench.pipeline.counters import Counters, count
from bench.pipeline.objects import definitions
from bench.pipeline.stub import Object, Stub
from tidegate.cluster.running import RunningServices, RunOptions, run_services
from tidegate.model.topology import HOSTNAME
from tidegate.service.loop import loop_factory

HEARTBEAT_S = 300.0
"""How often a kubelet writes the status of a node of which nothing changed."""
WATCHING = ("ingest", "scheduler")
_PER_RACK, _RACKS = 50, 10
_KINDS = ("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable", "Ready")
_FLAVOR = f"/apis/{KUEUE}/resourceflavors/any"


def main(arguments: Sequence[str]) -> int:
    """Measure, print, and return 0."""
    parser = ArgumentParser(prog="python -m bench.topology.nodes", description=__doc__)
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--pods", type=int, default=20_000, help="half of them of workloads")
    parser.add_argument("--seconds", type=float, default=60.0, help="of each phase")
    options = parser.parse_args(arguments)
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(measure(options))
    return 0


async def measure(options: Namespace) -> None:
    """Print a line for each phase."""
    stub = Stub(lambda _path, _found: None)
    _fill(stub, options.nodes, options.pods)
    with tempfile.TemporaryDirectory(prefix="tidegate-bench-") as folder:
        async with stub.serve() as url:
            kubeconfig = kubeconfig_of(Path(folder), url)
            settings = RunOptions(state=Path(folder) / "instance", kubeconfig=kubeconfig)
            async with run_services(settings, lambda _: None) as running:
                await _phases(stub, running, options)


async def _phases(stub: Stub, running: RunningServices, options: Namespace) -> None:
    print("| phase | CPU, % of a core: ingest, scheduler | MiB: ingest, scheduler, together |")
    print("| --- | --: | --: |")
    before = await _read_counters(running)
    await asyncio.sleep(options.seconds / 2)
    now = await _read_counters(running)
    _print_phase("no flavor names a topology", now.since(before), options.seconds / 2)
    before = now
    stub.put(_FLAVOR, _flavor("racks"))
    while (await _read_counters(running)).counted["entries"] < before.counted[
        "entries"
    ] + options.nodes:
        await asyncio.sleep(0.5)
    await asyncio.sleep(5)
    listed = await _read_counters(running)
    _print_lists(listed.since(before))
    await asyncio.sleep(options.seconds / 2)
    before = await _read_counters(running)
    _print_phase("watching, nothing happens", before.since(listed), options.seconds / 2)
    beats = await _heartbeats(stub, options.nodes, options.seconds)
    took = (await _read_counters(running)).since(before)
    _print_phase(f"{beats} heartbeats of kubelets", took, options.seconds)
    print(f"facts of these heartbeats: {took.counted['entries']:.0f}")


async def _heartbeats(stub: Stub, nodes: int, seconds: float) -> int:
    """Write as many statuses, evenly, as there are due; return how many."""
    loop, beats = asyncio.get_running_loop(), 0
    began, due = loop.time(), round(nodes * seconds / HEARTBEAT_S)
    for number in cycle(range(nodes)):
        await asyncio.sleep(max(0.0, began + beats * seconds / due - loop.time()))
        if beats == due:
            return beats
        stub.put(
            f"/api/v1/nodes/node-{number}", _node(number, f"2026-01-01T00:{beats % 60:02}:00Z")
        )
        beats += 1
    return beats


async def _read_counters(running: RunningServices) -> Counters:
    return await count(running.health["scheduler"])


def _print_phase(phase: str, took: Counters, seconds: float) -> None:
    cpu = [f"{100 * took.cpu_s[name] / seconds:.2f}" for name in WATCHING]
    print(f"| {phase} | {', '.join(cpu)} | {_memory(took.rss_mib)} |", flush=True)


def _print_lists(took: Counters) -> None:
    cpu = ", ".join(f"{took.cpu_s[name]:.1f} s" for name in WATCHING)
    print(f"| everything is listed: CPU in all | {cpu} | {_memory(took.rss_mib)} |", flush=True)


def _memory(rss_mib: Mapping[str, float]) -> str:
    each = [rss_mib[name] for name in WATCHING]
    return ", ".join(f"{cpu:.0f}" for cpu in (*each, sum(each)))


def _fill(stub: Stub, nodes: int, pods: int) -> None:
    for path, obj in definitions(1):
        stub.put(path, obj)
    levels = [{"nodeLabel": name} for name in ("block", "rack", HOSTNAME)]
    topology = {"metadata": {"name": "racks"}, "spec": {"levels": levels}}
    stub.put(f"/apis/{KUEUE}/topologies/racks", topology)
    for number in range(nodes):
        stub.put(f"/api/v1/nodes/node-{number}", _node(number, "2026-01-01T00:00:00Z"))
    for number in range(pods):
        stub.put(f"/api/v1/namespaces/bench/pods/pod-{number}", _pod(number, nodes))


def _flavor(topology: str) -> Object:
    head = {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": "any"}}
    return {**head, "spec": {"nodeLabels": {"kind": "batch"}, "topologyName": topology}}


def _node(number: int, beat: str) -> Object:
    rack = number // _PER_RACK
    amounts = {
        "cpu": "95690m",
        "memory": "263048296Ki",
        "pods": "110",
        "ephemeral-storage": "1887436800Ki",
        "hugepages-2Mi": "0",
        "nvidia.com/gpu": "8",
    }
    labels = {f"feature.node.kubernetes.io/cpu-feature-{n}": "true" for n in range(16)}
    labels |= {"block": f"b{rack // _RACKS}", "rack": f"r{rack}", HOSTNAME: f"node-{number}"}
    labels |= {"kind": "batch", "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux"}
    conditions = [
        {
            "type": kind,
            "status": str(kind == "Ready"),
            "lastHeartbeatTime": beat,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
            "reason": "KubeletHasNoProblem",
            "message": "kubelet has no problem",
        }
        for kind in _KINDS
    ]
    status = {"allocatable": amounts, "capacity": amounts, "conditions": conditions}
    images = {"images": _IMAGES, "nodeInfo": {"kubeletVersion": "v1.36.0"}}
    return {
        "metadata": {"name": f"node-{number}", "uid": f"node-{number}", "labels": labels},
        "spec": {"podCIDR": "10.0.0.0/24"},
        "status": {**status, **images},
    }


def _pod(number: int, nodes: int) -> Object:
    placed = {
        "kueue.x-k8s.io/workload": f"job-{number // 8}",
        "kueue.x-k8s.io/podset-required-topology": "rack",
    }
    metadata = {"name": f"pod-{number}", "annotations": placed if number % 2 else {}}
    spec = {**_SPEC, "nodeName": f"node-{number % nodes}"}
    return {"metadata": metadata, "spec": spec, "status": {"phase": "Running"}}


_IMAGES = [
    {"names": [f"registry.example.com/team/image-{n}@sha256:{n:064}"], "sizeBytes": 10**9 + n}
    for n in range(50)
]
_REQUESTS = {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"memory": "1Gi"}}
_ENV = [{"name": f"SETTING_{n}", "value": "value"} for n in range(16)]
_SPEC: Object = {
    "containers": [
        {"name": name, "image": "registry.example.com/a", "resources": _REQUESTS, "env": _ENV}
        for name in ("main", "sidecar")
    ],
    "volumes": [{"name": f"v{n}", "emptyDir": {}} for n in range(4)],
}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
