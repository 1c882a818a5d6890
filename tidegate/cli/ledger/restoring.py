"""A ledger's lost tail out of EVENTS: each message is a row, and the chain proves that it fits."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from tidegate.bus.headers import entry_of
from tidegate.bus.jetstream.connection import NatsBus
from tidegate.bus.ports import Ledger
from tidegate.contracts.chain import verify
from tidegate.contracts.entry import Entry, Position, Positions, Published, Term
from tidegate.errors import NotSupportedError

PAGE_ROWS = 1_000


async def restore_from_events(ledger: Ledger, bus: NatsBus, term: Term, head: Entry) -> Entry:
    """Append what EVENTS holds behind ``head``, page by page; return the entry it ends with.

    A page that does not fit is not appended at all.

    Raises:
        NotSupportedError: EVENTS is not ahead, or no longer holds what comes next.
        ChainError: what it holds does not follow from the ledger's end.
        BusUnreachableError: it does not answer.
    """
    feed = bus.event_feed()
    ledger_id, last = await feed.newest()
    if last <= head.seq:
        raise NotSupportedError(
            f"EVENTS ends at seq {last}, the ledger at {head.seq}: there is nothing to restore."
        )
    end, at = await bus.event_publisher().last_published(Position())
    counts = Position(at.incarnation, end - last)
    begun = head.seq
    async with aclosing(feed.follow(begun)) as messages:
        async for page in _turn_pages(_entries_of_ledger(messages, ledger_id, begun, last)):
            entries = list(verify(page, head))
            ledger.append(term.epoch, head.seq, entries, Positions(events=counts))
            head = entries[-1]
    return head


async def _entries_of_ledger(
    async_iterator: AsyncIterator[Published], ledger_id: str, after: int, last: int
) -> AsyncGenerator[Entry, None]:
    """Yield the entries behind ``after`` up to ``last``, each in its turn."""
    expected = after + 1
    async for published in async_iterator:
        if published.ledger_id != ledger_id or published.seq < expected:
            continue
        if published.seq != expected:
            raise NotSupportedError(
                f"EVENTS no longer holds the events {expected} to {published.seq - 1}: recover "
                "without --from-events, which gives the ledger a new name."
            )
        yield entry_of(published)
        expected += 1
        if published.seq == last:
            return


async def _turn_pages(entries: AsyncGenerator[Entry, None]) -> AsyncGenerator[list[Entry], None]:
    page = list[Entry]()
    async with aclosing(entries):
        async for entry in entries:
            page.append(entry)
            if len(page) == PAGE_ROWS:
                yield page
                page = []
    if page:
        yield page
