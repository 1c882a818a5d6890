"""Kueue's metrics of what the actuator does: Workloads made of jobs, gates taken off pods.

Only the active actuator has series of them. A ClusterQueue's end with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from prometheus_client import CollectorRegistry, Histogram

from actuator.projection.read_model import ReadModel
from tidegate.contracts.decisions import DecisionEvent
from tidegate.contracts.entry import Published
from tidegate.contracts.fact_kinds.definitions import ClusterQueueRemoved
from tidegate.contracts.facts import FactEvent
from tidegate.jobs.kind import JobKind, Object
from tidegate.kinds.times import micros
from tidegate.service.clock import utc_now_us

ROLE = "leader"
_S = 1e-6  # a microsecond
_GO_CLIENT = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_CREATION = tuple(0.01 * 2**n for n in range(11))  # up to 10.24 s


class KueueMetrics:
    """See ``actuator.events.Subscriber``; ``creations``: of the gate of Kueue's that has its name.

    ``read_model`` is set where there is a projection: without one no gate's removal is measured.
    """

    def __init__(
        self,
        registry: CollectorRegistry,
        now_us: Callable[[], int] = utc_now_us,
        *,
        creations: bool = True,
    ) -> None:
        self.read_model: Callable[[], ReadModel] = ReadModel
        self._now_us, self._working = now_us, False
        self._creations = Histogram(
            "kueue_workload_creation_latency_seconds",
            "From a job's creation to its Workload's, of objects of generation 1.",
            ("job_kind", "replica_role"),
            buckets=_CREATION,
            registry=registry if creations else None,
        )
        self._removals = Histogram(
            "kueue_pod_scheduling_gate_removal_seconds",
            "From a workload's admission to the removal of a gate of one of its pods.",
            ("name", "cluster_queue", "is_group"),
            buckets=_GO_CLIENT,
            registry=registry,
        )

    def observe_creation(self, kind: JobKind[Any], job: Object, workload: Object) -> None:
        """Observe that a Workload was made of a job: an object, or a group of pods.

        One that was changed since its creation, such as by its start, is left out as in Kueue.
        """
        meta: Object = (job["items"][0] if kind.is_group else job)["metadata"]
        if not self._working or meta.get("generation", 0) > 1:
            return
        made_us = micros(workload["metadata"]["creationTimestamp"])
        waited_us = max(0, made_us - micros(meta["creationTimestamp"]))
        self._creations.labels(kind.kind, ROLE).observe(waited_us * _S)

    def observe_gate_removal(self, gate: str, workload: str, *, of_group: bool) -> None:
        """Observe that a gate was taken off a pod of a workload; nothing if it is not admitted."""
        read_model = self.read_model()
        view = read_model.workloads.get(workload)
        admitted = None if view is None else view.true_condition("Admitted")
        if not self._working or view is None or admitted is None:
            return
        if view.cluster_queue in read_model.cluster_queues:  # else its series have ended
            since_us = view.admitted_us or micros(admitted.last_transition_time or "")
            labels = (gate, view.cluster_queue, str(of_group).lower())
            self._removals.labels(*labels).observe(max(0, self._now_us() - since_us) * _S)

    def on_event(self, message: Published, event: FactEvent | DecisionEvent, *, live: bool) -> None:
        """See ``Subscriber.on_event``: the series of a ClusterQueue end with it."""
        del message, live
        if isinstance(event, ClusterQueueRemoved):
            self._removals.remove_by_labels({"cluster_queue": event.name})

    def on_orders_done(self, workload: str) -> None:
        """Take no notice."""

    def reset(self) -> None:
        """Have nothing to forget."""

    def set_active(self, working: bool) -> None:  # noqa: FBT001 - see the protocol
        """See ``Subscriber.set_active``: another actuator counts from here on."""
        self._working = working
        if not working:
            self._creations.clear()
            self._removals.clear()

    async def run(self) -> None:
        """Have nothing to do."""
        await asyncio.get_running_loop().create_future()
