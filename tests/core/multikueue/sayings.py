"""Decisions about worker clusters in a few words, as the data files write them."""

from __future__ import annotations

from collections.abc import Iterable

from tests.core.telling import BEGIN, SECOND
from tidegate.contracts.codec import type_name
from tidegate.contracts.decision_kinds.clusters import (
    CheckDecided,
    ClusterChosen,
    ClustersNominated,
    RemoteDeactivated,
    RemoteWithdrawn,
)
from tidegate.contracts.decisions import DecisionEvent, StopOrdered
from tidegate.contracts.phases import SLICE_REPLACED

MESSAGE = "Job finished successfully"


def copy_fields(words: Iterable[str]) -> dict[str, object]:
    """Return how a copy stands, from words with times in seconds."""
    fields: dict[str, object] = {}
    for word in words:
        name, _, value = word.partition("=")
        at = BEGIN + int(value or 0) * SECOND
        known: dict[str, dict[str, object]] = {
            "there": {},
            "reserved": {"reserved": True},
            "admitted": {"reserved": True, "admitted_us": at},
            "evicted": {"evicted_us": at},
            "finished": {"finished_us": at, "reason": "Succeeded", "message": MESSAGE},
            "replaced": {"finished_us": at, "reason": SLICE_REPLACED},
            "outofsync": {"finished_us": at, "reason": "OutOfSync"},
            "synced": {"synced": True},
            "differs": {"differs": True},
            "foreign": {"foreign": True},
            "job": {"job": True},
            "stopping": {},
        }
        fields |= known[name]
    return fields


def said(event: DecisionEvent) -> str:
    """Return a decision in a few words; empty: it is of no matter."""
    match event:
        case ClustersNominated():
            return " ".join(("nominate", *event.clusters, *(["again"] if event.again else [])))
        case ClusterChosen():
            after = f" after {event.replaces.removeprefix('team/')}" if event.makes_copy else ""
            return f"choose {event.cluster}{after}{' again' if event.again else ''}"
        case RemoteWithdrawn():
            return " ".join(("withdraw", *event.clusters, event.reason))
        case RemoteDeactivated():
            return f"stop {event.cluster}{' again' if event.again else ''}"
        case CheckDecided():
            return f"{event.state}: {event.message}"
        case StopOrdered():
            return ""
        case _:
            return "" if event.__class__.__name__ in _ASIDE else type_name(event)


_ASIDE = {"ClusterQueueReadinessChanged", "WorkloadPending", "LocalQueueUsageSampled"}
