"""Samples the usage that LocalQueues have consumed: it decays towards their present usage.

All LocalQueues of a ClusterQueue are sampled together, one interval after the last sample. There
are no samples while nothing was consumed and nothing runs in the ClusterQueue.

Source: behaviour.md 11.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from tidegate.contracts.decisions import LocalQueueUsageSampled, SampledUsage
from tidegate.contracts.fact_kinds import definitions
from tidegate.core.queueing.admission_fair_sharing import (
    alpha,
    applies,
    decayed,
    natural,
    summed,
)
from tidegate.core.quota.forest import forest
from tidegate.core.quota.touching import touch
from tidegate.core.state import deadlines
from tidegate.core.state.state import LocalUsage, State, Workload

FAMILY = "usage"
_LEAST = Decimal("0.001")
"""A Quantity has no smaller part, so smaller amounts count as zero."""


def follow(state: State, event: definitions.Named | definitions.PolicyConfigured) -> None:
    """Begin or end sampling after the fold of a definition that enables or disables it."""
    match event:
        case definitions.PolicyConfigured():
            for name in state.objects.cluster_queues:
                _begin(state, name)
        case definitions.ClusterQueueDefined() | definitions.ClusterQueueRemoved():
            _begin(state, event.name)
        case definitions.LocalQueueDefined():
            if f"{event.namespace}/{event.name}" not in state.local_usage:
                _begin(state, event.spec.cluster_queue)
        case _:
            pass


def _begin(state: State, cluster_queue: str) -> None:
    if _sampled(state, cluster_queue):
        deadlines.set_due(state, f"{FAMILY}/{cluster_queue}")
    else:
        deadlines.clear(state, f"{FAMILY}/{cluster_queue}")


def wake(state: State, cluster_queue: str) -> None:
    """Begin sampling a ClusterQueue that was idle and is charged now; only folds call this."""
    key = f"{FAMILY}/{cluster_queue}"
    waits = key in state.deadlines.at or key in state.deadlines.due
    if waits or not _sampled(state, cluster_queue):
        return
    for queue in _queues(state, cluster_queue):
        local_usage = state.local_usage.setdefault(queue, LocalUsage())
        local_usage.updated_us = state.now_us
    _sample_later(state, cluster_queue)


def consume(state: State, workload: Workload) -> None:
    """Add an admitted workload's penalty to its LocalQueue's consumed usage, as of now."""
    local_usage = state.local_usage.get(workload.local_queue) if state.local_usage else None
    if local_usage is None or workload.key not in local_usage.penalties:
        return
    penalty = local_usage.penalties[workload.key]
    local_usage.penalties = {
        key: penalty for key, penalty in local_usage.penalties.items() if key != workload.key
    }
    local_usage.consumed = summed(_consumed(state, workload.local_queue, beside=workload), penalty)
    local_usage.updated_us = state.now_us


def sample(state: State, cluster_queue: str) -> LocalQueueUsageSampled:
    """Return the usage that each LocalQueue of a ClusterQueue has consumed by now."""
    usage = list[SampledUsage]()
    for queue in _queues(state, cluster_queue):
        namespace, _, name = queue.partition("/")
        amounts = _consumed(state, queue)
        consumed = {resource: text for resource, text in amounts.items() if Decimal(text) >= _LEAST}
        usage.append(SampledUsage(namespace=namespace, name=name, consumed=consumed))
    return LocalQueueUsageSampled(
        at_us=state.now_us, cluster_queue=cluster_queue, usage=tuple(usage)
    )


def fold_sample(state: State, event: LocalQueueUsageSampled) -> None:
    """Store a sample, and set the next one's deadline unless usage is and stays zero."""
    for sampled_usage in event.usage:
        queue = f"{sampled_usage.namespace}/{sampled_usage.name}"
        if queue in state.objects.local_queues:
            local_usage = state.local_usage.setdefault(queue, LocalUsage())
            local_usage.consumed, local_usage.updated_us = sampled_usage.consumed, event.at_us
    deadlines.clear(state, f"{FAMILY}/{event.cluster_queue}")
    cq = forest(state).cluster_queues.get(event.cluster_queue)
    if cq is not None:
        touch(state, cq.tree)  # the head may be of another LocalQueue now
        if cq.holding or any(sampled_usage.consumed for sampled_usage in event.usage):
            _sample_later(state, event.cluster_queue)


def _sampled(state: State, cluster_queue: str) -> bool:
    defined = state.objects.cluster_queues.get(cluster_queue)
    return defined is not None and applies(state, defined.spec)


def _sample_later(state: State, cluster_queue: str) -> None:
    sharing = state.policy.admission_fair_sharing
    if sharing is not None:
        at_us = state.now_us + sharing.sampling_interval_us
        deadlines.set(state, f"{FAMILY}/{cluster_queue}", at_us)


def _queues(state: State, cluster_queue: str) -> list[str]:
    """Return a ClusterQueue's LocalQueues, by "<namespace>/<name>", in order."""
    queues = state.objects.local_queues.items()
    return sorted(
        key
        for key, local_queue_defined in queues
        if local_queue_defined.spec.cluster_queue == cluster_queue
    )


def _consumed(state: State, queue: str, *, beside: Workload | None = None) -> Mapping[str, str]:
    """Return the usage that a LocalQueue has consumed by now.

    ``beside``: a workload that does not count as admitted yet.
    """
    local_usage, sharing = state.local_usage.get(queue), state.policy.admission_fair_sharing
    if local_usage is None or sharing is None:
        return {}
    elapsed_us = state.now_us - local_usage.updated_us
    if sharing.half_life_us <= 0:
        return {}
    if not local_usage.updated_us or elapsed_us <= 0:
        return local_usage.consumed
    share = alpha(elapsed_us, sharing.half_life_us)
    return decayed(local_usage.consumed, _used(state, queue, beside), share)


def _used(state: State, queue: str, beside: Workload | None) -> dict[str, Decimal]:
    """Return the usage of a LocalQueue's admitted workloads, in natural units."""
    defined = state.objects.local_queues.get(queue)
    name = "" if defined is None else defined.spec.cluster_queue
    cq = forest(state).cluster_queues.get(name)
    total: dict[str, int] = {}
    for workload in () if cq is None else cq.holding.values():
        if workload.local_queue == queue and workload.admitted_us and workload is not beside:
            for fr, units in workload.charges:
                total[fr.resource] = total.get(fr.resource, 0) + units
    return {resource: natural(resource, units) for resource, units in total.items()}
