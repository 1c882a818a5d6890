"""What a process of the world lives on: each port may fail, be late, or lose and repeat.

A process passes its life at each call, before and behind it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager

from tests.simulation.faults.life import Life
from tests.simulation.judging.ledger_watch import WatchedLedger
from tests.simulation.judging.verdict import demand
from tests.simulation.judging.wire import Post
from tidegate.bus.ports import (
    EventFeed,
    EventPublisher,
    Lease,
    ObservationPublisher,
    ObservationReader,
)
from tidegate.contracts.entry import Entry, Message, Position, Positions, Published, Term
from tidegate.errors import (
    ApiStatusError,
    ApiUnreachableError,
    CommitUnknownError,
    LedgerUnreachableError,
)
from tidegate.kube.ports import JSON, KubernetesApi, Response

REPEATED, BLIND_S_MAX = 3, 3.0
RELIST_S = 120.0
RELISTED_S = 1.2 * RELIST_S  # within that everything is listed again, whatever was missed


class LivingLedger:
    """``Ledger`` whose database fails now and then."""

    def __init__(self, ledger: WatchedLedger, life: Life) -> None:
        self._ledger, self._life = ledger, life

    def lead(self, holder: str, lease_us: int) -> Term | None:
        self._reach()
        return self._ledger.lead(holder, lease_us)

    def renew(self, epoch: int, lease_us: int) -> None:
        if not self._life.alive:
            raise LedgerUnreachableError("this process is dead")
        self._reach()
        self._ledger.renew(epoch, lease_us)

    def append(
        self, epoch: int, after: int, entries: Sequence[Entry], positions: Positions
    ) -> None:
        self._reach()
        if self._life.strikes("disk", 0.5):
            raise CommitUnknownError("cut off before the commit")
        before = self._ledger.position
        self._ledger.append(epoch, after, entries, positions)
        self._life.heard.commit(before, positions.observations, entries)
        if self._life.strikes("disk", 0.5):
            raise CommitUnknownError("cut off behind the commit")

    def read(self, after: int = 0, until: int | None = None) -> Iterator[Entry]:
        for entry in self._ledger.read(after, until):
            if self._life.strikes("read_fails", 0.1):
                raise LedgerUnreachableError("the database went away in the middle of a read")
            yield entry

    def _reach(self) -> None:
        if self._life.strikes("disk"):
            raise LedgerUnreachableError("the database does not answer")


class LivingOutlet:
    """``ObservationPublisher`` of a process."""

    def __init__(
        self, outlet: ObservationPublisher, life: Life, post: Post, lose: Callable[[], None]
    ) -> None:
        self._outlet, self._life, self._post = outlet, life, post
        self._lose = lose  # takes the newest observation out of the stream

    async def publish(self, subject: str, payload: bytes, message_id: str) -> None:
        # The order of the calls counts, so nothing may be late before the port.
        if not self._life.alive:
            raise asyncio.CancelledError
        if self._post.hand_over(message_id) and b'"Heartbeat/1"' in payload[:40]:
            self._object_to_blindness()
        await self._outlet.publish(subject, payload, message_id)
        self._post.object_to_lie(message_id)
        if self._life.strikes("hole"):
            self._lose()
        await self._life.cross(0)

    def _object_to_blindness(self) -> None:
        """Object if time goes on though nobody has looked at Jobs for a while."""
        for path, since_s in self._life.closed_s.items():
            blind = path.endswith("/jobs") and _now_s() - since_s > BLIND_S_MAX
            demand(not blind, "past", f"time goes on since {since_s:.1f} s without {path}")

    async def resyncs(self) -> AsyncIterator[str]:
        async for reason in self._outlet.resyncs():
            await self._life.cross(0)
            yield reason


class LivingInbox:
    """``ObservationReader`` of a process."""

    def __init__(self, inbox: ObservationReader, life: Life) -> None:
        self._inbox, self._life = inbox, life
        self._known = list[Message]()  # the newest that were read

    async def pull(self, after: Position, *, count_max: int, wait_s: float) -> Sequence[Message]:
        told = await self._life.call(
            lambda: self._inbox.pull(after, count_max=count_max, wait_s=wait_s)
        )
        self._known = [*self._known, *told][-REPEATED:]
        shaken = self._shaken(list(told))
        self._life.heard.take_in(shaken)
        return shaken

    def _shaken(self, told: list[Message]) -> list[Message]:
        """Hand on what was read as the port allows after a fault: not all, again, out of order."""
        life, known = self._life, self._known
        if told and life.strikes("repeat"):
            told = [one for one in known if _precedes(one, told[-1])] + told
        if len(told) > 1 and life.strikes("skip"):
            del told[life.random.randrange(len(told))]
        if len(told) > 1 and life.strikes("interleave"):
            told = told[1::2] + told[::2]
        return told

    async def forget(self, position: Position) -> None:
        await self._life.call(lambda: self._inbox.forget(position))

    async def ask_resync(self, reason: str) -> None:
        await self._life.call(lambda: self._inbox.ask_resync(reason))
        self._life.heard.ask()


class LivingOutbox:
    """``EventPublisher`` of a process."""

    def __init__(self, outbox: EventPublisher, life: Life) -> None:
        self._outbox, self._life = outbox, life

    async def last(self, known: Position) -> tuple[int, Position]:
        return await self._life.call(lambda: self._outbox.last(known))

    async def held(self, counts: Position, seq: int) -> Published | None:
        return await self._life.call(lambda: self._outbox.held(counts, seq))

    async def count(self) -> int:
        return await self._life.call(self._outbox.count)

    async def publish(self, ledger_id: str, counts: Position, entries: Sequence[Entry]) -> None:
        await self._life.call(lambda: self._outbox.publish(ledger_id, counts, entries))


class LivingFeed:
    """``EventFeed`` of a process."""

    def __init__(self, feed: EventFeed, life: Life) -> None:
        self._feed, self._life = feed, life

    async def newest(self) -> tuple[str, int]:
        return await self._life.call(self._feed.newest)

    async def follow(self, after: int | None = None) -> AsyncIterator[Published]:
        async for told in self._feed.follow(after):
            await self._life.cross(0)
            if not self._life.strikes("event_lost"):
                yield told


class LivingLease:
    """``Lease`` of a process."""

    def __init__(self, lease: Lease, life: Life) -> None:
        self._lease, self._life = lease, life

    async def hold(self) -> bool:
        return await self._life.call(self._lease.hold)

    async def release(self) -> None:
        await self._life.call(self._lease.release)


class LivingApi:
    """``KubernetesApi`` of a process, with an API server that is not always there."""

    def __init__(self, api: KubernetesApi, life: Life) -> None:
        self._api, self._life = api, life

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
    ) -> Response:
        life = self._life
        if method == "PATCH" and life.strikes("patch_stalls"):
            life.stall()
        await life.cross()
        if life.strikes("unanswered") or life.weather.is_away(_now_s()):
            raise ApiUnreachableError("the request was lost")
        if life.strikes("busy"):
            return Response(life.random.choice([429, 500, 503]), b'{"message":"too busy"}')
        answer = await self._api.request(
            method, path, query=query, body=body, content_type=content_type
        )
        await life.cross()
        if life.strikes("unanswered"):
            raise ApiUnreachableError("the answer was lost")
        return answer

    @asynccontextmanager
    async def watch(
        self, path: str, query: Mapping[str, str]
    ) -> AsyncGenerator[AsyncIterator[bytes], None]:
        await self._life.cross()
        if self._life.strikes("unanswered") or self._life.weather.is_away(_now_s()):
            raise ApiUnreachableError("the watch was not opened")
        if self._life.strikes("busy"):
            raise ApiStatusError(429, "too busy")
        async with self._api.watch(path, query) as lines:
            self._life.closed_s.pop(path, None)
            try:
                yield self._told(lines)
            finally:
                self._life.closed_s[path] = _now_s()

    async def _told(self, lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        life, asked_s, opened_s = self._life, -1.0, _now_s()
        async for line in lines:
            now_s = _now_s()
            # What waited while another line was late is not later than that one.
            await life.cross(life.watch_lag_s_max if now_s > asked_s else None)
            asked_s = _now_s()
            if life.strikes("watch_breaks") or life.weather.is_away(_now_s(), opened_s):
                raise ApiUnreachableError("the watch broke")
            if b'"DELETED"' in line[:20] and life.strikes("deletion_missed"):
                life.weather.blind_until_s = _now_s() + RELISTED_S
                continue
            yield line


def _precedes(one: Message, last: Message) -> bool:
    """Tell whether a repeated message skips none: after a step back some are ahead."""
    return one.at.incarnation == last.at.incarnation and one.at.seq <= last.at.seq


def _now_s() -> float:
    return asyncio.get_running_loop().time()
