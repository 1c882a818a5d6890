"""Bodies of jobs that may be placed: which are stored on the bus, and which go from there.

A body is stored before its digest is published, again with each list, and dropped when no job has
it any more. A body that cannot be dropped because the bus does not answer expires by its age.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from itertools import islice
from random import Random
from typing import NamedTuple

from tidegate.bus.ports import BodyWriter
from tidegate.contracts.subjects import NAMESPACE_BODIES_BYTES_MAX
from tidegate.errors import BusUnreachableError, OutOfSpaceError
from tidegate.jobs.placed.body import digest_of
from tidegate.service.backoff import backoff_delays
from tidegate.service.logs import get_log

TRIES, REST_S = 3, 30.0
DROPS_MAX = 256
"""The maximum of bodies that are dropped each second."""
OVERHEAD_BYTES = 256
"""The overhead of a stored body in bytes: its subject, and NATS' message header."""
_log = get_log("placed")


class _StoredBody(NamedTuple):
    """The body that a job has on the bus, or should have."""

    namespace: str
    digest: str
    size: int


class Bodies:
    """The stored bodies of one process's jobs, by uid."""

    def __init__(self, keeper: BodyWriter, random: Random) -> None:
        self._keeper, self._random = keeper, random
        self._held = dict[str, _StoredBody]()
        self._bytes = Counter[str]()  # by namespace
        self._jobs = Counter[str]()  # by digest: a job that is made anew may have the same
        self._unkept = dict[str, bytes]()  # by digest, until they are stored
        self._over = dict[str, None]()  # digests that no job has any more, until they are dropped
        self._rests_until = self._drops_rest_until = 0.0  # loop time

    def queue_body(self, uid: str, namespace: str, body: bytes, *, listed: bool, runs: bool) -> str:
        """Queue a job's body to be stored, unless it was stored, and return its digest.

        With each list a body is stored once more: the bus may have lost it. A job that ``runs``
        keeps its place, whatever the others of its namespace have.

        Raises:
            OutOfSpaceError: its namespace has too much there already; the job has nothing.
        """
        digest, size = digest_of(body), len(body) + OVERHEAD_BYTES
        before = self._held.get(uid)
        together = self._bytes[namespace] + size - (0 if before is None else before.size)
        if together > NAMESPACE_BODIES_BYTES_MAX and not runs:
            self.drop_body_of(uid)
            raise OutOfSpaceError(
                f"Bodies of placed jobs in namespace {namespace} may take "
                f"{NAMESPACE_BODIES_BYTES_MAX} bytes on the bus, and take "
                f"{self._bytes[namespace]}: the job waits for the end of others."
            )
        if listed or before is None or before.digest != digest:
            self._unkept[digest] = body
        self._add_reference(_StoredBody(namespace, digest, size), uid)
        return digest

    def queue_removal(self, uid: str, body: bytes) -> str:
        """Queue the body of a finished job to be dropped, and return its digest."""
        self.drop_body_of(uid)
        return digest_of(body)

    def drop_body_of(self, uid: str) -> None:
        """Queue the body of a deleted job to be dropped."""
        own = self._held.pop(uid, None)
        if own is None:
            return
        self._bytes[own.namespace] -= own.size
        self._jobs[own.digest] -= 1
        for counter, key in ((self._bytes, own.namespace), (self._jobs, own.digest)):
            if not counter[key]:
                del counter[key]
        if own.digest not in self._jobs:
            self._unkept.pop(own.digest, None)
            self._over[own.digest] = None

    async def store(self, digest: str) -> None:
        """Store a job's body, unless that was done; try a few times, and then rest for a while.

        A body that could not be stored is tried again when its job is observed next. There is no
        such stream where no cluster takes jobs of others, and jobs that are created there must
        not hold up the watch.
        """
        loop = asyncio.get_running_loop()
        if digest not in self._unkept or loop.time() < self._rests_until:
            return
        for wait_s in islice(backoff_delays(self._random, first_s=0.2, most_s=5.0), TRIES):
            body = self._unkept.get(digest)
            if body is None:
                return  # it ended meanwhile
            try:
                await self._keeper.put(digest, body)
            except BusUnreachableError as error:
                _log.warning("a body cannot be stored", digest=digest, error=str(error))
                await asyncio.sleep(wait_s)
            else:
                self._unkept.pop(digest, None)
                return
        self._rests_until = loop.time() + REST_S

    async def delete_unused(self) -> None:
        """Drop bodies that no job has any more; one that cannot be dropped expires by its age."""
        if not self._over:
            return
        loop = asyncio.get_running_loop()
        for digest in list(islice(self._over, DROPS_MAX)):
            if loop.time() < max(self._rests_until, self._drops_rest_until):
                self._over.clear()
                return
            if digest not in self._over:
                continue  # a job has it again
            del self._over[digest]
            try:
                await self._keeper.delete(digest)
            except BusUnreachableError as error:
                _log.warning("a body cannot be dropped", digest=digest, error=str(error))
                self._drops_rest_until = loop.time() + REST_S  # it may be refused, and storing not

    def _add_reference(self, own: _StoredBody, uid: str) -> None:
        self._jobs[own.digest] += 1
        self._bytes[own.namespace] += own.size
        self.drop_body_of(uid)
        self._held[uid] = own
        self._over.pop(own.digest, None)
