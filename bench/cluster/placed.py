"""The load whose pods are placed: one block of 10 racks of 64 nodes, and Workloads of several pods.

A third of each size asks for one rack, a third prefers one, and a third asks for slices in a rack.
Nodes are objects that nothing keeps alive, so the controller manager is stopped first: it would
call them lost.
"""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from bench.cluster.objects import KUEUE, pod
from bench.cluster.sending import run_all, send
from bench.virtual.loads import Arrival
from tidegate.cluster.go.plane import ControlPlane
from tidegate.kube.ports import KubernetesApi

Object = dict[str, Any]
BLOCK, RACK, HOSTNAME = (
    "bench.example.com/block",
    "bench.example.com/rack",
    "kubernetes.io/hostname",
)
RACKS, NODES_EACH = 10, 64
CAPACITY = {"cpu": "96", "memory": "256Gi", "pods": "110"}
PODS = {"small": (2, "500m", 1), "medium": (4, "1250m", 2), "large": (8, "2500m", 4)}
"""How many pods a Workload of a size has, what each asks for, and how many of them a slice has."""
_STOPPED = ("nodes", "kube-scheduler", "kube-controller-manager")


def topology() -> Object:
    """Return the Topology that the flavor names."""
    levels = [{"nodeLabel": level} for level in (BLOCK, RACK, HOSTNAME)]
    head = {"apiVersion": KUEUE, "kind": "Topology", "metadata": {"name": "default"}}
    return head | {"spec": {"levels": levels}}


def flavor_spec() -> Object:
    """Return the spec of the flavor whose nodes form it."""
    return {"nodeLabels": {BLOCK: "block-0"}, "topologyName": "default"}


def workload(arrival: Arrival) -> bytes:
    """Return a Workload without an owner, as JSON, whose pods request a topology."""
    size, _, number = arrival.name.split("-")
    count, cpu, together = PODS[size]
    sliced = {"podSetSliceRequiredTopology": RACK, "podSetSliceSize": together}
    request = ({"required": RACK}, {"preferred": RACK}, sliced)[int(number) % 3]
    template = {"spec": pod(cpu)}
    podset = {"name": "main", "count": count, "template": template, "topologyRequest": request}
    spec = {"queueName": f"lq-{arrival.queue}", "priority": arrival.priority, "podSets": [podset]}
    head = {"apiVersion": KUEUE, "kind": "Workload", "metadata": {"name": arrival.name}}
    return msgspec.json.encode(head | {"spec": spec})


async def make_nodes(api: KubernetesApi, plane: ControlPlane | None) -> None:
    """Make all nodes, ready and without taints; nothing else acts on them from then on."""
    if plane is not None:
        for name in _STOPPED:
            await asyncio.to_thread(plane.kill, name)
    numbers = ((rack, node) for rack in range(RACKS) for node in range(NODES_EACH))
    await run_all(_make_node(api, rack, node) for rack, node in numbers)


async def _make_node(api: KubernetesApi, rack: int, node: int) -> None:
    name = f"rack-{rack}-node-{node}"
    labels = {BLOCK: "block-0", RACK: f"rack-{rack}", HOSTNAME: name}
    about = {"metadata": {"name": name, "labels": labels}}
    await send(api, "POST", "/api/v1/nodes", msgspec.json.encode(about))
    ready = {"type": "Ready", "status": "True", "reason": "Made", "message": ""}
    status = {"capacity": CAPACITY, "allocatable": CAPACITY, "conditions": [ready]}
    for path, patch in (("/status", {"status": status}), ("", {"spec": {"taints": None}})):
        await send(api, "PATCH", f"/api/v1/nodes/{name}{path}", msgspec.json.encode(patch))
