"""Pending workloads as in Kueue's visibility API: positions from 0, without reasons.

Source: Kueue's documentation, "Pending Workloads on-demand"; both versions have one form.
"""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

from tidegate.cli.commands.show.positions import ranked_rows
from tidegate.cli.times import utc
from tidegate.core.state.state import State, Workload
from tidegate.jobs.registry import JOB_KINDS
from tidegate.model.texts import parse_signed
from tidegate.serve.api.endpoint import Question
from tidegate.serve.ledger.queueing import is_local_queue_served
from tidegate.serve.refusals import RefusalError
from tidegate.serve.visibility.discovery import SUMMARY, VISIBILITY

LIMIT, LIMIT_MAX = 1_000, 100_000
AHEAD_MAX = 0


def cluster_queue_pending(question: Question) -> dict[str, Any]:
    """Return the pending workloads of a ClusterQueue.

    Raises:
        RefusalError: there is no such ClusterQueue, or a number is none.
    """
    queue = question.values["name"]
    decider = question.for_deciding_partition(lambda state: queue in state.objects.cluster_queues)
    with decider.state() as state:
        if queue not in state.objects.cluster_queues:
            raise _not_found("clusterqueues", queue)
    return _summary(decider, queue, "")


def local_queue_pending(question: Question) -> dict[str, Any]:
    """Return the pending workloads of a LocalQueue.

    Raises:
        RefusalError: there is no such LocalQueue, or a number is none.
    """
    namespace, name = question.values["namespace"], question.values["name"]
    door = f"{namespace}/{name}"
    decider = question.for_deciding_partition(lambda state: is_local_queue_served(state, door))
    with decider.state() as state:
        local = state.objects.local_queues.get(door)
    if local is None:
        raise _not_found("localqueues", name)
    return _summary(decider, local.spec.cluster_queue, door)


def _summary(question: Question, queue: str, door: str) -> dict[str, Any]:
    offset = max(_query_number(question, "offset", 0), 0)
    limit = max(_query_number(question, "limit", LIMIT) or LIMIT, 0)  # Kueue's default of 0, too
    with question.state() as state:
        rows = ranked_rows(question.pending_rows(state, {queue}), 0, AHEAD_MAX)
        waiting = [
            row
            for row in rows
            if row["position"] is not None
            and door in {"", f"{row['namespace']}/{row['localQueue']}"}
        ]
        items = list(_pending_items(state, waiting[offset : offset + min(limit, LIMIT_MAX)]))
    return {
        "kind": SUMMARY,
        "apiVersion": f"{VISIBILITY}/{question.values['version']}",
        "metadata": {},
        "items": items,
    }


def _pending_items(state: State, rows: Iterable[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    for row in rows:
        namespace, _, name = row["workload"].partition("/")
        yield {
            "metadata": {
                "name": name,
                "namespace": namespace,
                **_pending_workload(state.workloads[row["workload"]]),
            },
            "priority": row["priority"],
            "localQueueName": row["localQueue"],
            "positionInClusterQueue": row["position"] - 1,
            "positionInLocalQueue": row["positionInLocalQueue"] - 1,
        }


def _pending_workload(workload: Workload) -> dict[str, Any]:
    return {
        "creationTimestamp": utc(workload.created_us),
        "ownerReferences": _owner_references(workload),
    }


def _owner_references(workload: Workload) -> list[dict[str, Any]]:
    kind = JOB_KINDS.get(workload.job.kind)
    if kind is None:
        return []
    version = f"{kind.group}/{kind.version}" if kind.group else kind.version
    return [
        {
            "apiVersion": version,
            "kind": kind.kind,
            "name": workload.job.name,
            "uid": workload.job.uid,
        }
    ]


def _query_number(question: Question, name: str, default: int) -> int:
    text = question.values[name]
    number = parse_signed(text) if text else default
    if number is None:
        raise RefusalError(HTTPStatus.BAD_REQUEST, f"{name} {text[:32]!r} is no number.")
    return number


def _not_found(resource: str, name: str) -> RefusalError:
    message = f'{resource}.{VISIBILITY} "{name}" not found'
    return RefusalError(HTTPStatus.NOT_FOUND, message)
