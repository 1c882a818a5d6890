"""Report orders that can never succeed to the scheduler; nothing is dropped silently."""

from __future__ import annotations

import asyncio
from random import Random

from actuator.metrics import Metrics
from actuator.ordering.orders import Order, job_of
from tidegate.bus.ports import ObservationPublisher
from tidegate.contracts.codec import encode
from tidegate.contracts.messages.subjects import observed
from tidegate.contracts.observations import ActuationReported
from tidegate.errors import BusUnreachableError
from tidegate.jobs.kind import Refusal
from tidegate.model.clusters import local
from tidegate.service.backoff import delays
from tidegate.service.logs import get_log

ACTUATION = "actuation"
"""Stands where an object's resource stands in the subject of a report."""
_MESSAGE_MAX = 1_024
_log = get_log("report")


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

    async def failed(self, order: Order, reason: Refusal, message: str) -> None:
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
            workload=local(order.order.workload),  # of a copy it is another cluster's
            decision=order.decision,
            reason=reason,
            message=message[:_MESSAGE_MAX],
            origin=_origin(order),
        )
        subject = observed(self._cluster, ACTUATION, job.namespace, job.name)
        self._sent += 1
        message_id = f"{self._session}:{self._sent}"
        for wait_s in delays(self._random, first_s=0.2, most_s=5.0):
            try:
                await self._port.publish(subject, encode(report), message_id)
            except BusUnreachableError:
                await asyncio.sleep(wait_s)
            else:
                return


def _origin(order: Order) -> str:
    """Return the uid of the job at home that an order's copy is of; empty: it is about no copy."""
    return "" if order.order.uid == job_of(order).uid else order.order.uid
