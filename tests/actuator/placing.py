"""Pods that wait for domains on the embedded API server, and the actuator that ungates them."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from random import Random

from prometheus_client import CollectorRegistry

from actuator.calls import Calls
from actuator.metrics import Metrics
from actuator.projection.read_model import ReadModel
from actuator.projection.workload_view import Phase, WorkloadView
from actuator.ungating.pod_ungater import PodUngater
from actuator.ungating.topology import TopologyPods
from tests.parts.stage import KUEUE, Object, Stage, kueue
from tidegate.contracts.decision_kinds.placements import NodeFailed, TopologyAssigned
from tidegate.contracts.entry import Published
from tidegate.model.ids import ObjectRef
from tidegate.model.podset import PodSetAssignment
from tidegate.model.topology import HOSTNAME, TopologyDomain, pack

PODS = "/api/v1/namespaces/default/pods"
WORKLOADS = f"{KUEUE}/namespaces/default/workloads"
GATE, INDEX, WORKLOAD = "kueue.x-k8s.io/topology", "rank", "default/train"
AT_US = 1_772_352_000_000_000


def assigned(podset: str = "main", **hosts: int) -> PodSetAssignment:
    """Return where a podset's pods go: so many to each host."""
    domains = [TopologyDomain(values=(host,), count=count) for host, count in hosts.items()]
    count = sum(hosts.values())
    return PodSetAssignment(name=podset, count=count, topology=pack((HOSTNAME,), domains))


class Placing(Stage):
    """One workload's pods, and one actuator after the other."""

    def __init__(self, *given: PodSetAssignment, requests: Object | None = None) -> None:
        super().__init__(with_crds=True)
        self.read_model = ReadModel()
        self.counts = {assignment.name: assignment.count for assignment in given}
        podsets = [
            {
                "name": assignment.name,
                "count": assignment.count,
                "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}},
                "topologyRequest": (requests or {}).get(assignment.name, {"podIndexLabel": INDEX}),
            }
            for assignment in given
        ]
        self.make(WORKLOADS, kueue("Workload", "train", queueName="main", podSets=podsets))
        self.show("admitted", given)
        self._task: asyncio.Task[None] | None = None
        self.start()

    def show(
        self,
        phase: Phase,
        given: tuple[PodSetAssignment, ...],
        key: str = WORKLOAD,
        first: str = "",
    ) -> None:
        """Have the projection know how the workload stands; with ``first`` it is an elastic one."""
        job = ObjectRef(kind="batch/job", namespace="default", name="train", uid="u")
        view = WorkloadView(key=key, uid="u", job=job, phase=phase, assignment=given)
        view.elastic, view.first = bool(first), first
        self.read_model.workloads[key] = view
        self.read_model.places = True

    def start(self) -> None:
        """Begin anew with nothing remembered, whatever was under way."""
        if self._task is not None:
            self._task.cancel()
        calls = Calls(self.api, Metrics(CollectorRegistry()))
        self.lets_go = PodUngater(calls, Random(3), TopologyPods(lambda: self.read_model))
        self.lets_go.set_active(working=True)
        self._task = asyncio.create_task(self.lets_go.run())

    async def end(self) -> None:
        """Stop for good."""
        assert self._task is not None, "it was started"
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    def deliver(self, event: NodeFailed | TopologyAssigned) -> None:
        """Have the actuator read a decision."""
        self.read_model.apply_event(event, "L1/1")
        self.lets_go.on_event(Published("L1", 1, "", b""), event, live=True)

    def pod(self, name: str, rank: int | None = None, podset: str = "main", **marks: str) -> None:
        labels = {"kueue.x-k8s.io/podset": podset}
        labels |= {} if rank is None else {INDEX: str(rank)}
        meta = {
            "name": name,
            "labels": labels,
            "annotations": {"kueue.x-k8s.io/workload": "train", **marks},
        }
        spec = {"containers": [{"name": "c", "image": "i"}], "schedulingGates": [{"name": GATE}]}
        self.make(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})

    def pods(self) -> dict[str, Object]:
        return {obj["metadata"]["name"]: obj for obj in self.read(PODS)["items"]}

    def hosts(self) -> dict[str, str]:
        """Return where each pod that was let go runs or is to run, by its name."""
        return {
            name: obj["spec"]["nodeSelector"][HOSTNAME]
            for name, obj in self.pods().items()
            if not obj["spec"].get("schedulingGates")
        }

    def held(self) -> Counter[str]:
        """Return how many pods each host has that did not end."""
        live = {name for name, fields in self.pods().items() if phase_of(fields) != "Failed"}
        return Counter(host for name, host in self.hosts().items() if name in live)

    def say(self, name: str, phase: str) -> None:
        self.change(f"{PODS}/{name}/status", {"status": {"phase": phase}})


def phase_of(obj: Object) -> str:
    phase: str = obj.get("status", {}).get("phase", "Pending")
    return phase


def node_failed(node: str) -> NodeFailed:
    return NodeFailed(
        at_us=AT_US, workload=WORKLOAD, uid="u", cluster_queue="cq", node=node, reason="Gone"
    )


def replaced(node: str, *given: PodSetAssignment) -> TopologyAssigned:
    return TopologyAssigned(
        at_us=AT_US,
        workload=WORKLOAD,
        uid="u",
        cluster_queue="cq",
        assignment=given,
        replaced=node,
    )
