"""Publishes observations to the bus: each once, in order, and only if its object changed."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from random import Random
from typing import NamedTuple, cast

import msgspec

from ingest.definitions import refusal_of
from ingest.jobs.placed import PlacedJobs
from ingest.metrics import Metrics
from tidegate.bus.ports import ObservationPublisher
from tidegate.contracts.codec import encode
from tidegate.contracts.observations import (
    Heartbeat,
    JobObserved,
    ObjectGone,
    Observation,
    Observed,
    SyncCompleted,
    SyncStarted,
)
from tidegate.contracts.subjects import observed_subject, publishing
from tidegate.errors import BusUnreachableError, TooLargeError
from tidegate.service.backoff import backoff_delays
from tidegate.service.tracing import OFF, Tracing, traced_span

HEARTBEATS = "heartbeats"
"""Stands where an object's resource stands in the subject of a heartbeat."""
JOB_BYTES_MAX = 256 * 1_024
"""Characters of one job's observation at most: a ledger keeps each change for ever."""
GONE_MAX = 4_096
_DIGEST_BYTES = 16


class _LastPublished(NamedTuple):
    """The last published observation of an object."""

    drawn: int  # when it was reduced to that, as ``Publisher.next_moment`` counts
    digest: bytes  # empty: delivery is unknown, or it is to be published again
    provisional: bool = False  # published outside of its resource's lists and watch alone
    round: int = 0  # of the list that published it; 0: no list did


