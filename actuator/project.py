"""Project the ledger into Kubernetes: Workload objects, queue statuses and Kubernetes Events.

Only changed objects are written, each once for many changes. Gained or lost quota is written
first, for others act on that, and a Workload made directly at once, for its status is its start.
Everything else is off the critical path, within an allowed rate. What cannot be written is tried
again a few times and then left until it changes again: nothing depends on it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from functools import partial
from random import Random

from actuator.calls import Calls, is_conflict
from actuator.metrics import Metrics
from actuator.projection.k8s_events import event_object, event_texts
from actuator.projection.read_model import ReadModel
from actuator.projection.workload_view import keeps_pods
from actuator.projection.write_scope import FirstRounds
from actuator.workqueue import Due, Pace, Place, Rate, Workqueue, YieldsTo, is_urgent, no_priority
from actuator.writing.differences import Comparison, OnChange, ProjectionWatch
from actuator.writing.event_recorder import EventRecorder
from actuator.writing.removal import workload_path
from actuator.writing.write import Writer
from tidegate.contracts.decisions import DecisionEvent, StartOrdered, StopOrdered
from tidegate.contracts.entry import Published
from tidegate.contracts.facts import FactEvent, WorkloadFinished, WorkloadRemoved
from tidegate.errors import ApiStatusError, ApiUnreachableError
from tidegate.jobs.kind import Object, Stop
from tidegate.model.clusters import cluster_of
from tidegate.service.backoff import backoff_delays
from tidegate.service.logs import get_log

TRIES_MAX = 8
LOOKS_AGAIN_S = 60.0
"""How long what could not be shown is left, unless it changes: the cluster may be mended then."""
CONFLICTS_MAX = 3
_log = get_log("project")


class Projector:
    """Learns from the ledger and writes what it shows; see ``actuator.events.Subscriber``."""

    def __init__(  # noqa: PLR0913 - ports, and what was configured
        self,
        calls: Calls,
        random: Random,
        metrics: Metrics,
        rate: Rate,
        label_keys: Sequence[str] = (),
        *,
        partition: int = 0,
    ) -> None:
        """``label_keys`` are of labels that a Workload takes over from its job."""
        self._calls = calls.gated_by(lambda: self._working)
        self._random, self._metrics = random, metrics
        self._rate, self._pace = rate, Pace(1 / rate.writes_per_s)
        self._workqueue = Workqueue()
        self._recorder = EventRecorder(metrics, random, self._pace)
        self.say = self._recorder.record
        self.read_model = ReadModel(partition)
        self._label_keys = label_keys
        self._writer = Writer(self._calls, self.read_model, metrics.kueue, label_keys)
        self._first = 0  # the first seq learnt; 0: none yet; above 1: EVENTS lost its beginning
        self._rounds = FirstRounds()
        self._ordered = set[str]()  # Workloads made directly that the applier is about to write
        self._working = False
        self._watched = False  # whatever is deleted from now on is noticed
        self._compared = False
        self._stints = 0  # how often it began to work or stopped: what was compared before is void
        self._looks = 0  # how often what came before was not known: it is compared again
        self._changed = asyncio.Event()
        self.gives_way: YieldsTo = no_priority
        metrics.showing.set_function(lambda: len(self._workqueue))

    def on_event(self, message: Published, event: FactEvent | DecisionEvent, *, live: bool) -> None:
        """See ``Subscriber.on_event``."""
        if not self._first:
            self._first, self.read_model.fills_in = message.seq, message.seq > 1
            self._compared = self._compared and message.seq == 1
            self._changed.set()
        if self._rounds.apply_event(event, whole=self._first == 1):
            self._wake_workers()
        self.read_model.apply_event(event, f"{message.ledger_id}/{message.seq}")
        changed, acts = self.read_model.take_changed(), live and self._working
        self._recorder.apply_event(event, message.seq, now=acts)
        if acts:
            self._track_order(event)
            view = self.read_model.workloads.get(getattr(event, "workload", ""))
            self._enqueue(changed, now=is_urgent(event, view))
            self._record_events(event, message.seq)

    def on_orders_done(self, workload: str) -> None:
        """See ``Subscriber.on_orders_done``: two writes at once would only meet."""
        if workload in self._ordered:
            self._ordered.discard(workload)
            self._enqueue([("Workload", workload)], now=True)

    def with_order_status(self, workload: str, obj: Object, patch: Object) -> Object:
        """See ``actuator.ordering.apply.StatusPatcher``."""
        return self._writer.order_status_patch(workload, obj, patch)

    def keeps_pods(self, stop: Stop) -> bool:
        """See ``actuator.ordering.job_objects.KeepsPods``."""
        return keeps_pods(self.read_model.workloads.get(stop.order.workload), stop.order.job)

    def reset(self) -> None:
        """See ``Subscriber.reset``."""
        self.read_model = ReadModel(self.read_model.territory.number)
        kueue = self._metrics.kueue
        self._writer = Writer(self._calls, self.read_model, kueue, self._label_keys)
        self._first, self._rounds = 0, FirstRounds()
        self._clear()
        self._recorder.forget_refusals()

    def set_active(self, working: bool) -> None:  # noqa: FBT001 - see the protocol
        """See ``Subscriber.set_active``: all is compared again, as the cluster may differ."""
        self._working, self._compared, self._stints = working, False, self._stints + 1
        self._clear()
        if working:
            self._recorder.repeat_refusals()
        self._wake_workers()

    async def run(self) -> None:
        """Write for ever."""
        async with asyncio.TaskGroup() as tasks:
            for _ in range(self._rate.urgent):
                tasks.create_task(self._run_worker(urgent=True))
            for _ in range(self._rate.workers):
                tasks.create_task(self._run_worker(urgent=False))
            tasks.create_task(self._recorder.run(lambda: self._writer))
            tasks.create_task(self._compare_when_due())
            tasks.create_task(self._watch_cluster())

    async def _watch_cluster(self) -> None:
        while not self._working:
            self._changed.clear()
            await self._changed.wait()
        noticed = OnChange(self._on_watch_begun, self._on_workload_deleted, self._on_object_changed)
        await ProjectionWatch(self._calls, self._random, noticed).run()

    def _on_watch_begun(self) -> None:
        self._watched, self._compared, self._looks = True, False, self._looks + 1
        self._wake_workers()

    def _on_object_changed(self, place: Place) -> None:
        self._enqueue([place] if self._working else [])

    def _on_workload_deleted(self, key: str, uid: str) -> None:
        view = self.read_model.workloads.get(key)
        if view is None or view.direct or view.phase == "finished" or not self._working:
            return
        if uid == view.object_uid:  # else it was a namesake of old
            self._calls.forget_write(workload_path(key))
            self._enqueue([("Workload", key)])

    async def _compare_when_due(self) -> None:
        waits = backoff_delays(self._random, first_s=0.5, most_s=30.0)
        while True:
            if self._working and self._watched and not self._compared:
                try:
                    await self._enqueue_differing()
                except (ApiUnreachableError, ApiStatusError) as error:
                    _log.warning("cannot compare what is shown", error=str(error))
                    await asyncio.sleep(next(waits))
                    continue
                waits = backoff_delays(self._random, first_s=0.5, most_s=30.0)
                continue  # perhaps another ledger began meanwhile
            self._changed.clear()
            await self._changed.wait()

    async def _enqueue_differing(self) -> None:
        """Find objects that differ from the read model; nothing is written before."""
        stint, looks = self._stints, self._looks
        differing = await Comparison(self._calls, self.read_model, self._writer).differing()
        if stint == self._stints:
            self._compared = self._working and looks == self._looks
            self._wake_workers()  # what is urgent comes first
            self._enqueue(differing)

    def _wake_workers(self) -> None:
        """Wake all workers, so that they look for work."""
        self._changed.set()
        self._workqueue.wake()

    async def _run_worker(self, *, urgent: bool) -> None:
        waits = backoff_delays(self._random, first_s=0.5, most_s=10.0)
        while True:
            due = await self._next_due(urgent=urgent)
            await self._write_due(due)
            since_s, took_s = asyncio.get_running_loop().time(), 0.0
            finish = self._workqueue.finish
            try:
                await self._write_place(due.place, again=due.tries > 0)
                took_s = asyncio.get_running_loop().time() - since_s
                waits = backoff_delays(self._random, first_s=0.5, most_s=10.0)
                finish = self._workqueue.finish_written
            except (ApiUnreachableError, ApiStatusError) as error:
                self._recorder.record_refused_status(due.place, self.read_model, error)
                if self._requeue_after(due, error) and not (
                    due.tries < CONFLICTS_MAX and is_conflict(error)
                ):
                    await asyncio.sleep(next(waits))
            except Exception as error:  # noqa: BLE001 - of one object: the others go on
                self._give_up(due, error)
            finally:
                finish(due.place)
            if not due.urgent:  # the place is free: what comes now does not wait for that
                await self._pace.pause_after(took_s)

    async def _next_due(self, *, urgent: bool) -> Due:
        """Return the next object to write that is not being written."""
        take = self._workqueue.pop_urgent if urgent else self._workqueue.pop_normal
        while True:
            ready = self._working and self._compared and self._rounds.complete
            if ready and (due := take()) is not None:
                return due
            await self._workqueue.wait(urgent=urgent)

    async def _write_due(self, due: Due) -> None:
        view = self.read_model.workloads.get(due.place[1])
        if due.urgent and view is not None and view.direct:
            return  # its status is its start
        await self._pace.wait_behind(self.gives_way, urgent=due.urgent)

    async def _write_place(self, place: Place, *, again: bool) -> None:
        kind, key = place
        match kind:
            case "Workload":
                if key in self._ordered:
                    return  # until the order is carried out
                await self._writer.write_workload(key, again=again)
                view = self.read_model.workloads.get(key)
                self._recorder.release_events_of(key, "" if view is None else view.object_uid)
            case "Orphan":
                await self._writer.removal.finish_orphan(key)
            case "Shares":
                self.read_model.mark_moved()
                self._enqueue(self.read_model.take_changed())
                return
            case _:
                await self._writer.write_queue_status(kind, key)
        self._metrics.projected.labels(kind, "written").inc()

    def _requeue_after(self, due: Due, error: ApiUnreachableError | ApiStatusError) -> bool:
        """Return whether a write that failed is tried again at once; else it is after a while.

        People and controllers act on what is shown: that a check is asked for, that a workload was
        deactivated. So nothing is given up for good.
        """
        if due.tries + 1 < TRIES_MAX:
            self._workqueue.add(due.place, now=due.urgent, tries=due.tries + 1)
            self._metrics.projected.labels(due.place[0], "tried again").inc()
            return True
        self._give_up(due, error)
        return False

    def _give_up(self, due: Due, error: Exception) -> None:
        kind, key = due.place
        self._recorder.drop_events_of(due.place)
        asyncio.get_running_loop().call_later(LOOKS_AGAIN_S, self._enqueue, [due.place])
        self._metrics.projected.labels(kind, "given up").inc()
        cause = None if isinstance(error, ApiUnreachableError | ApiStatusError) else error
        _log.warning("cannot show", kind=kind, name=key, error=str(error), exc_info=cause)

    def _enqueue(self, places: Iterable[Place], *, now: bool = False) -> None:
        # Of those woken the first writes first.
        own_places = (place for place in places if not cluster_of(place[1]))
        for place in sorted(own_places, key=lambda place: place[0] != "Workload"):
            urgent = now and place[0] == "Workload" and place[1] not in self._ordered
            self._workqueue.add(place, now=urgent)

    def _clear(self) -> None:
        self._workqueue.clear()
        self._recorder.clear()
        self._ordered.clear()

    def _track_order(self, event: FactEvent | DecisionEvent) -> None:
        """Leave a Workload to the applier while it has an order for it."""
        match event:
            case StartOrdered() | StopOrdered():
                view = self.read_model.workloads.get(event.workload)
                if view is not None and view.direct:
                    self._ordered.add(event.workload)
            case WorkloadFinished() | WorkloadRemoved():
                self._ordered.discard(event.workload)
            case _:
                pass

    def _record_events(self, event: FactEvent | DecisionEvent, seq: int) -> None:
        for text in event_texts(event):
            about = text.workload or getattr(event, "workload", "")
            view = self.read_model.workloads.get(about)
            if view is not None and not cluster_of(about):
                self._workqueue.add(("Workload", about))
                make_event = partial(event_object, text, view, seq, event.at_us)
                self._recorder.queue_for_workload(about, make_event)
