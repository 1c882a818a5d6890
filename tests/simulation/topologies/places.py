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
)
from tidegate.contracts.entry import Entry
from tidegate.contracts.facts import (
    FactEvent,
    NodeDefined,
    NodePodsCleared,
    NodePodsReported,
    NodeRemoved,
    WorkloadChanged,
    WorkloadFinished,
    WorkloadRemoved,
    WorkloadSubmitted,
)
from tidegate.model.podset import PodSet, PodSetAssignment
from tidegate.model.topology import HOSTNAME, TopologyAssignment, unpack

REPELLING = ("NoSchedule", "NoExecute")
RACK = "rack"
PER_NODE = ("cpu", "pods")


class Placed(msgspec.Struct, frozen=True):
    """The pods of a podset on nodes, all alike."""

    hosts: dict[str, int]
    pod_milli: int


class Places:
    """Follows one ledger; objects at once to a place that is none.

    The slices of an elastic job are one: what the next one gets is beside what the last one had.
    """

    def __init__(self) -> None:
        self._nodes = dict[str, NodeDefined]()
        self._foreign = dict[str, NodePodsReported]()
        self._asked = dict[str, dict[str, PodSet]]()  # by workload and podset
        self._replaces = dict[str, str]()
        self._elastic = set[str]()
        self._handed = dict[str, dict[str, Placed]]()  # what a slice had that was replaced
        self.jobs = dict[str, str]()  # of a workload, the uid of its job
        self.held = dict[str, dict[str, Placed]]()  # by workload and podset
        self.told = dict[tuple[str, str], set[str]]()  # of a job's podset, its hosts at any time
        self.most = dict[tuple[str, str, str], int]()  # of those on a host, the most pods ever
        self.placed = self.replaced = self.several = 0

    def take_in(self, entry: Entry) -> None:
        """Follow one entry."""
        event = decode(entry.payload)
        self._follow_nodes(event)
        match event:
            case WorkloadSubmitted():
                self._ask(event)
                self.jobs[event.workload] = event.job.uid
            case WorkloadChanged():
                self._ask(event)
                self._shrink(event.workload)
            case QuotaReserved():
                self._take(event.workload, event.assignment, entry.seq)
                self.placed += event.workload in self.held
                self.several += len(event.assignment) > 1
            case TopologyAssigned():
                self._take(event.workload, event.assignment, entry.seq)
                self.replaced += 1
            case StartOrdered():
                self._check_start(event, entry.seq)
            case QuotaReleased(reason="WorkloadSliceReplaced"):
                self._handed[event.workload] = self.held.pop(event.workload, {})
            case QuotaReleased() | WorkloadFinished() | WorkloadRemoved():
                self.held.pop(event.workload, None)
            case _:
                pass

    def _ask(self, event: WorkloadSubmitted | WorkloadChanged) -> None:
        self._asked[event.workload] = {podset.name: podset for podset in event.podsets}
        self._replaces[event.workload] = event.replaces
        if event.elastic:
            self._elastic.add(event.workload)

    def _shrink(self, key: str) -> None:
        """Take the last pods from an elastic job that asks for fewer."""
        for name, placed in self.held.get(key, {}).items() if key in self._elastic else ():
            left, hosts = self._asked[key][name].count, dict[str, int]()
            for host, pods in placed.hosts.items():
                if left > 0:
                    hosts[host] = min(pods, left)
                left -= pods
            self.held[key][name] = Placed(hosts, placed.pod_milli)

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
        given = {
            assignment.name: assignment
            for assignment in assignment
            if assignment.topology is not None
        }
        if not given:
            return
        older = self._handed.pop(self._replaces.get(key, ""), {})
        before = self.held.pop(key, older)
        now = {
            name: Placed(_hosts(assignment), _milli(assignment))
            for name, assignment in given.items()
        }
        self.held[key] = now
        for name, placed in now.items():
            whole = sum(placed.hosts.values()) == given[name].count
            demand(whole, "quota", f"at {seq} {key} has {given[name].count} pods at {placed}")
        self._shrink(key)  # what was asked for since it was placed first counts
        for name, placed in self.held[key].items():
            self._note(key, name, placed, before.get(name, Placed({}, 0)), seq)
        for why in self._misplaced(key, now):
            demand(holds=False, rule="quota", text=f"at {seq} {key} on {now}: {why}")

    def _note(self, key: str, name: str, placed: Placed, before: Placed, seq: int) -> None:
        job = self.jobs[key]
        for host, pods in placed.hosts.items():
            self.told.setdefault((job, name), set()).add(host)
            self.most[job, name, host] = max(pods, self.most.get((job, name, host), 0))
            if pods > before.hosts.get(host, 0):
                why = self._refuses(host)
                demand(not why, "quota", f"at {seq} {key} on {host}: {why}")

    def _refuses(self, host: str) -> str:
        """Tell why no more pods may be put on a node; empty: nothing prevents it."""
        node = self._nodes.get(host)
        if node is None:
            return "there is no such node"
        if not node.spec.ready or node.spec.unschedulable:
            return "it takes no pods"
        if any(taint.effect in REPELLING for taint in node.spec.taints):
            return "it has a taint"
        used = self._foreign_on(host)
        for key in self.held:
            used.update(self._own_on(key, host))
        over = {
            name: units - node.spec.allocatable.get(name, 0)
            for name, units in used.items()
            if name in ("cpu", "pods") and units > node.spec.allocatable.get(name, 0)
        }
        return f"it is overfilled by {over}" if over else ""

    def _own_on(self, key: str, host: str) -> dict[str, int]:
        """Return what a workload holds on a node."""
        mine = [
            (placement, placement.hosts.get(host, 0))
            for placement in self.held.get(key, {}).values()
        ]
        cpu = sum(pods * placement.pod_milli for placement, pods in mine)
        return {"cpu": cpu, "pods": sum(pods for _, pods in mine)}

    def _foreign_on(self, host: str) -> Counter[str]:
        """Return what pods use of a node beyond what the workloads they name hold there."""
        event = self._foreign.get(host)
        if event is None:
            return Counter()
        used = Counter[str](event.usage)
        for key, amounts in event.claimed.items():
            own = Counter[str]()
            for other in self._named(key):
                own.update(self._own_on(other, host))
            used.update({name: max(0, amounts.get(name, 0) - own[name]) for name in PER_NODE})
        return used

    def _named(self, key: str) -> set[str]:
        """Return the workloads that pods may mean: those of an elastic job name any slice."""
        job = self.jobs.get(key, "")
        return {key, *(text for text in self._elastic if self.jobs[text] == job)}

    def _misplaced(self, key: str, now: dict[str, Placed]) -> Iterator[str]:
        """Yield what of a workload's wish its place does not fulfil, as far as nodes are there."""
        groups = dict[str, set[str]]()
        for name, placed in now.items():
            asked = self._asked[key][name].topology
            if asked is None or not placed.hosts.keys() <= self._nodes.keys():
                continue
            if asked.required == RACK:
                racks = self._domains_of(placed, RACK)
                groups.setdefault(asked.group or f"podset {name}", set()).update(racks)
            for layer in asked.layers:
                domains = self._domains_of(placed, layer.level)
                short = [pods for pods in domains.values() if pods % layer.size]
                if len(short) > (1 if domains.total() % layer.size else 0):
                    yield f"slices of {layer.size} share a {layer.level}"
        if any(len(racks) > 1 for racks in groups.values()):
            yield "its pods require one rack"

    def _domains_of(self, placed: Placed, level: str) -> Counter[str]:
        """Return the pods in each domain of a level."""
        counts = Counter[str]()
        for host, pods in placed.hosts.items():
            counts[self._nodes[host].spec.labels[level]] += pods
        return counts

    def _check_start(self, order: StartOrdered, seq: int) -> None:
        for podset in order.podsets:
            hosts = Counter[str]() if podset.topology is None else _domains(podset.topology)
            placed = podset.topology is None or hosts.total() == podset.count
            demand(placed, "quota", f"at {seq} {order.workload} starts with pods without a place")


def _hosts(given: PodSetAssignment) -> dict[str, int]:
    assert given.topology is not None
    return dict(_domains(given.topology))


def _milli(given: PodSetAssignment) -> int:
    return given.usage["cpu"] // given.count


def _domains(assignment: TopologyAssignment) -> Counter[str]:
    assert assignment.levels[-1] == HOSTNAME
    return Counter(
        {
            topology_domain.values[-1]: topology_domain.count
            for topology_domain in unpack(assignment)
        }
    )
