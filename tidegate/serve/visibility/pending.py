"""Pending workloads as in Kueue's visibility API: positions from 0, without reasons.

Source: Kueue's documentation, "Pending Workloads on-demand"; both versions have one form.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from http import HTTPStatus
from typing import Any, NamedTuple

from tidegate.cli.times import utc
from tidegate.core.state.state import Workload
from tidegate.jobs.registry import JOB_KINDS
from tidegate.model.texts import parse_signed
from tidegate.replay.queue_order import queue_orders
from tidegate.serve.api.endpoint import Question
from tidegate.serve.ledger.queueing import is_local_queue_served
from tidegate.serve.refusals import RefusalError
from tidegate.serve.visibility.discovery import SUMMARY, VISIBILITY

LIMIT, LIMIT_MAX = 1_000, 100_000


class _Place(NamedTuple):
    """A pending workload and its positions, from 0."""

    workload: Workload
    in_cluster_queue: int
    in_local_queue: int


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
        placed = [
            place
            for place in _places(queue_orders(state, {queue}).get(queue, ()))
            if door in {"", place.workload.local_queue}
        ]
        items = [_pending_item(place) for place in placed[offset : offset + min(limit, LIMIT_MAX)]]
    return {
        "kind": SUMMARY,
        "apiVersion": f"{VISIBILITY}/{question.values['version']}",
        "metadata": {},
        "items": items,
    }


def _places(workloads: Iterable[Workload]) -> Iterator[_Place]:
    in_local_queue = Counter[str]()
    for position, workload in enumerate(workloads):
        yield _Place(workload, position, in_local_queue[workload.local_queue])
        in_local_queue[workload.local_queue] += 1


def _pending_item(place: _Place) -> dict[str, Any]:
    workload = place.workload
    namespace, _, name = workload.key.partition("/")
    return {
        "metadata": {"name": name, "namespace": namespace, **_metadata(workload)},
        "priority": workload.priority,
        "localQueueName": workload.queue,
        "positionInClusterQueue": place.in_cluster_queue,
        "positionInLocalQueue": place.in_local_queue,
    }


def _metadata(workload: Workload) -> dict[str, Any]:
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
