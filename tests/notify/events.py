"""Invented events of a ledger, for rules."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.contracts.codec import encode
from tidegate.contracts.decisions import (
    DecisionEvent,
    WorkloadAdmitted,
    WorkloadEvicted,
    WorkloadPending,
    WorkloadPreempted,
    WorkloadRequeued,
)
from tidegate.contracts.entry import Entry
from tidegate.contracts.facts import FactEvent, WorkloadFinished, WorkloadSubmitted
from tidegate.model.ids import ObjectRef
from tidegate.subscribe import LedgerEvent

MINUTE_US = 60_000_000


def submitted(name: str, minute: int = 0) -> WorkloadSubmitted:
    job = ObjectRef(kind="batch/job", namespace=name.partition("/")[0], name="j", uid="u")
    return WorkloadSubmitted(at_us=minute * MINUTE_US, workload=name, uid="u", job=job)


def pending(name: str, queue: str, minute: int = 0) -> WorkloadPending:
    return WorkloadPending(
        at_us=minute * MINUTE_US, workload=name, cluster_queue=queue, reason="WaitingForQuota"
    )


def admitted(name: str, queue: str, minute: int = 0) -> WorkloadAdmitted:
    return WorkloadAdmitted(at_us=minute * MINUTE_US, workload=name, cluster_queue=queue)


def preempted(name: str, queue: str, minute: int = 0) -> list[WorkloadPreempted | WorkloadEvicted]:
    at_us = minute * MINUTE_US
    return [
        WorkloadPreempted(
            at_us=at_us, workload=name, cluster_queue=queue, by="b/other", reason="InClusterQueue"
        ),
        WorkloadEvicted(at_us=at_us, workload=name, cluster_queue=queue, reason="Preempted"),
    ]


def requeued(name: str, queue: str, minute: int = 0) -> WorkloadRequeued:
    return WorkloadRequeued(at_us=minute * MINUTE_US, workload=name, cluster_queue=queue)


def finished(name: str, minute: int = 0) -> WorkloadFinished:
    return WorkloadFinished(at_us=minute * MINUTE_US, workload=name)


def heard(*events: FactEvent | DecisionEvent, first: int = 1) -> Iterator[LedgerEvent]:
    """Number events as a ledger does."""
    for seq, event in enumerate(events, first):
        entry = Entry(
            partition=0,
            seq=seq,
            epoch=1,
            turn=seq,
            at_us=event.at_us,
            cluster="local",
            type=type(event).__name__,
            subject="",
            payload=encode(event).decode(),
            hash=bytes(32),
        )
        yield LedgerEvent(seq, event, entry)
