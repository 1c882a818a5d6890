"""Objects with a queue name whose kind is not enabled: each gets one Event.

They run at once and no quota counts them. Of kinds that are not enabled nothing else is looked at,
and of an object nothing but its metadata is kept.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterator
from hashlib import blake2b
from http import HTTPStatus
from random import Random

import msgspec

from actuator.calls import Calls
from actuator.informer import Informer, Source
from actuator.projection.k8s_events import event_about
from actuator.workqueue import Pace
from tidegate.contracts.decisions import DecisionEvent
from tidegate.contracts.entry import Published
from tidegate.contracts.facts import FactEvent
from tidegate.errors import ApiStatusError, ApiUnreachableError
from tidegate.jobs.kind import Object
from tidegate.kinds.meta import ObjectMeta
from tidegate.kinds.names import QUEUE_NAME
from tidegate.kinds.policies.disabled import QueuedKind
from tidegate.service.backoff import backoff_delays
from tidegate.service.logs import get_log

REASON = "QueuedNotManaged"
"""As ``tidegate doctor`` calls it."""
WAITING_MAX = 1_000
"""Objects that wait for their Event; of more, the oldest get none."""
REPORTED_MAX = 10_000
"""Objects with an Event; of a forgotten one the Event exists, if it has not expired."""
ASKS_AGAIN_S = 60.0
"""How often a kind that is not served, or may not be looked at, is asked for again."""
_EVENTS_PER_S = 10.0
_log = get_log("unqueued")


class Queued(msgspec.Struct, frozen=True):
    """An object of any kind."""

    metadata: ObjectMeta = ObjectMeta()


class UnqueuedKinds:
    """See ``actuator.events.Subscriber``: of the ledger it learns nothing but whether to work."""

    def __init__(
        self,
        calls: Calls,
        random: Random,
        now_us: Callable[[], int],
        kinds: tuple[QueuedKind, ...],
    ) -> None:
        """``kinds`` are known and not enabled."""
        self._working = False
        self._calls = calls.gated_by(lambda: self._working)
        self._random, self._now_us = random, now_us
        self._pace = Pace(1 / _EVENTS_PER_S)
        self._waiting = OrderedDict[str, Object]()  # by uid
        self._reported = OrderedDict[str, None]()  # uids
        self._changed = asyncio.Event()
        self._informers = [Informer(self._source(kind), calls, random) for kind in kinds]

    def on_event(self, message: Published, event: FactEvent | DecisionEvent, *, live: bool) -> None:
        """Take no notice."""

    def on_orders_done(self, workload: str) -> None:
        """Take no notice."""

    def reset(self) -> None:
        """Have nothing to forget."""

    def set_active(self, working: bool) -> None:  # noqa: FBT001 - see the protocol
        """See ``Subscriber.set_active``."""
        self._working = working
        self._changed.set()

    async def run(self) -> None:
        """Watch these kinds, and create Events, for ever."""
        async with asyncio.TaskGroup() as tasks:
            for informer in self._informers:
                tasks.create_task(informer.run())
            tasks.create_task(self._create_events())

    def _source(self, kind: QueuedKind) -> Source[Queued]:
        def changed(old: Queued | None, new: Queued | None) -> None:
            if new is None:
                assert old is not None, "something changed"
                self._waiting.pop(old.metadata.uid, None)
            else:
                self._on_object(kind, new.metadata)

        return Source(
            kind.path,
            Queued,
            changed,
            lambda: None,
            wanted=lambda obj: obj.metadata.controller() is None,  # else its owner gets one
            selected={"labelSelector": QUEUE_NAME},
            asks_again_s=ASKS_AGAIN_S,
        )

    def _on_object(self, kind: QueuedKind, meta: ObjectMeta) -> None:
        if meta.uid in self._reported:
            return
        self._waiting.setdefault(meta.uid, _event(kind, meta, self._now_us()))
        if len(self._waiting) > WAITING_MAX:
            self._waiting.popitem(last=False)
        self._changed.set()

    async def _create_events(self) -> None:
        waits = self._waits()
        while True:
            while not (self._working and self._waiting):
                self._changed.clear()
                await self._changed.wait()
            await self._pace.wait_for_rate()
            uid, event = next(iter(self._waiting.items()), ("", None))
            if event is None:
                continue  # it is gone
            try:
                await self._calls.create_blind(_path(event), event)
            except ApiUnreachableError:
                await asyncio.sleep(next(waits))
                continue
            except ApiStatusError as error:
                if error.status != HTTPStatus.CONFLICT:
                    _log.warning(
                        "cannot create an event", name=event["metadata"]["name"], error=str(error)
                    )
            waits = self._waits()
            self._remember(uid)

    def _remember(self, uid: str) -> None:
        self._waiting.pop(uid, None)
        self._reported[uid] = None
        if len(self._reported) > REPORTED_MAX:
            self._reported.popitem(last=False)

    def _waits(self) -> Iterator[float]:
        return backoff_delays(self._random, first_s=0.5, most_s=30.0)


def _event(kind: QueuedKind, meta: ObjectMeta, at_us: int) -> Object:
    regarding = {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "namespace": meta.namespace,
        "name": meta.name,
        "uid": meta.uid,
    }
    message = (
        f"The object names queue {meta.labels.get(QUEUE_NAME, '')}, but {kind.kind} "
        "is not enabled in"
        " integrations.frameworks or not supported: it runs at once and is not charged."
    )
    end = f"{blake2b(meta.uid.encode(), digest_size=6).hexdigest()}.q"
    return event_about(regarding, end, at_us, ("Warning", REASON, message))


def _path(event: Object) -> str:
    return f"/api/v1/namespaces/{event['metadata']['namespace']}/events"
