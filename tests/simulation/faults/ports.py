"""What a process of the world reads and writes: each port may fail, be late, lose and repeat.

A process passes its life at each call, before and behind it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence

from tests.parts.nats.stream import Stream
from tests.simulation.faults.life import Life
from tests.simulation.judging.contracts.heard import Heard
from tests.simulation.judging.contracts.reading import check_reading
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
    BusUnreachableError,
    CommitUnknownError,
    LedgerUnreachableError,
)

REPEATED, BLIND_S_MAX = 3, 3.0


class LivingLedger:
    """``Ledger`` whose database fails now and then."""

    def __init__(self, ledger: WatchedLedger, life: Life) -> None:
        self._ledger, self._life = ledger, life

    def begin_term(self, holder: str, lease_us: int) -> Term | None:
        self._reach()
        return self._ledger.begin_term(holder, lease_us)

    def renew_term(self, epoch: int, lease_us: int) -> None:
        if not self._life.alive:
            raise LedgerUnreachableError("this process is dead")
        self._reach()
        self._ledger.renew_term(epoch, lease_us)

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

    def purge_limit(self, position: Position) -> Position:
        self._reach()
        return self._ledger.purge_limit(position)

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
        self, outlet: ObservationPublisher, life: Life, post: Post, lose: Callable[[str], None]
    ) -> None:
        self._outlet, self._life, self._post = outlet, life, post
        self._lose = lose  # lets the stream lose a message as soon as it is stored
        self._loses_next = False

    async def publish(self, subject: str, payload: bytes, message_id: str) -> None:
        # The order of the calls counts, so nothing may be late before the port.
        if not self._life.alive:
            raise asyncio.CancelledError
        if self._post.hand_over(message_id) and b'"Heartbeat/1"' in payload[:40]:
            self._object_to_blindness()
        if self._loses_next and self._life.weather.chances.get("hole"):
            self._lose(message_id)
        await self._outlet.publish(subject, payload, message_id)
        self._post.object_to_lie(message_id)
        self._loses_next = self._life.strikes("hole")
        await self._life.cross(0)

    def _object_to_blindness(self) -> None:
        """Object if time goes on though this process has not seen Jobs for a while."""
        for path, since_s in self._life.closed_s.items():
            blind = path.endswith("/jobs") and _now_s() - since_s > BLIND_S_MAX
            demand(not blind, "past", f"time goes on since {since_s:.1f} s without {path}")

    async def resync_requests(self) -> AsyncIterator[str]:
        async for reason in self._outlet.resync_requests():
            await self._life.cross(0)
            yield reason


class LivingInbox:
    """``ObservationReader`` of a process."""

    def __init__(
        self,
        inbox: ObservationReader,
        life: Life,
        kept: Callable[[], Stream | None],
        heard: Heard | None = None,
    ) -> None:
        """``heard``: what is held against the ledger; that of the process, unless it is another."""
        self._heard = life.heard if heard is None else heard
        self._inbox, self._life = inbox, life
        self._kept = kept  # what the server has of it
        self._known = list[Message]()  # the newest that were read

    async def start_position(self) -> Position:
        return await self._life.call(self._inbox.start_position)

    async def pull(self, after: Position, *, count_max: int, wait_s: float) -> Sequence[Message]:
        messages = await self._life.call(
            lambda: self._inbox.pull(after, count_max=count_max, wait_s=wait_s)
        )
        check_reading(self._kept(), after, messages)
        self._known = [*self._known, *messages][-REPEATED:]
        shaken = self._shaken(list(messages))
        self._heard.take_in(shaken)
        return shaken

    def _shaken(self, messages: list[Message]) -> list[Message]:
        """Hand on what was read as the port allows after a fault: not all, again, out of order."""
        life, known = self._life, self._known
        if messages and life.strikes("repeat"):
            messages = [message for message in known if _precedes(message, messages[-1])] + messages
        if len(messages) > 1 and life.strikes("skip"):
            del messages[life.random.randrange(len(messages))]
        if len(messages) > 1 and life.strikes("interleave"):
            messages = messages[1::2] + messages[::2]
        return messages

    async def purge_through(self, position: Position) -> None:
        await self._life.call(lambda: self._inbox.purge_through(position))

    async def request_resync(self, reason: str) -> None:
        if self._life.strikes("resync_fails"):
            raise BusUnreachableError("the bus could not be asked")
        await self._life.call(lambda: self._inbox.request_resync(reason))
        self._heard.ask()


class LivingOutbox:
    """``EventPublisher`` of a process."""

    def __init__(self, outbox: EventPublisher, life: Life) -> None:
        self._outbox, self._life = outbox, life

    async def last_published(self, position: Position) -> tuple[int, Position]:
        return await self._life.call(lambda: self._outbox.last_published(position))

    async def message_at(self, counts: Position, seq: int) -> Published | None:
        return await self._life.call(lambda: self._outbox.message_at(counts, seq))

    async def message_count(self) -> int:
        return await self._life.call(self._outbox.message_count)

    async def publish(self, ledger_id: str, counts: Position, entries: Sequence[Entry]) -> None:
        await self._life.call(lambda: self._outbox.publish(ledger_id, counts, entries))


class LivingFeed:
    """``EventFeed`` of a process."""

    def __init__(self, feed: EventFeed, life: Life) -> None:
        self._feed, self._life = feed, life

    async def newest(self) -> tuple[str, int]:
        newest = await self._life.call(self._feed.newest)
        self._life.following.learn(newest[0])
        return newest

    async def follow(self, after: int | None = None) -> AsyncIterator[Published]:
        life = self._life
        life.following.begin(after)
        async for message in self._feed.follow(after):
            await life.cross(0)
            if not life.strikes("event_lost"):
                life.following.offer(message)
                life.carrying.hear(message)
                yield message
                life.following.take(message)


class LivingLease:
    """``Lease`` of a process."""

    def __init__(self, lease: Lease, life: Life) -> None:
        self._lease, self._life = lease, life

    async def try_acquire_or_renew(self) -> bool:
        ours = await self._life.call(self._lease.try_acquire_or_renew)
        self._life.carrying.hold(ours=ours)
        return ours

    async def release(self) -> None:
        await self._life.call(self._lease.release)


def _precedes(message: Message, last: Message) -> bool:
    """Tell whether a repeated message skips none: after a step back some are ahead."""
    return message.at.incarnation == last.at.incarnation and message.at.seq <= last.at.seq


def _now_s() -> float:
    return asyncio.get_running_loop().time()
