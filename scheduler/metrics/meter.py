"""Kueue's metrics of workloads, counted as the ledger's entries are committed.

Counters begin at 0 in each term, as Prometheus expects of a new process. What a figure needs from
before (since when a workload waits) comes from the state, which the ledger gives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from prometheus_client import CollectorRegistry, Counter, Histogram

from scheduler.metrics.exposed import ALL, ExposedQueues
from scheduler.metrics.life import Life, S, life_of, seconds_since
from scheduler.metrics.series import (
    GO_CLIENT,
    LONG,
    ROLE,
    CohortCounter,
    FigureMaker,
    Labels,
    interned_labels,
)
from tidegate.contracts import decisions, facts
from tidegate.contracts.facts import Event
from tidegate.contracts.phases import SLICE_REPLACED
from tidegate.core.queueing.admissibility import DEACTIVATED
from tidegate.core.state.state import State
from tidegate.service.config.local_queue_metrics import LocalQueueMetrics


class Meter:
    """Counts committed events; one a process."""

    def __init__(self, registry: CollectorRegistry, local_queues: LocalQueueMetrics = ALL) -> None:
        self._lives = dict[str, Life]()
        self._exposure = ExposedQueues(local_queues)
        self._maker = maker = FigureMaker(registry, self._exposure)
        self._make_counters(maker)
        self._make_waits(maker)
        self._make_others(registry)

    def _make_counters(self, maker: FigureMaker) -> None:
        counter, by = maker.counter, "priority_class"
        self._reserved = counter("quota_reserved_workloads", "Quota reservations.", by)
        self._admitted = counter("admitted_workloads", "Admissions.", by)
        self._finished = counter("finished_workloads", "Workloads that finished.", by)
        causes = ("reason", "underlying_cause")
        self._evicted = counter("evicted_workloads", "Evictions.", *causes, by)
        self._once = counter(
            "evicted_workloads_once",
            "First evictions of a workload for a reason and cause.",
            *causes,
            by,
            local=False,
        )

    def _make_waits(self, maker: FigureMaker) -> None:
        seconds, by = maker.seconds, "priority_class"
        self._waited_for_quota = seconds(
            "quota_reserved_wait_time_seconds", "From being queued to quota.", by
        )
        self._waited = seconds(
            "admission_wait_time_seconds", "From being queued to admission.", by, buckets=LONG
        )
        self._checked = seconds(
            "admission_checks_wait_time_seconds", "From quota to admission, with checks.", by
        )
        self._until_ready = seconds(
            "ready_wait_time_seconds", "From being queued to the first readiness of all pods.", by
        )
        self._started = seconds(
            "admitted_until_ready_wait_time_seconds", "From admission to readiness.", by
        )
        self._ran = seconds(
            "execution_time_seconds",
            "Time admitted, over all evictions, at the end.",
            by,
            buckets=LONG,
            local_buckets=LONG,
        )
        self._lost = seconds(
            "pods_ready_to_evicted_time_seconds",
            "From readiness to eviction.",
            "reason",
            "underlying_cause",
            local=False,
        )
        self._left = seconds(
            "workload_eviction_latency_seconds",
            "From an eviction to its quota being free.",
            "reason",
            local=False,
        )

    def _make_others(self, registry: CollectorRegistry) -> None:
        self._preempted = Counter(
            "kueue_preempted_workloads",
            "Preemptions by the ClusterQueue that preempted.",
            ("preempting_cluster_queue", "reason", "replica_role"),
            registry=registry,
        )
        self._below = CohortCounter(
            "kueue_cohort_subtree_admitted_workloads",
            "Admissions below a cohort.",
            registry,
        )
        self._replaced = Counter(
            "kueue_replaced_workload_slices",
            "Slices of elastic workloads that another slice replaced.",
            ("cluster_queue", "replica_role"),
            registry=registry,
        )
        labels = ("result", "replica_role")
        attempts = Counter(
            "kueue_admission_attempts",
            "Turns that tried workloads, by whether any got quota.",
            labels,
            registry=registry,
        )
        attempt_s = Histogram(
            "kueue_admission_attempt_duration_seconds",
            "How long such a turn decided.",
            labels,
            buckets=GO_CLIENT,
            registry=registry,
        )
        self._attempts, self._attempt_s = cache(attempts.labels), cache(attempt_s.labels)

    def count_cycle(self, decided: Sequence[Event], seconds: float) -> None:
        """Count one scheduling cycle, if it tried any workload."""
        tried = [event for event in decided if isinstance(event, _TRIED)]
        if tried:
            won = any(isinstance(event, decisions.QuotaReserved) for event in tried)
            labels = ("success" if won else "inadmissible", ROLE)
            self._attempts(*labels).inc()
            self._attempt_s(*labels).observe(seconds)

    def count_events(self, events: Sequence[Event], state: State) -> None:
        """Count the events of one commit; ``state`` stands behind them."""
        self._exposure.update(state.objects)
        for event in events:
            count = _COUNTED.get(type(event))
            if count is not None:
                count(self, event, state)

    def on_submitted(self, event: facts.WorkloadSubmitted, _state: State) -> None:
        """Begin a life."""
        namespace = event.workload.partition("/")[0]
        priority_class = event.priority_class or event.pod_priority_class
        labels = interned_labels(Labels("", namespace, event.queue, priority_class))
        queued_us = event.created_us or event.at_us
        self._lives[event.workload] = Life(labels=labels, queued_us=queued_us)

    def on_changed(self, event: facts.WorkloadChanged, state: State) -> None:
        """Count a workload for its new queue and class from here on."""
        life = self._life(event.workload, state)
        if life is not None:
            named = event.priority_class or event.pod_priority_class
            labels = life.labels._replace(queue=event.queue, priority_class=named)
            life.labels = interned_labels(labels)

    def on_removed(self, event: facts.WorkloadRemoved, _state: State) -> None:
        """End a life."""
        self._lives.pop(event.workload, None)

    def on_reserved(self, event: decisions.QuotaReserved, state: State) -> None:
        """Count a reservation."""
        life = self._life(event.workload, state)
        if life is not None:
            life.labels = interned_labels(life.labels._replace(cluster_queue=event.cluster_queue))
            life.reserved_us, life.checked = event.at_us, bool(event.checks)
            self._reserved.add(life.labels)
            self._waited_for_quota.add(life.labels, seconds_since(life.queued_us, event))

    def on_admitted(self, event: decisions.WorkloadAdmitted, state: State) -> None:
        """Count an admission."""
        life = self._life(event.workload, state)
        if life is None:
            return
        life.admitted_us, life.ready_us, life.started = event.at_us, 0, False
        self._admitted.add(life.labels)
        self._waited.add(life.labels, seconds_since(life.queued_us, event))
        if life.checked:
            self._checked.add(life.labels, seconds_since(life.reserved_us, event))
        cq = state.forest.cluster_queues.get(life.labels.cluster_queue)
        above = None if cq is None else cq.node.parent
        while above is not None:
            self._below.add(above.name, life.labels.priority_class)
            above = above.parent

    def on_ready(self, event: facts.PodsReadyReported, state: State) -> None:
        """Count that all pods became ready, for the first time since the admission."""
        life = self._life(event.workload, state)
        if life is None or not life.admitted_us or event.ready == bool(life.ready_us):
            return
        life.ready_us = event.at_us if event.ready else 0  # a pod may have to be replaced
        if not event.ready or life.started:
            return
        self._started.add(life.labels, seconds_since(life.admitted_us, event))
        if not life.was_ready:
            self._until_ready.add(life.labels, seconds_since(life.queued_us, event))
        life.started = life.was_ready = True

    def on_evicted(self, event: decisions.WorkloadEvicted, state: State) -> None:
        """Count an eviction."""
        life = self._life(event.workload, state)
        if life is None:
            return
        causes = (event.reason, event.cause)
        self._evicted.add(life.labels, 1.0, *causes)
        if causes not in life.evictions:
            life.evictions |= {causes}
            self._once.add(life.labels, 1.0, *causes)
        if life.ready_us:
            self._lost.add(life.labels, seconds_since(life.ready_us, event), *causes)
        if life.admitted_us:
            life.executed_us += event.at_us - life.admitted_us
        life.evicted_us, life.evicted_reason = event.at_us, event.reason
        life.admitted_us = life.ready_us = 0

    def on_released(self, event: decisions.QuotaReleased, state: State) -> None:
        """Count how long an eviction took, or that another slice replaced this one."""
        life = self._life(event.workload, state)
        if life is not None and event.reason == SLICE_REPLACED:
            self._replaced.labels(life.labels.cluster_queue, ROLE).inc()
        if life is not None and life.evicted_us:
            if life.evicted_reason != DEACTIVATED:  # it does not become pending again
                seconds = seconds_since(life.evicted_us, event)
                self._left.add(life.labels, seconds, life.evicted_reason)
            life.evicted_us = 0

    def on_requeued(self, event: decisions.WorkloadRequeued, state: State) -> None:
        """Start the wait of a requeued workload."""
        life = self._life(event.workload, state)
        if life is not None:
            life.queued_us = event.at_us

    def on_preempted(self, event: decisions.WorkloadPreempted, _state: State) -> None:
        """Count a preemption for the preemptor's ClusterQueue."""
        self._preempted.labels(event.by_cluster_queue, event.reason, ROLE).inc()

    def on_finished(self, event: facts.WorkloadFinished, state: State) -> None:
        """Count an end."""
        life = self._life(event.workload, state)
        if life is None or not life.labels.cluster_queue:
            return
        self._finished.add(life.labels)
        running_us = event.at_us - life.admitted_us if life.admitted_us else 0
        self._ran.add(life.labels, (life.executed_us + running_us) * S)
        life.admitted_us = life.executed_us = 0

    def on_cluster_queue_removed(self, event: facts.ClusterQueueRemoved, state: State) -> None:
        """Forget the series of a ClusterQueue, and of its cohort if that goes with it."""
        self._maker.forget_cluster_queue(event.name)
        self._preempted.remove_by_labels({"preempting_cluster_queue": event.name})
        self._replaced.remove_by_labels({"cluster_queue": event.name})
        self._below.retain(state)

    def on_cohort_removed(self, _event: facts.CohortRemoved, state: State) -> None:
        """Forget the series of a cohort that no ClusterQueue is in either."""
        self._below.retain(state)

    def on_local_queue_defined(self, event: facts.LocalQueueDefined, _state: State) -> None:
        """Begin or end the series of a LocalQueue."""
        self._maker.follow_local_queue(event.namespace, event.name)

    def on_local_queue_removed(self, event: facts.LocalQueueRemoved, _state: State) -> None:
        """Forget the series of a LocalQueue."""
        self._maker.forget_local_queue(event.namespace, event.name)

    def _life(self, key: str, state: State) -> Life | None:
        """Return a workload's past; for one from before this term, the part that the state has."""
        life, workload = self._lives.get(key), state.workloads.get(key)
        if life is None and workload is not None:
            life = self._lives[key] = life_of(workload)
        return life


_TRIED = (decisions.QuotaReserved, decisions.WorkloadPending, decisions.PreemptionIntended)
_COUNTED: dict[type, Callable[..., None]] = {
    facts.WorkloadSubmitted: Meter.on_submitted,
    facts.WorkloadChanged: Meter.on_changed,
    facts.WorkloadRemoved: Meter.on_removed,
    facts.WorkloadFinished: Meter.on_finished,
    facts.PodsReadyReported: Meter.on_ready,
    facts.ClusterQueueRemoved: Meter.on_cluster_queue_removed,
    facts.CohortRemoved: Meter.on_cohort_removed,
    facts.LocalQueueDefined: Meter.on_local_queue_defined,
    facts.LocalQueueRemoved: Meter.on_local_queue_removed,
    decisions.QuotaReserved: Meter.on_reserved,
    decisions.WorkloadAdmitted: Meter.on_admitted,
    decisions.WorkloadEvicted: Meter.on_evicted,
    decisions.QuotaReleased: Meter.on_released,
    decisions.WorkloadRequeued: Meter.on_requeued,
    decisions.WorkloadPreempted: Meter.on_preempted,
}
