"""What is reported of an order: failure for good to the scheduler, and spans to the job's trace."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Generator
from contextlib import aclosing, contextmanager
from random import Random
from typing import cast

from actuator.metrics import Metrics
from actuator.ordering.orders import Order, job_of
from tidegate.bus.ports import EventFeed, ObservationPublisher
from tidegate.contracts.codec import encode
from tidegate.contracts.entry import Published
from tidegate.contracts.observations import ActuationReported
from tidegate.contracts.subjects import observed_subject
from tidegate.errors import BusUnreachableError
from tidegate.jobs.kind import Refusal
from tidegate.model.clusters import local_name
from tidegate.service.backoff import backoff_delays
from tidegate.service.logs import get_log
from tidegate.service.tracing import OFF, Tracing, traced_span

ACTUATION = "actuation"
"""Stands where an object's resource stands in the subject of a report."""
_MESSAGE_MAX = 1_024
_log = get_log("report")
ORDERS_MAX = 10_000
"""Orders whose trace context is remembered; others continue their root trace."""


class Reporter:
    """One actuator's voice to the scheduler."""

    def __init__(
        self,
        port: ObservationPublisher,
        *,
        cluster: str,
        session: str,
        random: Random,
        metrics: Metrics,
    ) -> None:
        self._port = port
        self._cluster = cluster
        self._session = session
        self._random = random
        self._metrics = metrics
        self._sent = 0

    async def report_failure(self, order: Order, reason: Refusal, message: str) -> None:
        """Publish that an order failed; return once it is stored."""
        job = job_of(order)
        _log.warning(
            "cannot",
            workload=order.order.workload,
            job=job.name,
            reason=reason,
            error=message,
            seq=order.seq,
        )
        self._metrics.orders.labels(type(order).__name__, reason).inc()
        report = ActuationReported(
            job=job,
            workload=local_name(order.order.workload),  # of a copy it is another cluster's
            decision=order.decision,
            reason=reason,
            message=message[:_MESSAGE_MAX],
            origin=_origin_uid(order),
        )
        subject = observed_subject(self._cluster, ACTUATION, job.namespace, job.name)
        self._sent += 1
        message_id = f"{self._session}:{self._sent}"
        for wait_s in backoff_delays(self._random, first_s=0.2, most_s=5.0):
            try:
                await self._port.publish(subject, encode(report), message_id)
            except BusUnreachableError:
                await asyncio.sleep(wait_s)
            else:
                return


def _origin_uid(order: Order) -> str:
    """Return the uid of the job at home that an order's copy is of; empty: it is about no copy."""
    return "" if order.order.uid == job_of(order).uid else order.order.uid


class Traces:
    """One actuator's spans."""

    def __init__(self, tracing: Tracing = OFF) -> None:
        self._tracing = tracing
        self._read = dict[tuple[str, int], str]()  # ledger id and seq to the decision's context

    def traced(self, feed: EventFeed) -> EventFeed:
        """Return the same feed; what is read of it is remembered, if traces are on."""
        return _TracedFeed(feed, self._read) if self._tracing.on else feed

    @contextmanager
    def span(self, order: Order) -> Generator[None]:
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
        with traced_span(self._tracing, name, job.uid, parent, about):
            yield


class _TracedFeed:
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
