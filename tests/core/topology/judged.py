"""Scenarios with topologies for the judge: ``python -m tests.core.topology.judged --seeds N``.

Those of ``tests.core.judge``, some of whose flavors have a topology, now and then over the same
nodes. Nodes come, go, fail and fill up with pods of others, also while workloads leave.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from random import Random

from msgspec.structs import replace

from tests.core.judge import Way, judge, wide
from tests.differential.random_scenarios import actions, scenario
from tests.differential.scenarios import SECOND_US
from tests.differential.world import World
from tidegate.contracts import facts
from tidegate.contracts.codec import encode
from tidegate.contracts.decisions import DecisionEvent, QuotaReserved, StopOrdered
from tidegate.contracts.facts import FactEvent
from tidegate.core.state.state import State
from tidegate.core.topology.cluster import pod_requests_of, topologies, topology_flavor_of
from tidegate.model.podset import PodSet, SliceLayer, TopologyRequest
from tidegate.model.quota import FlavorSpec
from tidegate.model.topology import HOSTNAME, NodeSpec, Taint, unpack

LEVELS = ("block", "rack", HOSTNAME)
_GIB = 2**30
_ROUNDS_MAX = 2_000


class Nodes:
    """Draws what happens to nodes."""

    def __init__(self, rng: Random, kinds: Sequence[str]) -> None:
        self.rng, self.kinds, self.known, self.made = rng, kinds, dict[str, NodeSpec](), 0

    def begin(self, world: World) -> Iterator[FactEvent]:
        """Yield a topology, and some nodes."""
        levels = LEVELS[self.rng.choice((0, 1, 1)) :]
        yield facts.TopologyDefined(at_us=world.now_us, name="racks", levels=levels)
        for _ in range(self.rng.randint(2, 8)):
            yield self._comes(world.now_us)

    def change(self, world: World) -> Iterator[FactEvent]:
        """Yield what happens to some nodes at once."""
        for _ in range(self.rng.choice((0, 1, 1, 3))):
            if not self.known:
                yield self._comes(world.now_us)
                continue
            name, chance = self.rng.choice(sorted(self.known)), self.rng.random()
            if chance < 0.2:
                yield self._comes(world.now_us)
            elif chance < 0.35:
                del self.known[name]
                yield facts.NodeRemoved(at_us=world.now_us, name=name)
            elif chance < 0.65:
                usage = {"cpu": self.rng.choice((0, 0, 1_000, 3_000)), "pods": 1}
                yield facts.NodePodsReported(at_us=world.now_us, name=name, usage=usage)
            else:
                yield self._changes(world.now_us, name)

    def _comes(self, now_us: int) -> FactEvent:
        name, rng = f"n{self.made:02}", self.rng
        self.made += 1
        labels = {"block": rng.choice("ab"), "rack": rng.choice("xyz"), HOSTNAME: name}
        labels["kind"] = rng.choice(self.kinds)
        self.known[name] = NodeSpec(labels=labels, allocatable=self._amounts(), ready=True)
        return facts.NodeDefined(at_us=now_us, name=name, spec=self.known[name])

    def _changes(self, now_us: int, name: str) -> FactEvent:
        rng = self.rng
        spec = replace(
            self.known[name],
            ready=rng.choice((True, True, True, False, None)),
            unschedulable=rng.random() < 0.1,
            taints=(Taint(key="bad", effect="NoSchedule"),) if rng.random() < 0.15 else (),
        )
        if rng.random() < 0.5:
            spec = replace(spec, allocatable=self._amounts())
        self.known[name] = spec
        return facts.NodeDefined(at_us=now_us, name=name, spec=spec)

    def _amounts(self) -> dict[str, int]:
        rng = self.rng
        cpu, pods = rng.choice((1_000, 2_000, 4_000, 6_000)), rng.choice((1, 2, 10))
        return {"cpu": cpu, "memory": rng.choice((2, 4, 8)) * _GIB, "gpu": 4, "pods": pods}


def journal(seed: int, way: Way) -> list[bytes]:
    """Play a scenario drawn from a seed; return all that was folded, as it is recorded."""
    actual_scenario = wide(seed) if seed % 2 else scenario(seed)
    rng = Random(f"{seed}/placed")
    for queue in actual_scenario.input["clusterQueues"]:
        if rng.random() < 0.3:  # trees that share nodes
            queue["spec"]["cohortName"] = f"pool-{rng.choice('abc')}"
    world = World(actual_scenario, "tidegate")
    flavors = [flavor["name"] for flavor in actual_scenario.input["resourceFlavors"]]
    nodes = Nodes(rng, flavors)
    world.fold(_flavors(rng, flavors, world.now_us))
    world.fold(nodes.begin(world))
    for name, queue in world.asked.items():
        podsets = tuple(_asking(rng, podset) for podset in queue.podsets)
        world.asked[name] = replace(queue, podsets=_grouped(rng, podsets))
    fresh = [workload["name"] for workload in actual_scenario.input["workloads"]]
    for number in range(rng.randint(3, 5)):
        world.fold(nodes.change(world))
        world.begin(number, actions(rng, world, fresh))
        _settle(world, way, nodes)
    return [encode(event) for event in world.journal]


def _flavors(rng: Random, flavors: Sequence[str], now_us: int) -> Iterator[FactEvent]:
    """Yield most of the flavors with a topology, of all nodes or of those of a kind."""
    for name in flavors:
        if rng.random() < 0.8:
            labels = {"kind": name} if rng.random() < 0.4 else {}
            spec = FlavorSpec(topology="racks", node_labels=labels)
            yield facts.FlavorDefined(at_us=now_us, name=name, spec=spec)


def _asking(rng: Random, podset: PodSet) -> PodSet:
    level = rng.choice(("rack", "rack", HOSTNAME))
    match rng.randrange(6):
        case 0:
            asked = TopologyRequest(required=level)
        case 1:
            asked = TopologyRequest(preferred=level)
        case 2:
            asked = TopologyRequest(unconstrained=True)
        case 3:
            size = rng.choice((1, 2, podset.count))
            asked = TopologyRequest(layers=(SliceLayer(level=level, size=size),))
        case _:
            return podset
    return replace(podset, topology=asked)


def _grouped(rng: Random, podsets: tuple[PodSet, ...]) -> tuple[PodSet, ...]:
    """Let two podsets now and then be a leader and its workers."""
    if len(podsets) == 1 or rng.random() < 0.5:
        return podsets
    asked = TopologyRequest(required=rng.choice(("rack", HOSTNAME)), group="g")
    leader, workers = podsets
    return replace(leader, count=1, topology=asked), replace(workers, topology=asked)


def _settle(world: World, way: Way, nodes: Nodes) -> None:
    leaving: list[StopOrdered] = []
    rng = Random(len(world.journal))
    for turn in range(_ROUNDS_MAX):
        world.now_us += SECOND_US
        world.fold([facts.TimePassed(at_us=world.now_us)])
        world.state, decisions = way(world.state)
        world.journal += decisions
        insist(world.state, decisions)
        leaving += (decision for decision in decisions if isinstance(decision, StopOrdered))
        if not decisions and not leaving:
            return
        gone = [decision for decision in leaving if rng.random() < 0.5]
        leaving = [decision for decision in leaving if decision not in gone]
        world.fold(
            facts.WorkloadStopped(at_us=world.now_us, workload=decision.workload, uid=decision.uid)
            for decision in gone
        )
        if turn < 3 and rng.random() < 0.3:
            world.fold(nodes.change(world))


def insist(state: State, decisions: Sequence[DecisionEvent]) -> None:
    """Insist that all pods of admitted workloads are placed, and that none stands on another."""
    placers = topologies(state).placers
    for decision in decisions:
        if not isinstance(decision, QuotaReserved) or decision.workload not in state.workloads:
            continue
        workload = state.workloads[decision.workload]
        if workload.assignment != decision.assignment:
            continue  # it has left again, or its pods have moved
        for given, podset in zip(decision.assignment, workload.podsets, strict=True):
            flavor = topology_flavor_of(state, given)
            if not flavor:
                assert given.topology is None
                continue
            held = [] if given.topology is None else unpack(given.topology)
            assert sum(domain.count for domain in held) == given.count, decision
            tree = placers[flavor].tree
            for domain in held:
                leaf = tree.number[domain.values]
                for resource in pod_requests_of(state, workload, podset):
                    assert tree.free.row(resource)[leaf] >= 0, (decision, domain, resource)


def main(arguments: Sequence[str]) -> int:
    """Judge seeds one after another; return 1 if decisions differ anywhere."""
    return judge(arguments, "tests.core.topology.judged", __doc__, journal)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
