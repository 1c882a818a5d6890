"""The ledger by a small model of its own: which workloads hold quota, and what was ordered.

It shares no code with the core. It hears of each commit as it happens and objects at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import msgspec
from sqlalchemy import Engine

from scheduler.dependencies import Snapshots
from tests.simulation.judging.contracts.past import Past
from tests.simulation.judging.quota_tree import QuotaTree
from tests.simulation.judging.verdict import demand
from tests.simulation.judging.wire import Taken
from tidegate.bus.ports import Ledger
from tidegate.contracts.codec import decode
from tidegate.contracts.decisions import (
    DecisionEvent,
    QuotaReleased,
    QuotaReserved,
    StartOrdered,
    StopOrdered,
    VariantCreated,
    WorkloadEvicted,
)
from tidegate.contracts.entry import Entry, Position, Positions, Term
from tidegate.contracts.facts import (
    ClusterQueueDefined,
    FactEvent,
    FlavorDefined,
    LedgerOpened,
    PodsReclaimed,
    WorkloadAdopted,
    WorkloadChanged,
    WorkloadFinished,
    WorkloadRemoved,
    WorkloadSubmitted,
)
from tidegate.model.podset import PodSetAssignment


class OnRelease(Protocol):
    """Told that a job's quota is free, by a stop or because another workload took it over."""

    def __call__(self, uid: str, *, by_stop: bool) -> None: ...


class Holding(msgspec.Struct, frozen=True):
    """Quota that a workload holds."""

    queue: str
    pods: int
    pod_milli: int  # CPU of one pod
    flavor: str
    done: int = 0  # pods whose part is given back

    @property
    def cpu(self) -> int:
        """Return what is charged, in milli-CPU."""
        return (self.pods - self.done) * self.pod_milli


