"""Read EVENTS in order, and queue orders; workers carry them out while the lease is held.

The actuator keeps nothing over a restart. It reads EVENTS from the first entry kept, and up to the
newest entry at its start it only learns; then it executes the orders without an observed effect.
What EVENTS no longer holds the scheduler orders again: observed is not wanted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass, replace
from functools import partial
from random import Random

from actuator.copies.copier import Copier
from actuator.events import Read, Subscriber, unfiltered
from actuator.ordering.apply import Applier
from actuator.ordering.orders import (
    MakeCopy,
    Order,
    OrderBook,
    OutstandingOrders,
    RemoveCopy,
    copy_creation_key,
)
from tidegate.bus.ports import EventFeed, Lease
from tidegate.contracts.codec import decode
from tidegate.contracts.decisions import DecisionEvent, QuotaReleased
from tidegate.contracts.entry import Published
from tidegate.contracts.facts import FactEvent, WorkloadFinished, WorkloadRemoved
from tidegate.errors import BusUnreachableError, UndecodableError
from tidegate.service.backoff import backoff_delays
from tidegate.service.lease import maintain_lease
from tidegate.service.logs import get_log

_POLL_S = 0.02
LOOKS_MAX = 5
"""How often entries that did not come are looked for: the stream may have lost them for good."""
_log = get_log("consume")


class Consumer:
    """Carries out the newest order of each job: one at a time for a job, many jobs at once."""

    def __init__(
        self,
        feed: EventFeed,
        applier: Applier,
        subscriber: Subscriber,
        random: Random,
        as_read: Read = unfiltered,
    ) -> None:
        """``as_read``: how this actuator reads an event; None: it is not for this cluster."""
        self.copier: Copier | None = None  # makes copies of other clusters' jobs
        self.subscriber, self._as_read = subscriber, as_read
        self._feed, self._applier = feed, replace(applier, ahead=self.is_ahead)
        self._random, self._metrics = random, applier.metrics
        self._book, self._outstanding = OrderBook(), OutstandingOrders()
        self._active = False
        self._ledger_id = ""
        self._former = set[str]()  # former ledgers with events still in EVENTS
        self._read = 0  # the newest seq read
        self._history = 0  # up to this seq entries are only folded
        self._looked = 0, 0  # after which seq entries are missing; how often they were looked for
        self._live = False
        self._metrics.waiting.set_function(lambda: self._book.waiting)

    @property
    def unread_history(self) -> str:
        """Return what is still to be read before work begins; empty: nothing."""
        return "" if self._live else f"history read to seq {self._read} of {self._history}"

    def wait_for_orders(self, *, urgent: bool) -> Awaitable[None] | None:
        """Return a wait while jobs are not yet as ordered; what is urgent takes turns with orders.

        None: there is nothing to wait for.
        """
        return self._book.wait_for_turn() if urgent else self._book.wait_until_idle()

    def activate(self, active: bool) -> None:  # noqa: FBT001 - as the lease calls it
        """Begin to carry out orders, at first all that are outstanding; or stop doing so."""
        self._active = active
        self._metrics.active.set(active)
        self._book.clear()
        self._start_or_stop()

    async def drain(self) -> None:
        """Take no further order, and return once those begun came to the end of a step."""
        self.activate(False)  # noqa: FBT003 - a state
        while self._book.executing:  # noqa: ASYNC110 - the caller sets the bound
            await asyncio.sleep(_POLL_S)

    async def read_events(self) -> None:
        """Follow EVENTS for ever."""
        waits = backoff_delays(self._random, first_s=0.2, most_s=10.0)
        while True:
            try:
                await self._follow_feed()
            except BusUnreachableError as error:
                _log.warning("cannot read EVENTS", error=str(error))
                await asyncio.sleep(next(waits))

    async def run_worker(self) -> None:
        """Carry out one order after another for ever; the number of workers is the concurrency."""
        while True:
            order = await self._book.next_order()
            try:
                await self._execute(order)
            except Exception as error:  # noqa: BLE001 - of one object: the others go on
                await self._applier.report_crash(order, error)
            finally:
                self._book.finish(order)
                self.subscriber.on_orders_done(order.order.workload)

    async def _execute(self, order: Order) -> None:
        superseded = partial(self._book.superseded, order)
        if not isinstance(order, MakeCopy | RemoveCopy):
            await self._applier.carry_out(order, superseded)
        elif self.copier is not None:
            await self.copier.carry_out(order, superseded)

    async def _follow_feed(self) -> None:
        ledger_id, newest = await self._feed.newest()
        if newest and ledger_id != self._ledger_id:
            self._reset(ledger_id)
        self._history = newest if self._history == 0 else self._history
        self._await_history_end()
        async for published in self._feed.follow(self._read):
            if published.ledger_id != self._ledger_id:
                if await self._is_former_ledger(published.ledger_id):
                    continue
                return  # another ledger: its events so far are only folded
            if published.seq <= self._read:
                continue  # EVENTS was filled again
            if self._is_after_gap(published):
                return  # it is read again from there, and taken as it is if that does not help
            self._apply_message(published)

    async def _is_former_ledger(self, ledger_id: str) -> bool:
        """Return whether a ledger ended before ours, though EVENTS still has its events."""
        if ledger_id not in self._former and (await self._feed.newest())[0] == self._ledger_id:
            self._former.add(ledger_id)
        return ledger_id in self._former

    def _is_after_gap(self, message: Published) -> bool:
        """Return whether entries before this one did not come, and are to be looked for."""
        if message.seq <= self._read + 1 or self._read == 0:
            return False
        behind, looks = self._looked
        self._looked = self._read, 1 if behind != self._read else looks + 1
        return self._looked[1] <= LOOKS_MAX

    def _apply_message(self, message: Published) -> None:
        self._read = message.seq
        self._metrics.seq.set(message.seq)
        try:
            event = self._as_read(decode(message.payload))
        except UndecodableError as error:
            # A newer scheduler writes events that this actuator does not know: readers roll first.
            _log.warning("entry not understood", seq=message.seq, error=str(error))
            return
        if event is not None:
            self._apply_event(message, event)
        self._await_history_end()

    def _apply_event(self, message: Published, event: FactEvent | DecisionEvent) -> None:
        self._notify_subscribers(message, event)
        order = self._note_order(message, event)
        if isinstance(event, WorkloadRemoved | WorkloadFinished):
            self._book.withdraw(event.uid)
        if isinstance(event, QuotaReleased):
            self._book.withdraw(copy_creation_key(event.uid))
        if order is not None and self._live and self._active:
            self._book.put(order)

    def _notify_subscribers(self, message: Published, event: FactEvent | DecisionEvent) -> None:
        try:
            self.subscriber.on_event(message, event, live=self._live)
        except Exception:  # noqa: BLE001 - of one object: the others go on
            self._skip_undecodable(message)

    def _note_order(self, message: Published, event: FactEvent | DecisionEvent) -> Order | None:
        try:
            return self._outstanding.apply_event(message, event)
        except Exception:  # noqa: BLE001 - of one object: the others go on
            self._skip_undecodable(message)
            return None

    def _skip_undecodable(self, message: Published) -> None:
        """Note an entry that this actuator cannot decode: it stays in EVENTS for ever."""
        self._metrics.passed_over.inc()
        _log.exception("entry passed over", seq=message.seq, subject=message.subject)

    async def is_ahead(self, seq: int) -> bool:
        """See ``actuator.ordering.job_objects.IsAhead``."""
        if seq <= self._read:
            return False
        try:
            return seq <= (await self._feed.newest())[1]
        except BusUnreachableError:
            return True  # unknown

    def _await_history_end(self) -> None:
        if not self._live and self._read >= self._history:
            self._live = True
            _log.info("history learnt", seq=self._read)
            self._start_or_stop()

    def _start_or_stop(self) -> None:
        """Begin to act or stop: the lease, or the end of history, was reached or lost."""
        acts = self._live and self._active
        self.subscriber.set_active(acts)
        for order in self._outstanding if acts else ():
            self._book.put(order)

    def _reset(self, ledger_id: str) -> None:
        self._ledger_id, self._read, self._history, self._live = ledger_id, 0, 0, False
        self._former.discard(ledger_id)
        self._outstanding.clear()
        self._book.clear()
        self.subscriber.reset()
        self.subscriber.set_active(False)


@dataclass(frozen=True, slots=True)
class Session:
    """What one actuator consists of."""

    consumer: Consumer
    lease: Lease
    lease_s: float
    workers: int

    async def run(self) -> None:
        """Work until cancelled; the lease is released at the end."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(maintain_lease(self.lease, self.lease_s, self.consumer.activate))
            tasks.create_task(self.consumer.read_events())
            tasks.create_task(self.consumer.subscriber.run())
            for _ in range(self.workers):
                tasks.create_task(self.consumer.run_worker())
