"""A queue over a few nodes and jobs on it, by facts alone, in the default mode."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from tests.core.queues import defined, of_cpu
from tidegate.contracts import facts
from tidegate.contracts.codec import type_name
from tidegate.contracts.decisions import (
    DecisionEvent,
)
from tidegate.contracts.facts import FactEvent
from tidegate.core.decide import decide
from tidegate.core.folding.fold import apply
from tidegate.core.folding.snapshot import decode, encode
from tidegate.core.state.state import State
from tidegate.model.ids import ObjectRef
from tidegate.model.podset import Container, PodSet, TopologyRequest
from tidegate.model.quota import (
    FlavorSpec,
    Preemption,
    Quota,
)
from tidegate.model.topology import HOSTNAME, NodeSpec, unpack


class Cluster:
    """A queue over nodes of two CPUs, two in a rack."""

    def __init__(self, nodes: int, *, topology: bool = True) -> None:
        self.state = State()
        spec = of_cpu(
            {"hosts": Quota(nominal=100_000)},
            preemption=Preemption(within_cluster_queue="LowerPriority"),
        )
        self.fold(
            facts.LedgerOpened(at_us=0, ledger_id="topology"),
            facts.WatchesExpected(at_us=0, resources=()),
            facts.FlavorDefined(at_us=0, name="hosts", spec=FlavorSpec(topology="racks")),
            facts.NamespaceDefined(at_us=0, name="n"),
            *defined("cq", spec, local="q", namespace="n"),
        )
        if topology:
            levels = ("rack", HOSTNAME)
            self.fold(facts.TopologyDefined(at_us=0, name="racks", levels=levels))
        for number in range(nodes):
            self.node(number)

    def fold(self, *events: FactEvent) -> None:
        for event in events:
            apply(self.state, event)

    def node(self, number: int, *, ready: bool | None = True) -> None:
        name = f"x{number}"
        labels = {"rack": f"r{number // 2}", HOSTNAME: name}
        spec = NodeSpec(labels=labels, allocatable={"cpu": 2_000, "pods": 10}, ready=ready)
        self.fold(facts.NodeDefined(at_us=0, name=name, spec=spec))

    def job(  # noqa: PLR0913 - what differs between these jobs
        self,
        name: str,
        pods: int,
        required: str = "",
        priority: int = 0,
        *,
        elastic: bool = False,
        requests: dict[str, str] | None = None,
    ) -> None:
        asked = TopologyRequest(required=required) if required else None
        container = Container(requests=requests or {"cpu": "1"})
        podset = PodSet(count=pods, containers=(container,), topology=asked)
        job = ObjectRef(kind="batch/job", namespace="n", name=name, uid=name)
        self.fold(
            facts.WorkloadSubmitted(
                at_us=0,
                workload=f"n/{name}",
                uid=name,
                job=job,
                queue="q",
                podsets=(podset,),
                priority=priority,
                elastic=elastic,
            )
        )

    def finish(self, name: str) -> None:
        self.fold(facts.WorkloadFinished(at_us=0, workload=f"n/{name}", uid=name))

    def rack(self, name: str) -> int:
        """Return the rack of a job's pods, which are in one."""
        [rack] = {int(node[1:]) // 2 for node in self.where(name)}
        return rack

    def resize(self, name: str, pods: int) -> None:
        """Change how many pods an elastic job has."""
        known = self.state.workloads[f"n/{name}"]
        podsets = (replace(known.podsets[0], count=pods),)
        self.fold(
            facts.WorkloadChanged(
                at_us=0, workload=known.key, uid=known.uid, queue="q", podsets=podsets, elastic=True
            )
        )

    def decide(self) -> list[DecisionEvent]:
        """Decide until nothing follows; a state that was read back decides the same."""
        copy = decode(encode(self.state))
        decisions = decide(self.state)
        assert decide(copy) == decisions
        assert decide(self.state) == []
        return decisions

    def where(self, name: str) -> dict[str, int]:
        [given] = self.state.workloads[f"n/{name}"].assignment
        assert given.topology is not None
        return {
            topology_domain.values[0]: topology_domain.count
            for topology_domain in unpack(given.topology)
        }


def names(decisions: Iterable[DecisionEvent]) -> list[str]:
    return [type_name(decision) for decision in decisions]
