"""Measure placement in virtual time: ``python -m bench.topology``.

``placements``: the algorithm alone, pods charged and uncharged. ``scheduling``: the whole core,
from submission to start, with events and folding; the oldest tenth ends whenever no workload fits.
All in CPU seconds of one process.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import cycle
from resource import RUSAGE_SELF, getrusage

from tidegate.contracts import facts
from tidegate.contracts.decisions import WorkloadAdmitted
from tidegate.core.decide import decide
from tidegate.core.folding.fold import apply
from tidegate.core.state.state import State
from tidegate.core.topology.fitting.tree import Leaves, Node, Tree, build
from tidegate.core.topology.place import Ask, Placed, Placer, place, pod_amounts
from tidegate.model.ids import ObjectRef
from tidegate.model.podset import Container, LabelSelector, PodSet, TopologyRequest
from tidegate.model.quota import (
    ClusterQueueSpec,
    FlavorQuotas,
    FlavorSpec,
    LocalQueueSpec,
    Quota,
    ResourceGroup,
)
from tidegate.model.topology import HOSTNAME, NodeSpec

LEVELS = ("block", "rack", HOSTNAME)
CPU, MEMORY = 96_000, 256 * 2**30
MIX = ((2, "500m", 1), (4, "1250m", 2), (8, "2500m", 4))
"""Pods, CPU of each, and pods of a slice: Kueue's topology mix, a third of each kind."""
SIZES = ((640, 15_000), (5_000, 20_000))
FULL = 0.9
SHARE = 5  # the whole core is measured on a fifth of the workloads


@dataclass(frozen=True)
class Size:
    """How many nodes, and how many pods or workloads are placed on them."""

    nodes: int
    placed: int


def main() -> int:
    """Print a line for each size and kind of measurement; return 0."""
    for nodes, placed in SIZES:
        _print_line("placements", Size(nodes, placed), _placements)
        _print_line("scheduling", Size(nodes, placed // SHARE), _scheduling)
    return 0


def _print_line(label: str, size: Size, measure: Callable[[Size], tuple[int, float]]) -> None:
    done, seconds = measure(size)
    each_us = seconds / done * 1e6
    print(
        f"{label:10} {size.nodes:5} nodes: {done:6} in {seconds:6.2f} s CPU,"
        f" {done / seconds:7.0f}/s, {each_us:6.0f} us each",
        flush=True,
    )


def _spec(number: int) -> NodeSpec:
    labels = {
        "block": f"b{number // 640}",
        "rack": f"r{number // 64}",
        HOSTNAME: f"n{number:05}",
    }
    allocatable = {"cpu": CPU, "memory": MEMORY, "pods": 110}
    return NodeSpec(labels=labels, allocatable=allocatable, ready=True)


def _podsets() -> Iterator[PodSet]:
    """Yield the mix for ever: required, preferred and sliced at the rack."""
    kinds: list[Callable[[int], TopologyRequest]] = [
        lambda _: TopologyRequest(required="rack"),
        lambda _: TopologyRequest(preferred="rack"),
        lambda size: TopologyRequest(slice_required="rack", slice_size=size),
    ]
    podsets = [
        PodSet(
            count=pods,
            containers=(Container(requests={"cpu": cpu, "memory": "200Mi"}),),
            topology=kind(size),
        )
        for pods, cpu, size in MIX
        for kind in kinds
    ]
    return cycle(podsets)


def _placements(size: Size) -> tuple[int, float]:
    tree = build(LEVELS, (Node(name=f"n{n:05}", spec=_spec(n)) for n in range(size.nodes)))
    placer, running = Placer(tree=tree), deque[tuple[Leaves, dict[str, int]]]()
    used, room = 0, size.nodes * CPU * FULL
    asks = [
        Ask(podset=podset, count=podset.count, each={"cpu": cpu, "memory": 200 * 2**20})
        for podset, cpu in zip(
            _podsets(), (500, 500, 500, 1_250, 1_250, 1_250, 2_500, 2_500, 2_500), strict=False
        )
    ]
    begin = _cpu_s()
    for done, ask in zip(range(size.placed), cycle(asks)):
        del done
        while used + ask.count * ask.each["cpu"] > room:
            leaves, each = running.popleft()
            used -= _charge(tree, leaves, each, -1)
        [placed] = place(placer, [ask])
        assert isinstance(placed, Placed), "there is room"
        running.append((list(placed.leaves), pod_amounts(ask)))
        used += _charge(tree, *running[-1], 1)
    return size.placed, _cpu_s() - begin


def _charge(tree: Tree, leaves: Leaves, each: dict[str, int], sign: int) -> int:
    for leaf, pods in leaves:
        tree.charge(leaf, each, sign * pods)
    return sum(pods for _, pods in leaves) * each["cpu"]


def _scheduling(size: Size) -> tuple[int, float]:
    state, podsets = open_state(size), _podsets()
    running, waiting, submitted, admitted = deque[str](), 0, 0, 0
    begin = _cpu_s()
    while admitted < size.placed:
        for _ in range(min(200 - waiting, size.placed - submitted)):
            apply(state, _job(submitted, next(podsets)))
            submitted, waiting = submitted + 1, waiting + 1
        started = [
            decision.workload
            for decision in decide(state)
            if isinstance(decision, WorkloadAdmitted)
        ]
        running.extend(started)
        admitted, waiting = admitted + len(started), waiting - len(started)
        if waiting:
            for _ in range(max(1, len(running) // 10)):
                key = running.popleft()
                uid = state.workloads[key].uid
                apply(state, facts.WorkloadFinished(at_us=0, workload=key, uid=uid))
    return admitted, _cpu_s() - begin


def _job(number: int, podset: PodSet) -> facts.WorkloadSubmitted:
    name = f"w{number}"
    return facts.WorkloadSubmitted(
        at_us=0,
        workload=f"n/{name}",
        uid=name,
        job=ObjectRef(kind="batch/job", namespace="n", name=name, uid=name),
        queue="q",
        created_us=number + 1,
        podsets=(podset,),
    )


def open_state(size: Size) -> State:
    """Return a state with nodes, and a queue that is never short of quota."""
    quota = {name: Quota(nominal=10**18) for name in ("cpu", "memory")}
    flavor = FlavorQuotas(flavor="hosts", quotas=quota)
    group = ResourceGroup(resources=("cpu", "memory"), flavors=(flavor,))
    queue = ClusterQueueSpec(groups=(group,), namespace_selector=LabelSelector())
    state = State()
    for event in (
        facts.LedgerOpened(at_us=0, ledger_id="bench"),
        facts.WatchesExpected(at_us=0, resources=()),
        facts.FlavorDefined(at_us=0, name="hosts", spec=FlavorSpec(topology="racks")),
        facts.TopologyDefined(at_us=0, name="racks", levels=LEVELS),
        facts.NamespaceDefined(at_us=0, name="n"),
        facts.ClusterQueueDefined(at_us=0, name="cq", spec=queue),
        facts.LocalQueueDefined(
            at_us=0, name="q", namespace="n", spec=LocalQueueSpec(cluster_queue="cq")
        ),
    ):
        apply(state, event)
    for number in range(size.nodes):
        apply(state, facts.NodeDefined(at_us=0, name=f"n{number:05}", spec=_spec(number)))
    return state


def _cpu_s() -> float:
    used = getrusage(RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())
