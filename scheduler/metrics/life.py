"""The past of one workload as metrics need it; a state from before this term has most of it."""

from __future__ import annotations

import msgspec

from scheduler.metrics.series import Labels, interned_labels
from tidegate.contracts.facts import Event
from tidegate.core.state.state import Workload

S = 1e-6  # a microsecond


class Life(msgspec.Struct, kw_only=True):
    """The past of one workload for metrics, in UTC microseconds; 0: it did not happen yet."""

    labels: Labels
    queued_us: int
    reserved_us: int = 0
    admitted_us: int = 0
    ready_us: int = 0  # since when all pods are ready
    started: bool = False  # they were, since the admission
    was_ready: bool = False  # of any start
    evicted_us: int = 0
    evicted_reason: str = ""
    executed_us: int = 0
    checked: bool = False  # it has admission checks
    evictions: frozenset[tuple[str, str]] = frozenset()  # by reason and cause


def life_of(workload: Workload) -> Life:
    """Return the part of a workload's past that the state has."""
    named = workload.priority_class or workload.pod_priority_class
    namespace = workload.key.partition("/")[0]
    return Life(
        labels=interned_labels(Labels(workload.cluster_queue, namespace, workload.queue, named)),
        queued_us=max(workload.created_us, workload.evicted_us),
        reserved_us=workload.reserved_us,
        admitted_us=workload.admitted_us,
        executed_us=workload.executed_us,
        was_ready=workload.ready,
    )


def seconds_since(since_us: int, event: Event) -> float:
    """Return the seconds from a time until an event; 0 if the time is not known."""
    return max(0, event.at_us - since_us) * S if since_us else 0.0
