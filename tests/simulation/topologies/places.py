"""Where the ledger has put whose pods, by a model that adds up nodes and shares no code with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec

from tests.simulation.judging.verdict import demand
from tidegate.contracts.codec import decode
from tidegate.contracts.decision_kinds.placements import TopologyAssigned
from tidegate.contracts.decisions import (
    DecisionEvent,
    QuotaReleased,
    QuotaReserved,
    StartOrdered,
    WorkloadPending,
)
from tidegate.contracts.entry import Entry
from tidegate.contracts.facts import (
    FactEvent,
    NodeDefined,
    NodePodsCleared,
    NodePodsReported,
    NodeRemoved,
    WorkloadFinished,
    WorkloadRemoved,
    WorkloadSubmitted,
)
from tidegate.model.podset import PodSet, PodSetAssignment
from tidegate.model.topology import HOSTNAME, TopologyAssignment, unpack

REPELLING = ("NoSchedule", "NoExecute")
RACK = "rack"


class Placed(msgspec.Struct, frozen=True):
    """The pods of a workload on nodes, all alike."""

    hosts: dict[str, int]
    pod_milli: int


class Places:
    """Follows one ledger; objects at once to a place that is none."""

    def __init__(self) -> None:
        self._nodes = dict[str, NodeDefined]()
        self._foreign = dict[str, NodePodsReported]()
        self._asked = dict[str, PodSet]()  # by workload
        self.held = dict[str, Placed]()  # by workload
        self.told = dict[str, set[str]]()  # of a workload, every host that was ever its own
        self.most = dict[tuple[str, str], int]()  # of a workload on a host, the most pods ever
        self.placed = self.replaced = 0
        self.hopeless = set[str]()  # workloads that no nodes could ever take

    def take_in(self, entry: Entry) -> None:
        """Follow one entry."""
        event = decode(entry.payload)
        self._follow_nodes(event)
        match event:
            case WorkloadSubmitted():
                (self._asked[event.workload],) = event.podsets
            case WorkloadPending() if any("no multiple" in one.error for one in event.placements):
                self.hopeless.add(event.workload)
            case QuotaReserved():
                self._take(event.workload, event.assignment, entry.seq)
                self.placed += event.workload in self.held
            case TopologyAssigned():
                self._take(event.workload, event.assignment, entry.seq)
                self.replaced += 1
            case StartOrdered():
                self._check_start(event, entry.seq)
            case QuotaReleased() | WorkloadFinished() | WorkloadRemoved():
                self.held.pop(event.workload, None)
            case _:
                pass

    def _follow_nodes(self, event: FactEvent | DecisionEvent) -> None:
        match event:
            case NodeDefined():
                self._nodes[event.name] = event
            case NodeRemoved():
                self._nodes.pop(event.name, None)
            case NodePodsReported():
                self._foreign[event.name] = event
            case NodePodsCleared():
                self._foreign.pop(event.name, None)
            case _:
                pass

    def _take(self, key: str, assignment: tuple[PodSetAssignment, ...], seq: int) -> None:
        """Put a workload where an assignment says; what it did not have there has to fit."""
        (given,) = assignment
        if given.topology is None:
            return
        before = self.held.pop(key, Placed({}, 0)).hosts
        hosts = _hosts(given.topology)
        whole = sum(hosts.values()) == given.count
        demand(whole, "quota", f"at {seq} {key} has {given.count} pods, and places for {hosts}")
        self.held[key] = Placed(hosts, given.usage["cpu"] // given.count)
        for host, pods in hosts.items():
            self.told.setdefault(key, set()).add(host)
            self.most[key, host] = max(pods, self.most.get((key, host), 0))
            if pods > before.get(host, 0):
                demand(
                    not (why := self._refuses(host)), "quota", f"at {seq} {key} on {host}: {why}"
                )
        for why in self._misplaced(key, hosts):
            demand(holds=False, rule="quota", found=f"at {seq} {key} on {hosts}: {why}")

    def _refuses(self, host: str) -> str:
        """Tell why nobody more may be put on a node; empty: nothing does."""
        node = self._nodes.get(host)
        if node is None:
            return "there is no such node"
        if not node.spec.ready or node.spec.unschedulable:
            return "it takes no pods"
        if any(one.effect in REPELLING for one in node.spec.taints):
            return "it has a taint"
        used = self._foreign_on(host)
        for one in self.held.values():
            pods = one.hosts.get(host, 0)
            used.update({"cpu": pods * one.pod_milli, "pods": pods})
        over = {
            name: units - node.spec.allocatable.get(name, 0)
            for name, units in used.items()
            if name in ("cpu", "pods") and units > node.spec.allocatable.get(name, 0)
        }
        return f"it is overfilled by {over}" if over else ""

    def _foreign_on(self, host: str) -> Counter[str]:
        """Return what pods use of a node beyond what whom they name holds there."""
        told = self._foreign.get(host)
        if told is None:
            return Counter()
        used = Counter[str](told.usage)
        for key, amounts in told.claimed.items():
            held = self.held.get(key, Placed({}, 0))
            pods = held.hosts.get(host, 0)
            own = {"cpu": pods * held.pod_milli, "pods": pods}
            used.update({name: max(0, amounts.get(name, 0) - own[name]) for name in own})
        return used

    def _misplaced(self, key: str, hosts: dict[str, int]) -> Iterator[str]:
        """Yield what of a workload's wish its place does not fulfil, as far as nodes are there."""
        asked = self._asked[key].topology
        if asked is None or not hosts.keys() <= self._nodes.keys():
            return
        racks = Counter[str]()
        for host, pods in hosts.items():
            racks[self._nodes[host].spec.labels[RACK]] += pods
        if asked.required == RACK and len(racks) > 1:
            yield "its pods require one rack"
        for layer in asked.layers:
            if layer.level == RACK and any(pods % layer.size for pods in racks.values()):
                yield f"slices of {layer.size} share a rack"

    def _check_start(self, order: StartOrdered, seq: int) -> None:
        (started,) = order.podsets
        placed = started.topology is None or sum(_hosts(started.topology).values()) == started.count
        demand(placed, "quota", f"at {seq} {order.workload} starts with pods that have no place")


def _hosts(topology: TopologyAssignment) -> dict[str, int]:
    demand(topology.levels == (HOSTNAME,), "quota", f"places at {topology.levels}")
    return {one.values[0]: one.count for one in unpack(topology)}