class LedgerWatch:
    """Follows one ledger from its first entry."""

    def __init__(self) -> None:
        self._at_us = 0  # of the newest entry
        self.ledger_id, self.opened = "", 0  # its name of now, and the seq that gave it
        self.holding = dict[str, Holding]()  # by workload
        self.uids = dict[str, str]()  # workload to its job's uid, of those that hold quota
        self.jobs = dict[str, str]()  # workload to its job's uid, of those that are not over
        self.parents = dict[str, str]()  # of each variant, its parent
        self.made = set[str]()  # uids of Workloads that stand for themselves
        self.evicting = set[str]()  # workloads that hold quota and were ordered to stop
        self.newest = dict[str, StartOrdered | StopOrdered]()  # order of each job, by uid
        self.orders = dict[int, StartOrdered | StopOrdered]()  # by seq
        self.quota = dict[str, int]()  # of each ClusterQueue, all flavors together
        self.labels = dict[str, dict[str, str]]()  # of the nodes of each flavor
        self._tree = QuotaTree()
        self._elastic = set[str]()  # workloads that may shrink
        self._adopted = set[str]()  # uids of jobs that ran before this ledger knew them
        self.past = Past()
        self.on_release: OnRelease | None = None
        self.on_removal: Callable[[str], None] | None = None  # told a job's uid
        self.on_order: Callable[[StartOrdered | StopOrdered], None] | None = None
        self.reserved = 0
        self.evicted = 0

    def take_in(self, entry: Entry) -> None:
        """Follow one entry, and object if it reserves what is not there."""
        event = decode(entry.payload)
        demand(entry.at_us >= self._at_us, "past", f"time runs back at {entry.seq}")
        self._at_us = entry.at_us
        self.past.take_in(event, entry.seq, entry.epoch)
        self._follow_size(event)
        self._tree.take_in(event)
        match event:
            case LedgerOpened():
                self.ledger_id, self.opened = event.ledger_id, entry.seq
            case ClusterQueueDefined():
                self.quota[event.name] = sum(self._tree.queues[event.name].nominal.values())
            case FlavorDefined():
                self.labels[event.name] = event.spec.node_labels
            case WorkloadRemoved():
                self._object_to_removal(event)
                self._follow_quota(event, entry.seq)
            case WorkloadSubmitted():
                self.jobs[event.workload] = event.job.uid
                self.made |= {event.job.uid} if event.job.kind == "workload" else set()
            case VariantCreated():
                self.parents[event.workload] = event.parent
            case _:
                self._follow_quota(event, entry.seq)
                self._follow_orders(event, entry.seq)

    def _follow_quota(self, event: FactEvent | DecisionEvent, seq: int) -> None:
        match event:
            case WorkloadAdopted():
                self._hold(event.workload, event.uid, event.cluster_queue, event.assignment)
                self._adopted.add(event.uid.partition("/")[0])
                charged = self.holding[event.workload].cpu
                demand(charged, "quota", f"at {seq} {event.workload} is adopted without a charge")
            case QuotaReserved():
                self._hold(event.workload, event.uid, event.cluster_queue, event.assignment)
                self.reserved += 1
                self._object(event.workload, event.cluster_queue, seq)
            case QuotaReleased() | WorkloadFinished() | WorkloadRemoved():
                self._let_go(event)
                self.evicted += isinstance(event, QuotaReleased)
            case PodsReclaimed() if event.workload in self.holding:
                held, done = self.holding[event.workload], sum(event.reclaimable.values())
                self.holding[event.workload] = msgspec.structs.replace(held, done=done)
            case _:
                pass

    def _follow_orders(self, event: FactEvent | DecisionEvent, seq: int) -> None:
        match event:
            case StartOrdered() | StopOrdered():
                self.orders[seq] = self.newest[event.job.uid] = event
                if self.on_order is not None:
                    self.on_order(event)
            case WorkloadEvicted() if event.workload in self.holding:
                self.evicting.add(event.workload)  # else a check sent it back before it got quota
            case _:
                pass

    def _object_to_removal(self, event: WorkloadRemoved) -> None:
        """Let a judge object if a job is forgotten, unless its kind is not watched any more."""
        watched = event.reason != "NotWatched"
        if not watched:
            self.newest.pop(event.uid, None)  # a scheduler that watches it again orders it anew
        known = self.jobs.get(event.workload) == event.uid and watched
        if known and self.on_removal is not None:
            self.on_removal(event.uid)

    def was_started(self, uid: str) -> bool:
        """Tell whether a job was ever started by this ledger, or ran when the ledger began.

        What it bears of a ledger that was lost before says nothing: it may have been stopped then.
        """
        orders = (order for order in self.orders.values() if order.job.uid == uid)
        return uid in self._adopted or any(isinstance(order, StartOrdered) for order in orders)

    def stops_since_start(self, uid: str) -> set[str]:
        """Return the marks of the stops that were ordered behind a job's newest start."""
        orders = [
            (seq, decision) for seq, decision in self.orders.items() if decision.job.uid == uid
        ]
        starts = [seq for seq, decision in orders if isinstance(decision, StartOrdered)]
        since = max(starts, default=0)
        return {f"{self.ledger_id}/{seq}" for seq, _ in orders if seq > since}

    def _let_go(self, event: QuotaReleased | WorkloadFinished | WorkloadRemoved) -> None:
        self.holding.pop(event.workload, None)
        uid = self.uids.pop(event.workload, "").partition("/")[0]
        if self.on_release is not None and isinstance(event, QuotaReleased) and not self.holds(uid):
            self.on_release(uid, by_stop=event.reason != "WorkloadSliceReplaced")
        self.evicting.discard(event.workload)
        if not isinstance(event, QuotaReleased):
            self.jobs.pop(event.workload, None)

    def _follow_size(self, event: FactEvent | DecisionEvent) -> None:
        """Take in that an elastic job has fewer pods."""
        if isinstance(event, WorkloadSubmitted) and event.elastic:
            self._elastic.add(event.workload)
        if not isinstance(event, WorkloadChanged) or event.workload not in self._elastic:
            return
        held, (asked,) = self.holding.get(event.workload), event.podsets
        if held is not None:
            fewer = min(held.pods, asked.count)
            self.holding[event.workload] = msgspec.structs.replace(held, pods=fewer)

    def is_shown_with_quota(self, workload: str) -> bool:
        """Tell whether a workload holds quota, or a variant of it does: it shows what that has."""
        variants = (text for text in self.holding if self.parents.get(text) == workload)
        return workload in self.holding or next(variants, None) is not None

    def holds(self, uid: str) -> bool:
        """Tell whether a job's workload holds quota."""
        return any(text.partition("/")[0] == uid for text in self.uids.values())

    def _hold(
        self, workload: str, uid: str, queue: str, assignment: tuple[PodSetAssignment, ...]
    ) -> None:
        pods = sum(assignment.count for assignment in assignment)
        each, flavor = (
            assignment[0].usage["cpu"] // assignment[0].count,
            assignment[0].flavors["cpu"],
        )
        assert sum(assignment.usage["cpu"] for assignment in assignment) == each * pods, (
            "all pods are alike here"
        )
        self.holding[workload] = Holding(queue, pods, each, flavor)
        self.uids[workload] = uid

    def _object(self, workload: str, queue: str, seq: int) -> None:
        for excess in self._tree.excesses(queue, self.holding[workload].flavor, self._used_of):
            demand(holds=False, rule="quota", text=f"at {seq} {excess}")

    def _used_of(self, queues: set[str], flavor: str) -> int:
        ours = (holding for holding in self.holding.values() if holding.queue in queues)
        return sum(holding.cpu for holding in ours if holding.flavor == flavor)

    def charged(self) -> dict[str, int]:
        """Return what each job's workloads are charged together, by its uid, in milli-CPU."""
        mapping = dict[str, int]()
        for workload, held in self.holding.items():
            uid = self.uids[workload].partition("/")[0]
            mapping[uid] = mapping.get(uid, 0) + held.cpu
        return mapping

    def used(self, queues: set[str]) -> int:
        """Return what some ClusterQueues are charged together, in milli-CPU."""
        return sum(holding.cpu for holding in self.holding.values() if holding.queue in queues)


