"""Which partition decides about which tree, as both ledgers tell in the order of their commits.

At any time one partition decides about a tree, or none while it moves: a tree is released whole by
the partition that has it and taken once by the other, and of its workloads no other has a say. No
workload holds quota in both ledgers, and both together give away no more than a tree has. Partition
0 alone may know a job before it knows where its queue leads: there it waits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from msgspec.structs import replace

from tests.simulation.judging.ledger_watch import Holding, LedgerWatch
from tests.simulation.judging.verdict import demand
from tidegate.contracts.codec import decode
from tidegate.contracts.decisions import (
    DecisionEvent,
    QuotaReserved,
    StartOrdered,
    StopOrdered,
    WorkloadEvicted,
)
from tidegate.contracts.entry import Entry
from tidegate.contracts.fact_kinds.definitions import (
    ClusterQueueDefined,
    LocalQueueDefined,
    QueueElsewhere,
)
from tidegate.contracts.fact_kinds.handovers import HandoverConfirmed, TreeReleased, TreeTaken
from tidegate.contracts.facts import (
    FactEvent,
    LedgerOpened,
    WorkloadAdopted,
    WorkloadSubmitted,
)

Decided: TypeAlias = (
    QuotaReserved
    | StartOrdered
    | StopOrdered
    | WorkloadAdopted
    | WorkloadEvicted
    | WorkloadSubmitted
)
"""What only the partition of a tree may tell of its workloads."""


class Trees:
    """Follows the ledgers of all partitions; a workload's namespace is named like its queue."""

    def __init__(
        self,
        queues: Mapping[str, str],
        nominal_milli: Mapping[str, int],
        placed: Mapping[str, int],
        watches: Sequence[LedgerWatch],
        running: Callable[[str], Iterable[str]],
    ) -> None:
        """``queues``: ClusterQueue to tree; ``placed``: tree to the partition it begins in.

        ``running``: the uids of a tree's Jobs that run.
        """
        self._running = running
        self._queues, self._watches = queues, watches
        self.nominal_milli = nominal_milli  # by tree
        self.owners: dict[str, int | None] = {**placed}
        self._released = dict[str, str]()  # by "<ledger id>/<seq>", until taken
        self._held = dict[str, dict[str, Holding]]()  # by tree, when it was released
        self._unconfirmed = set[str]()
        self._ids = ["" for _ in watches]
        self._led = [set[str]() for _ in watches]  # namespaces whose LocalQueue is known to lead
        self._known = [set[str]() for _ in watches]  # ClusterQueues, its own and others'
        self.orders = dict[str, tuple[int, StartOrdered]]()  # by the mark that Jobs bear
        self.moves = self.carried = self.stops = 0

    def tree_of(self, workload: str) -> str:
        """Return the tree of a workload, or of anything else in a namespace; empty: none."""
        return self._queues.get(workload.partition("/")[0], "")

    def take_in(self, partition: int, entry: Entry) -> None:
        """Follow the next entry of a partition, or object to it."""
        event = decode(entry.payload)
        if isinstance(event, LedgerOpened):
            self._ids[partition] = event.ledger_id
        key = f"{self._ids[partition]}/{entry.seq}"
        self._learn(partition, event)
        self._follow_tree(partition, key, event)
        if isinstance(event, Decided) and self.tree_of(event.workload):
            self._follow_workload(partition, key, event)

    def _learn(self, partition: int, event: FactEvent | DecisionEvent) -> None:
        """Note which queues a partition knows."""
        match event:
            case ClusterQueueDefined() | QueueElsewhere():
                self._known[partition].add(event.name)
            case LocalQueueDefined():
                self._led[partition].add(event.namespace)
            case _:
                pass

    def _follow_tree(self, partition: int, key: str, event: FactEvent | DecisionEvent) -> None:
        match event:
            case TreeReleased():
                self._release(partition, key, event)
            case TreeTaken():
                self._take(partition, event)
            case HandoverConfirmed():
                self._unconfirmed.discard(f"{self._ids[partition]}/{event.released_seq}")
            case ClusterQueueDefined() if event.name in self._queues:
                self._object_to_other(partition, self._queues[event.name], f"{key} defines")
            case _:
                pass

    def _follow_workload(self, partition: int, key: str, event: Decided) -> None:
        tree, queue = self.tree_of(event.workload), event.workload.partition("/")[0]
        leads = queue in self._led[partition] & self._known[partition]
        if leads or partition or not isinstance(event, WorkloadSubmitted):
            self._object_to_other(partition, tree, f"{key} {type(event).__name__}")
        match event:
            case QuotaReserved():
                self._object_to_excess(event.workload)
                self._object_to_uncharged(partition, event.workload)
            case WorkloadAdopted():
                self._object_to_excess(event.workload)
                self._object_to_other_charge(partition, event.workload)
            case StartOrdered():
                self.orders[key] = partition, event
            case StopOrdered():
                self.stops += 1
            case _:
                pass

    def unrest(self) -> str:
        """Tell which tree is still on its way; empty: none."""
        for tree, owner in self.owners.items():
            if owner is None:
                return f"no partition has {tree}"
        return f"{min(self._unconfirmed)} is not confirmed" if self._unconfirmed else ""

    def _release(self, partition: int, key: str, event: TreeReleased) -> None:
        tree = self._queues.get(event.queues[0], "")
        whole = sorted(name for name, root in self._queues.items() if root == tree)
        demand(sorted(event.queues) == whole, "once", f"{key} releases {event.queues} of {whole}")
        self._object_to_other(partition, tree, f"{key} releases")
        holding = self._watches[partition].holding.items()
        held = {workload: each for workload, each in holding if self.tree_of(workload) == tree}
        self.carried += len(held)
        self._held[tree] = held
        self.owners[tree] = None
        self._released[key] = tree
        self._unconfirmed.add(key)

    def _take(self, partition: int, event: TreeTaken) -> None:
        key = f"{event.ledger_id}/{event.seq}"
        tree = self._released.pop(key, "")
        demand(tree, "once", f"{partition} takes {event.queues}, which {key} did not release")
        demand(self.owners[tree] is None, "once", f"{tree} is taken and {self.owners[tree]}'s")
        self.owners[tree] = partition
        self.moves += 1

    def _object_to_other(self, partition: int, tree: str, does: str) -> None:
        owner = self.owners[tree]
        demand(owner == partition, "once", f"{does} in {tree}, which is {owner}'s")

    def _object_to_excess(self, workload: str) -> None:
        holders = [number for number, each in enumerate(self._watches) if workload in each.holding]
        demand(len(holders) == 1, "once", f"{workload} holds quota in {holders}")
        tree = self.tree_of(workload)
        held_milli = sum(
            held.cpu
            for watch in self._watches
            for key, held in watch.holding.items()
            if self.tree_of(key) == tree
        )
        most = self.nominal_milli[tree]
        demand(held_milli <= most, "quota", f"{tree} holds {held_milli}m of {most}m")

    def _object_to_other_charge(self, partition: int, workload: str) -> None:
        """Object if what runs is charged otherwise than before its tree was released."""
        before = self._held.get(self.tree_of(workload), {}).pop(workload, None)
        now = self._watches[partition].holding[workload]
        same = before is None or replace(before, done=0) == replace(now, done=0)
        demand(same, "quota", f"{workload} is adopted with {now}, and had {before}")

    def _object_to_uncharged(self, partition: int, workload: str) -> None:
        """Object if quota is given away before all that runs in its tree is charged."""
        watch, tree = self._watches[partition], self.tree_of(workload)
        for uid in self._running(tree):
            text = f"{workload} gets quota of {tree}, where {uid} runs uncharged"
            demand(watch.holds(uid), "loss", text)
