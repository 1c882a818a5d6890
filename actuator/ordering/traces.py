"""The actuator's part of a job's trace: from the decision that it read to what it did."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Generator
from contextlib import aclosing, contextmanager
from typing import cast

from actuator.ordering.orders import Order, job_of
from tidegate.bus.ports import EventFeed
from tidegate.contracts.entry import Published
from tidegate.service.tracing import OFF, Tracing, spanned

ORDERS_MAX = 10_000
"""Orders whose trace context is remembered; others continue their root trace."""


class Traces:
    """One actuator's spans."""

    def __init__(self, tracing: Tracing = OFF) -> None:
        self._tracing = tracing
        self._read = dict[tuple[str, int], str]()  # ledger id and seq to the decision's context

    def noted(self, feed: EventFeed) -> EventFeed:
        """Return the same feed; what is read of it is remembered, if traces are on."""
        return _Noted(feed, self._read) if self._tracing.on else feed

    @contextmanager
    def carrying_out(self, order: Order) -> Generator[None]:
        """Have what the block does to the order's job in its trace."""
        if not self._tracing.on:
            yield
            return
        job = job_of(order)
        about: dict[str, str | int] = {
            "tidegate.workload": order.order.workload,
            "tidegate.job": job.name,
            "tidegate.seq": order.seq,
        }
        parent = self._read.pop((order.ledger_id, order.seq), "")
        name = f"carry out {type(order).__name__}"
        with spanned(self._tracing, name, job.uid, parent, about):
            yield


class _Noted:
    def __init__(self, feed: EventFeed, read: dict[tuple[str, int], str]) -> None:
        self._feed, self._read = feed, read

    async def newest(self) -> tuple[str, int]:
        """See ``EventFeed.newest``."""
        return await self._feed.newest()

    async def follow(self, after: int | None = None) -> AsyncIterator[Published]:
        """See ``EventFeed.follow``."""
        following = cast("AsyncGenerator[Published]", self._feed.follow(after))
        async with aclosing(following):
            async for published in following:
                if published.trace:
                    self._read[published.ledger_id, published.seq] = published.trace
                    if len(self._read) > ORDERS_MAX:
                        del self._read[next(iter(self._read))]
                yield published