class WatchedLedger:
    """``Ledger`` that tells a watch of each commit."""

    def __init__(self, ledger: Ledger, snapshots: Snapshots, engine: Engine, taken: Taken) -> None:
        self._ledger, self.watch, self.snapshots = ledger, LedgerWatch(), snapshots
        self._taken, self._epoch = taken, 0  # the newest term
        self.position = Position()  # of the observations, as committed
        self.engine = engine  # where it is kept
        self.entries = list[Entry]()
        self.on_entry: Callable[[Entry], None] | None = None

    def begin_term(self, holder: str, lease_us: int) -> Term | None:
        term = self._ledger.begin_term(holder, lease_us)
        if term is not None:
            self._epoch, self.position = term.epoch, term.observations
        return term

    def renew_term(self, epoch: int, lease_us: int) -> None:
        self._ledger.renew_term(epoch, lease_us)

    def append(
        self, epoch: int, after: int, entries: Sequence[Entry], positions: Positions
    ) -> None:
        self._ledger.append(epoch, after, entries, positions)
        demand(epoch == self._epoch, "past", f"term {epoch} writes in term {self._epoch}")
        if entries and not any(entry.type.startswith("LedgerOpened") for entry in entries):
            self._taken.object_to_number(self.watch.ledger_id, entries[0].seq)
        if positions.observations is not None:
            self._taken.commit(positions.observations)
            self.position = positions.observations
        for position in positions.members.values():
            self._taken.commit(position)
        self.entries += entries
        for entry in entries:
            self.watch.take_in(entry)
            if self.on_entry is not None:
                self.on_entry(entry)

    def purge_limit(self, position: Position) -> Position:
        return self._ledger.purge_limit(position)

    def read(self, after: int = 0, until: int | None = None) -> Iterator[Entry]:
        return self._ledger.read(after, until)