class Publisher:
    """The publisher of one session; remembers the last observation of each object."""

    def __init__(  # noqa: PLR0913 - what a session consists of
        self,
        port: ObservationPublisher,
        *,
        cluster: str,
        session: str,
        random: Random,
        metrics: Metrics,
        tracing: Tracing = OFF,
        cluster_uid: str = "",
        placed: PlacedJobs | None = None,
    ) -> None:
        self.session = session
        self._placed = placed
        self._cluster_uid = cluster_uid  # of the Namespace kube-system; empty: not known
        self._port = port
        self._cluster = cluster
        self._random = random
        self._metrics = metrics
        self._tracing = tracing
        self._sent = 0  # the counter in message ids: a retry of one publish keeps its number
        self._drawn = 0
        self._published = dict[tuple[str, str], _LastPublished]()  # by resource and uid
        self._begun, self._completed = dict[str, int](), dict[str, int]()  # lists by resource
        self.gone = dict[tuple[str, str], int]()
        """When objects were reduced to nothing, the last ``GONE_MAX`` of them."""

    def forget_published(self) -> None:
        """Publish everything again from here on, for a resync."""
        self._published = {key: last._replace(digest=b"") for key, last in self._published.items()}

    def next_moment(self) -> int:
        """Return the number of a moment: what was reduced now is newer than what was before."""
        self._drawn += 1
        return self._drawn

    async def publish_object(
        self,
        resource: str,
        observation: Observed,
        *,
        round: int = 0,  # noqa: A002 - architecture's word
        drawn: int = 0,
        indirect: bool = False,
    ) -> None:
        """Publish one object's observation, unless it equals the last one.

        Its version, round and session do not count as news. Waits while the stream is full. Calls
        made at the same time are stored in the order of the calls. ``drawn`` is when the object was
        reduced, 0: now; of several at once some are published later, and if another event has
        published a newer one meanwhile, the older is dropped, also between retries.

        ``indirect``: because another resource's object changed. Then the object may be older than
        a list that was completed, and the scheduler takes it for removed unless it knows it: so an
        object that was first published this way is published again by its resource's own list. So
        is an object of a list that broke off: an incomplete list proves nothing.
        """
        drawn = drawn or self.next_moment()
        if self._placed is not None and isinstance(observation, JobObserved):
            observation = await self._with_body(observation)
        key, digest = (resource, observation.uid), _digest(observation)
        last = self._published.get(key)
        if self._is_superseded(key, drawn) or (
            last is not None
            and last.digest == digest
            and not self._is_due_in_list(resource, last, round)
        ):
            self._metrics.observed(resource, "suppressed").inc()
            return
        payload = self._encoded(resource, observation, round)
        mine = self._published[key] = _LastPublished(
            drawn,
            digest,
            provisional=indirect and self._may_be_missing(resource, last),
            round=round or self._incomplete_list(resource, last),
        )
        subject = observed_subject(self._cluster, resource, observation.namespace, observation.name)

        def is_current() -> bool:
            newest = self._published.get(key)
            return self.gone.get(key, 0) <= drawn and (newest is None or newest.drawn == drawn)

        try:
            # A list has every job: only a watch event gets a span.
            if isinstance(observation, JobObserved) and self._tracing.on and not round:
                await self._send_traced(observation, subject, payload, is_current)
            else:
                await self._send(subject, payload, is_current)
        except BaseException:
            # Cancelled or failed halfway: unknown if it arrived, so the next is published.
            if is_current():
                self._published[key] = mine._replace(digest=b"")
            raise
        if isinstance(observation, ObjectGone):
            self._published.pop(key, None)
            self._note_deletion(key, drawn)
        self._metrics.observed(resource, "published").inc()

    async def _with_body(self, observation: JobObserved) -> JobObserved:
        """Return a job's observation with the digest of its body, which was stored before."""
        assert self._placed is not None, "jobs that may be placed are watched"
        observation = self._placed.with_body_digest(observation)
        if observation.body:
            await self._placed.stored.store(observation.body)
        return observation

    def _is_due_in_list(self, resource: str, last: _LastPublished, round: int) -> bool:  # noqa: A002 - see tell
        """Return whether a list has to tell what was published last once more."""
        return bool(round) and (
            last.provisional or self._incomplete_list(resource, last) not in {0, round}
        )

    def _may_be_missing(self, resource: str, last: _LastPublished | None) -> bool:
        """Return whether the scheduler may pass over what no list tells.

        While one is read it may, whatever was published before: versions may be those of a backup.
        """
        listing = self._begun.get(resource, 0) > self._completed.get(resource, 0)
        return listing or last is None or last.provisional or not last.digest

    def _incomplete_list(self, resource: str, last: _LastPublished | None) -> int:
        """Return the incomplete list that published an object last; 0: none."""
        number = 0 if last is None else last.round
        return number if number > self._completed.get(resource, 0) else 0

    def _is_superseded(self, key: tuple[str, str], drawn: int) -> bool:
        """Return whether what was reduced at ``drawn`` is older than what was published."""
        last = self._published.get(key)
        return self.gone.get(key, 0) > drawn or (last is not None and last.drawn > drawn)

    def _note_deletion(self, key: tuple[str, str], drawn: int) -> None:
        """Remember for a while since when an object is gone: an older event may be underway."""
        self.gone.pop(key, None)
        self.gone[key] = drawn
        if len(self.gone) > GONE_MAX:
            del self.gone[next(iter(self.gone))]

    async def publish_message(
        self, resource: str, message: SyncStarted | SyncCompleted | Heartbeat
    ) -> None:
        """Publish a list bracket or the time; a list begins with which cluster it is of."""
        if isinstance(message, SyncStarted):
            self._begun[resource] = message.round
            message = msgspec.structs.replace(message, cluster_uid=self._cluster_uid)
        await self._send(observed_subject(self._cluster, resource, "", ""), encode(message))
        if isinstance(message, SyncCompleted) and message.piece == message.pieces:
            self._completed[resource] = message.round

    async def drop_bodies(self) -> None:
        """Drop the bodies that no job has any more."""
        if self._placed is not None:
            await self._placed.stored.delete_unused()

    def _encoded(self, resource: str, observation: Observed, round: int) -> bytes:  # noqa: A002 - see tell
        stamped = msgspec.structs.replace(observation, session=self.session, round=round)
        try:
            return _encode_within_limit(stamped)
        except TooLargeError as error:
            self._metrics.observations.labels(resource, "refused").inc()
            why = str(error)
            return encode(refusal_of(resource, stamped, why, _oversized_job(stamped, why)))

    async def _send_traced(
        self, observation: JobObserved, subject: str, payload: bytes, is_current: Callable[[], bool]
    ) -> None:
        about = {"tidegate.workload": observation.workload, "tidegate.job": observation.name}
        with traced_span(
            self._tracing, f"observe {observation.kind}", observation.uid, "", about
        ) as span:
            token = publishing.set(span.context)
            try:
                await self._send(subject, payload, is_current)
            finally:
                publishing.reset(token)

    async def _send(
        self, subject: str, payload: bytes, is_current: Callable[[], bool] = lambda: True
    ) -> None:
        """Publish until that succeeds, or until ``is_current`` returns that it is outdated."""
        self._sent += 1
        message_id = f"{self.session}:{self._sent}"
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        for wait_s in backoff_delays(self._random, first_s=0.2, most_s=5.0):
            try:
                await self._port.publish(subject, payload, message_id)
            except BusUnreachableError:
                self._metrics.publish_retries.inc()
                await asyncio.sleep(wait_s)
                if not is_current():
                    return
            else:
                self._metrics.publish_seconds.observe(loop.time() - began_s)
                return


def _encode_within_limit(observation: Observed) -> bytes:
    payload = encode(cast("Observation", observation))
    if isinstance(observation, JobObserved) and len(payload) > JOB_BYTES_MAX:
        raise TooLargeError(f"at most {JOB_BYTES_MAX} bytes", len(payload))
    return payload


def _oversized_job(observation: Observed, error: str) -> JobObserved | None:
    """Return the identity and state of a job that is too large; None for other objects."""
    if not isinstance(observation, JobObserved) or not observation.queue:
        return None
    return JobObserved(
        namespace=observation.namespace,
        name=observation.name,
        uid=observation.uid,
        version=observation.version,
        session=observation.session,
        round=observation.round,
        kind=observation.kind,
        workload=observation.workload,
        message=error,
        stray="Unreadable",
        state=observation.state,
    )


def _digest(observation: Observed) -> bytes:
    plain = msgspec.structs.replace(observation, version=0, session="", round=0)
    return hashlib.blake2b(msgspec.json.encode(plain), digest_size=_DIGEST_BYTES).digest()
