"""Bugs between ingest, bus and scheduler: what is told, read, forgotten and published."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from msgspec.structs import replace

from ingest.publish import Publisher
from scheduler import desk as desks
from scheduler import term as terms
from scheduler import turn as turns
from scheduler.desk import Desk
from scheduler.means import Means
from tests.simulation.bugs.swapping import swapped, swapped_method
from tidegate.bus.memory_observations import MemoryInbox
from tidegate.contracts.entry import Entry, Message, Position, Term
from tidegate.contracts.facts import FactEvent, StreamReplaced
from tidegate.core import accept as accepts
from tidegate.core.draft import Draft
from tidegate.errors import FencedError, PublishRefusedError


def acknowledge_before_commit() -> AbstractContextManager[None]:
    """Forget what was read as soon as it is in the draft."""
    write = turns._write  # noqa: SLF001 - the seam

    async def _write(desk: Desk, facts: Sequence[FactEvent]) -> int:
        await desk.means.inbox.forget(desk.accepted)
        return await write(desk, facts)

    return swapped(write, _write)


def relist_suppressed() -> AbstractContextManager[None]:
    """Take what a resync asks for as known, since it was told before."""

    def forget_told(_: Publisher) -> None:
        pass

    return swapped_method(Publisher, "forget_told", forget_told)


def hole_ignored() -> AbstractContextManager[None]:
    """Read on behind a hole as if nothing were missing."""
    lost = accepts._lost  # noqa: SLF001 - the seam

    def _lost(draft: Draft, at_us: int, position: Position, found: Position) -> Iterator[FactEvent]:
        return (fact for fact in lost(draft, at_us, position, found) if _is_replacement(fact))

    return swapped(lost, _lost)


def stream_recreated_unnoticed() -> AbstractContextManager[None]:
    """Know a place in the stream by its number alone."""
    pull, forget = MemoryInbox.pull, MemoryInbox.forget

    async def pull_by_number(
        self: MemoryInbox, after: Position, *, count_max: int, wait_s: float
    ) -> Sequence[Message]:
        here = Position(self.end.incarnation, after.seq)
        told = await pull(self, here, count_max=count_max, wait_s=wait_s)
        return [replace(one, at=Position(1, one.at.seq)) for one in told]

    async def forget_by_number(self: MemoryInbox, position: Position) -> None:
        await forget(self, Position(self.end.incarnation, position.seq))

    @contextmanager
    def both() -> Iterator[None]:
        with (
            swapped_method(MemoryInbox, "pull", pull_by_number),
            swapped_method(MemoryInbox, "forget", forget_by_number),
        ):
            yield

    return both()


def publish_retry_taken_for_a_fence() -> AbstractContextManager[None]:
    """Stand by for good when EVENTS refuses a batch, since another must have written."""
    publish, take = desks.publish, terms._take  # noqa: SLF001 - the seam
    fenced = set[str]()

    async def publish_once(desk: Desk, entries: Sequence[Entry]) -> None:
        outbox = desk.means.outbox
        try:
            if entries and desk.published == entries[0].seq - 1:
                await outbox.publish(desk.draft.ledger_id, desk.counts, entries)
                desk.published = entries[-1].seq
        except PublishRefusedError as error:
            fenced.add(desk.means.holder.name)
            raise FencedError(error.expected, error.actual) from error
        await publish(desk, entries)

    async def take_unless_fenced(means: Means) -> Term | None:
        return None if means.holder.name in fenced else await take(means)

    @contextmanager
    def both() -> Iterator[None]:
        with swapped(publish, publish_once), swapped(take, take_unless_fenced):
            yield

    return both()


def _is_replacement(fact: FactEvent) -> bool:
    return isinstance(fact, StreamReplaced)
