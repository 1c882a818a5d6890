"""Observations to the bus: each told once, in order, and only if it is news for its object."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from random import Random
from typing import NamedTuple, cast

import msgspec

from ingest.metrics import Metrics
from tidegate.bus.ports import ObservationPublisher
from tidegate.contracts.codec import encode
from tidegate.contracts.messages.subjects import observed
from tidegate.contracts.messages.trace import publishing
from tidegate.contracts.observations import (
    Heartbeat,
    JobObserved,
    ObjectGone,
    ObjectRefused,
    Observation,
    Observed,
    SyncCompleted,
    SyncStarted,
)
from tidegate.errors import BusUnreachableError, TooLargeError
from tidegate.service.backoff import delays
from tidegate.service.tracing import OFF, Tracing, spanned

HEARTBEATS = "heartbeats"
"""Stands where an object's resource stands in the subject of a heartbeat."""
JOB_BYTES_MAX = 256 * 1_024
"""The most that is told of one job: a ledger keeps each change of it for ever."""
ERROR_MAX = 1_024
_DIGEST_BYTES = 16


class _Last(NamedTuple):
    """What was told last of an object."""

    drawn: int  # when it was reduced to that, as ``Publisher.draw`` counts
    digest: bytes  # empty: nobody knows whether it arrived, or it is to be told again


class Publisher:
    """One session's voice; it remembers what it told last of each object."""

    def __init__(  # noqa: PLR0913 - what a session consists of
        self,
        outlet: ObservationPublisher,
        *,
        cluster: str,
        session: str,
        random: Random,
        metrics: Metrics,
        tracing: Tracing = OFF,
    ) -> None:
        self.session = session
        self._outlet = outlet
        self._cluster = cluster
        self._random = random
        self._metrics = metrics
        self._tracing = tracing
        self._sent = 0  # the counter in message ids: a retry of one publish keeps its number
        self._drawn = 0
        self._told = dict[tuple[str, str], _Last]()  # by resource and uid

    def forget_told(self) -> None:
        """Tell everything again from here on, as a resync asks."""
        self._told = {key: last._replace(digest=b"") for key, last in self._told.items()}

    def draw(self) -> int:
        """Return the number of a moment: what was reduced now is newer than what was before."""
        self._drawn += 1
        return self._drawn

    async def tell(
        self,
        resource: str,
        found: Observed,
        *,
        round: int = 0,  # noqa: A002 - architecture's word
        drawn: int = 0,
    ) -> None:
        """Tell of one object, unless it equals what was told of it last.

        Its version, round and session do not count as news. Waits while the stream is full. Calls
        made at the same time are stored in the order of the calls. ``drawn`` is when the object was
        reduced, 0: now; who tells several at once tells some of them later, and what another event
        has changed meanwhile was told as it is: the older is dropped then, also between retries.
        """
        key, digest = (resource, found.uid), _digest(found)
        drawn = drawn or self.draw()
        last = self._told.get(key)
        if last is not None and (last.drawn > drawn or last.digest == digest):
            self._metrics.observations.labels(resource, "suppressed").inc()
            return
        payload = self._encoded(resource, found, round)
        mine = self._told[key] = _Last(drawn, digest)
        subject = observed(self._cluster, resource, found.namespace, found.name)

        def stands() -> bool:
            return self._told.get(key, mine).drawn == drawn

        try:
            # A list tells of every job there is: only what a watch tells is worth a span.
            if isinstance(found, JobObserved) and self._tracing.on and not round:
                await self._send_traced(found, subject, payload, stands)
            else:
                await self._send(subject, payload, stands)
        except BaseException:
            # Cancelled or failed halfway: nobody knows if it arrived, so the next is told.
            if stands():
                self._told[key] = mine._replace(digest=b"")
            raise
        if isinstance(found, ObjectGone):
            self._told.pop(key, None)
        self._metrics.observations.labels(resource, "published").inc()

    async def say(self, resource: str, message: SyncStarted | SyncCompleted | Heartbeat) -> None:
        """Tell of a list or of the time."""
        await self._send(observed(self._cluster, resource, "", ""), encode(message))

    def _encoded(self, resource: str, found: Observed, round: int) -> bytes:  # noqa: A002 - see tell
        told = msgspec.structs.replace(found, session=self.session, round=round)
        try:
            return _fitting(told)
        except TooLargeError as error:
            self._metrics.observations.labels(resource, "refused").inc()
            why = str(error)
            return encode(refused(resource, told, why, _unread(told, why)))

    async def _send_traced(
        self, found: JobObserved, subject: str, payload: bytes, stands: Callable[[], bool]
    ) -> None:
        about = {"tidegate.workload": found.workload, "tidegate.job": found.name}
        with spanned(self._tracing, f"observe {found.kind}", found.uid, "", about) as span:
            token = publishing.set(span.context)
            try:
                await self._send(subject, payload, stands)
            finally:
                publishing.reset(token)

    async def _send(
        self, subject: str, payload: bytes, stands: Callable[[], bool] = lambda: True
    ) -> None:
        """Publish until that succeeds, or until ``stands`` says that it is outdated."""
        self._sent += 1
        message_id = f"{self.session}:{self._sent}"
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        for wait_s in delays(self._random, first_s=0.2, most_s=5.0):
            try:
                await self._outlet.publish(subject, payload, message_id)
            except BusUnreachableError:
                self._metrics.publish_retries.inc()
                await asyncio.sleep(wait_s)
                if not stands():
                    return
            else:
                self._metrics.publish_seconds.observe(loop.time() - began_s)
                return


def _fitting(told: Observed) -> bytes:
    payload = encode(cast("Observation", told))
    if isinstance(told, JobObserved) and len(payload) > JOB_BYTES_MAX:
        raise TooLargeError(f"at most {JOB_BYTES_MAX} bytes", len(payload))
    return payload


def refused(
    resource: str, found: Observed, error: str, job: JobObserved | None = None
) -> ObjectRefused:
    """Return what is told of an object that cannot be read or is too large."""
    return ObjectRefused(
        namespace=found.namespace,
        name=found.name,
        uid=found.uid,
        version=found.version,
        session=found.session,
        round=found.round,
        resource=resource,
        error=error[:ERROR_MAX],
        job=job,
    )


def _unread(found: Observed, error: str) -> JobObserved | None:
    """Return of a job that is too large who it is and how it stands; None of what is no job."""
    if not isinstance(found, JobObserved) or not found.queue:
        return None
    return JobObserved(
        namespace=found.namespace,
        name=found.name,
        uid=found.uid,
        version=found.version,
        session=found.session,
        round=found.round,
        kind=found.kind,
        workload=found.workload,
        message=error,
        stray="Unreadable",
        state=found.state,
    )


def _digest(found: Observed) -> bytes:
    plain = msgspec.structs.replace(found, version=0, session="", round=0)
    return hashlib.blake2b(msgspec.json.encode(plain), digest_size=_DIGEST_BYTES).digest()
