"""One dispatcher's life: it follows the ledger, and while it holds the lease it carries that out.

Level-triggered: a change at a worker cluster or in the ledger names the workload to be
looked at, and what is done follows from what is there then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from random import Random

from dispatcher.adapters.jobs import EDITED
from dispatcher.collect import OrphanCollector
from dispatcher.copy_reconciler import CopyReconciler
from dispatcher.informer import Informer
from dispatcher.manager.manager_cluster import ManagerCluster
from dispatcher.metrics import Metrics
from dispatcher.publish import Publisher
from dispatcher.targets import Target, Targets
from dispatcher.workers.fleet import Fleet
from dispatcher.workqueue import Place, WorkQueue
from tidegate.bus.ports import EventFeed, Lease, ObservationPublisher
from tidegate.contracts.codec import decode
from tidegate.contracts.decision_kinds.clusters import (
    CheckDecided,
    ClustersNominated,
    RemoteWithdrawn,
)
from tidegate.contracts.decisions import DecisionEvent
from tidegate.contracts.entry import Published
from tidegate.contracts.fact_kinds.clusters import MultiKueueClusterRemoved
from tidegate.contracts.facts import ClusterQueueRemoved, FactEvent
from tidegate.errors import BusUnreachableError, TidegateError, UndecodableError
from tidegate.service.backoff import backoff_delays
from tidegate.service.lease import maintain_lease
from tidegate.service.logs import get_log

LATER_S, REFRESH_S = 2.0, 60.0
"""When a workload is looked at again that waits for something, and that waits for nothing."""
_FIRST_S, _MOST_S, _POLL_S = 0.25, 60.0, 0.05
_log = get_log("dispatch")


class Session:
    """The parts of one dispatcher."""

    def __init__(  # noqa: PLR0913 - the parts of a process
        self,
        feed: EventFeed,
        port: ObservationPublisher,
        lease: Lease,
        *,
        lease_s: float,
        publisher: Publisher,
        carrier: CopyReconciler,
        metrics: Metrics,
        random: Random,
    ) -> None:
        self._feed, self._port, self._lease, self._lease_s = feed, port, lease, lease_s
        self._publisher, self._carrier, self._metrics = publisher, carrier, metrics
        self._random = random
        self._targets, self._queue = Targets(), WorkQueue()
        self._read, self._history, self._ledger = 0, 0, ""
        self._active = asyncio.Event()

    def connect(
        self,
        home: Callable[[Callable[[str], None]], ManagerCluster],
        fleet: Callable[[ManagerCluster, Callable[[str, str], None]], Fleet],
        collector: Callable[[ManagerCluster, Fleet, Targets], OrphanCollector],
        edited: Callable[[Callable[[str], None]], Sequence[Informer]] = lambda _: (),
    ) -> None:
        """Set the parts that call back; ``edited`` are jobs here whose edits are copied on."""
        self._home = home(lambda name: self._fleet.request_reconcile(name))  # noqa: PLW0108 - it comes after
        self._fleet = fleet(self._home, self._on_copy_changed)
        self._collector = collector(self._home, self._fleet, self._targets)
        self._edited = edited(self._on_job_edited)

    @property
    def lag(self) -> str:
        """Return what it still has to learn; empty: nothing."""
        lacks = self._read < self._history
        return f"history read to seq {self._read} of {self._history}" if lacks else ""

    async def run(self) -> None:
        """Work until cancelled; the lease is released at the end."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(maintain_lease(self._lease, self._lease_s, self._set_active))
            tasks.create_task(self._follow_ledger())
            tasks.create_task(self._run_while_leader())

    def _set_active(self, active: bool) -> None:  # noqa: FBT001 - as the lease calls it
        self._metrics.active.set(active)
        if active:
            self._active.set()
        else:
            self._active.clear()

    async def _run_while_leader(self) -> None:
        """Be active while the lease is held, each time from the beginning."""
        while True:
            await self._active.wait()
            acting = asyncio.create_task(self._run_workers())
            lost = asyncio.create_task(self._wait_for_lease_loss())
            try:
                await asyncio.wait({acting, lost}, return_when=asyncio.FIRST_COMPLETED)
                if acting.done():
                    acting.result()
            finally:
                for task in (acting, lost):
                    task.cancel()
                await asyncio.gather(acting, lost, return_exceptions=True)

    async def _wait_for_lease_loss(self) -> None:
        while self._active.is_set():  # noqa: ASYNC110 - an event tells of its setting only
            await asyncio.sleep(self._lease_s / 8)

    async def _run_workers(self) -> None:
        while self.lag or not self._ledger:  # noqa: ASYNC110 - once, at a start
            await asyncio.sleep(_POLL_S)
        self._publisher.forget_published()
        self._queue = WorkQueue()  # the queue of an earlier term is dropped with its keys
        self._enqueue_all()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._home.run())
            tasks.create_task(self._fleet.run())
            tasks.create_task(self._collector.run())
            tasks.create_task(self._serve_resync_requests())
            tasks.create_task(self._requeue_periodically())
            tasks.create_task(self._process_queue())
            for informer in self._edited:
                tasks.create_task(informer.run(self._random))

    async def _serve_resync_requests(self) -> None:
        """Publish everything again whenever the scheduler requests it."""
        waits = backoff_delays(self._random, first_s=0.5, most_s=10.0)
        while True:
            with suppress(BusUnreachableError):
                async for _ in self._port.resync_requests():
                    self._publisher.forget_published()
                    await self._fleet.republish()
                    self._enqueue_all()
            await asyncio.sleep(next(waits))

    async def _requeue_periodically(self) -> None:
        """Look at each workload once in ``REFRESH_S``, at a few each second; publish clusters."""
        while True:
            for few in self._targets.split_into(round(REFRESH_S)):
                await asyncio.sleep(1.0)
                for key in few:
                    self._enqueue(key)
            await self._fleet.republish()

    def _enqueue_all(self) -> None:
        for key in self._targets.of:
            self._enqueue(key)

    def _enqueue(self, key: str) -> None:
        """Queue a workload for each cluster that has a copy of it, or should have one."""
        target = self._targets.of.get(key)
        for cluster in () if target is None else target.clusters:
            self._queue.add((cluster, key))

    def _enqueue_with_slices(self, key: str) -> None:
        """Queue a workload and the other slices of its job."""
        for each in self._targets.with_sibling_slices(key):
            self._enqueue(each)

    async def _follow_ledger(self) -> None:
        waits = backoff_delays(self._random, first_s=0.2, most_s=10.0)
        while True:
            try:
                await self._follow_feed()
            except BusUnreachableError as error:
                _log.warning("cannot read EVENTS", error=str(error))
            await asyncio.sleep(next(waits))

    async def _follow_feed(self) -> None:
        ledger, newest = await self._feed.newest()
        if ledger != self._ledger:
            self._ledger, self._read, self._history = ledger, 0, newest
            self._targets.clear()
        async for published in self._feed.follow(self._read):
            if published.ledger_id != self._ledger:
                return  # another ledger speaks
            if published.seq > self._read:
                self._apply_entry(published)

    def _apply_entry(self, published: Published) -> None:
        live = not self.lag
        self._read = published.seq
        try:
            event = decode(published.payload)
        except UndecodableError as error:
            _log.warning("entry not understood", seq=published.seq, error=str(error))
            return
        key = self._targets.apply_event(event)
        if key:
            self._enqueue_with_slices(key)
        if live:
            self._note_news(event)

    def _note_news(self, event: FactEvent | DecisionEvent) -> None:
        """Count an admission; forget what an event makes void."""
        match event:
            case CheckDecided(state="Ready"):
                target = self._targets.of.get(event.workload)
                cluster = "" if target is None else target.chosen
                self._metrics.admitted.labels(event.cluster_queue, cluster, "leader").inc()
            case ClustersNominated() | RemoteWithdrawn():
                for cluster in event.clusters:  # its state there is an answer from here on
                    self._publisher.forget_copy(cluster, event.workload)
            case ClusterQueueRemoved():
                self._metrics.forget("cluster_queue", event.name)
            case MultiKueueClusterRemoved():
                self._metrics.forget("cluster", event.name)
            case _:
                pass

    def _on_copy_changed(self, cluster: str, key: str) -> None:
        """Queue a workload whose copy changed at a worker."""
        for each in self._targets.with_sibling_slices(key):
            self._queue.add((cluster, each))

    def _on_job_edited(self, job: str) -> None:
        """Queue the workload of a changed job here, for the cluster where it runs."""
        for key in self._targets.workloads_of_object(job):
            target = self._targets.of[key]
            if target.job.kind in EDITED and target.chosen:
                self._queue.add((target.chosen, key))

    async def _process_queue(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            while True:
                place, tries = await self._queue.get()
                tasks.create_task(self._process(place, tries))

    async def _process(self, place: Place, tries: int) -> None:
        cluster, key = place
        try:
            await self._reconcile(cluster, key)
        except TidegateError as error:
            _log.warning("not carried out", workload=key, worker=cluster, error=str(error))
            self._queue.add_after(place, min(_FIRST_S * 2 ** min(tries, 20), _MOST_S), tries + 1)
        except Exception:  # noqa: BLE001 - of one workload at one cluster: the others go on
            _log.exception("not carried out", workload=key, worker=cluster)
            self._queue.add_after(place, _MOST_S, tries + 1)
        finally:
            self._queue.finish(place)

    async def _reconcile(self, cluster: str, key: str) -> None:
        """Reconcile a workload at a cluster, if the cluster answers."""
        target, worker = self._targets.target_at(key, cluster), self._fleet.workers.get(cluster)
        if target is None or cluster not in target.clusters:
            return
        if worker is None:
            if cluster in target.leaving and self._home.lacks_cluster(cluster):
                self._forget_copy(target, key, cluster)  # nothing tells of its end any more
            return
        leaves = cluster in target.leaving  # and not only since its copy was found to be gone
        shared = leaves and self._targets.is_shared(key, cluster)
        outcome = await self._carrier.reconcile(worker, key, target, shared=shared)
        if outcome.known:
            await self._publisher.publish_copy(cluster, key, outcome)
            if leaves and outcome.copy is None:
                self._forget_copy(target, key, cluster)
        if outcome.later:
            self._queue.add_after((cluster, key), LATER_S)

    def _forget_copy(self, target: Target, key: str, cluster: str) -> None:
        target.leaving.discard(cluster)
        self._publisher.forget_copy(cluster, key)
        self._targets.forget_idle(key)
