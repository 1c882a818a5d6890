"""What LocalQueues have consumed, sampled: it decays towards what they use now.

A ClusterQueue's LocalQueues are sampled together, an interval after the last time. While nothing
was consumed and nothing runs there, nobody is sampled.

Source: behaviour.md 11.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import TypeAlias

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
"""A Quantity has no smaller part, so less than that was never consumed."""
Defined: TypeAlias = (
    definitions.PolicyConfigured
    | definitions.ClusterQueueDefined
    | definitions.ClusterQueueRemoved
    | definitions.LocalQueueDefined
)


def follow(state: State, event: definitions.Named | definitions.PolicyConfigured) -> None:
    """Begin to sample where a definition, folded already, asks for that, or end it."""
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
    """Sample again where nothing had been consumed and somebody is charged now; folds call it."""
    key = f"{FAMILY}/{cluster_queue}"
    waits = key in state.deadlines.at or key in state.deadlines.due
    if waits or not _sampled(state, cluster_queue):
        return
    for queue in _queues(state, cluster_queue):
        known = state.local_usage.setdefault(queue, LocalUsage())
        known.updated_us = state.now_us
    _sample_later(state, cluster_queue)


def consume(state: State, workload: Workload) -> None:
    """Make an admitted workload's penalty part of what its LocalQueue consumed, as of now."""
    known = state.local_usage.get(workload.local_queue) if state.local_usage else None
    if known is None or workload.key not in known.penalties:
        return
    penalty = known.penalties[workload.key]
    known.penalties = {key: one for key, one in known.penalties.items() if key != workload.key}
    known.consumed = summed(_consumed(state, workload.local_queue, beside=workload), penalty)
    known.updated_us = state.now_us


def sample(state: State, cluster_queue: str) -> LocalQueueUsageSampled:
    """Return what each LocalQueue of a ClusterQueue has consumed by now."""
    usage = list[SampledUsage]()
    for queue in _queues(state, cluster_queue):
        namespace, _, name = queue.partition("/")
        found = _consumed(state, queue)
        consumed = {one: text for one, text in found.items() if Decimal(text) >= _LEAST}
        usage.append(SampledUsage(namespace=namespace, name=name, consumed=consumed))
    return LocalQueueUsageSampled(
        at_us=state.now_us, cluster_queue=cluster_queue, usage=tuple(usage)
    )


def fold_sample(state: State, event: LocalQueueUsageSampled) -> None:
    """Take a sample over, and ask for the next one if that would tell anything."""
    for one in event.usage:
        queue = f"{one.namespace}/{one.name}"
        if queue in state.objects.local_queues:
            known = state.local_usage.setdefault(queue, LocalUsage())
            known.consumed, known.updated_us = one.consumed, event.at_us
    deadlines.clear(state, f"{FAMILY}/{event.cluster_queue}")
    cq = forest(state).cluster_queues.get(event.cluster_queue)
    if cq is not None:
        touch(state, cq.tree)  # who is offered first may be another
        if cq.holding or any(one.consumed for one in event.usage):
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
    found = state.objects.local_queues.items()
    return sorted(key for key, one in found if one.spec.cluster_queue == cluster_queue)


def _consumed(state: State, queue: str, *, beside: Workload | None = None) -> Mapping[str, str]:
    """Return what a LocalQueue has consumed by now.

    ``beside``: who does not count as admitted yet.
    """
    known, sharing = state.local_usage.get(queue), state.policy.admission_fair_sharing
    if known is None or sharing is None:
        return {}
    elapsed_us = state.now_us - known.updated_us
    if sharing.half_life_us <= 0:
        return {}
    if not known.updated_us or elapsed_us <= 0:
        return known.consumed
    share = alpha(elapsed_us, sharing.half_life_us)
    return decayed(known.consumed, _used(state, queue, beside), share)


def _used(state: State, queue: str, beside: Workload | None) -> dict[str, Decimal]:
    """Return what the admitted workloads of a LocalQueue use, in natural units."""
    defined = state.objects.local_queues.get(queue)
    name = "" if defined is None else defined.spec.cluster_queue
    cq = forest(state).cluster_queues.get(name)
    total: dict[str, int] = {}
    for one in () if cq is None else cq.holding.values():
        if one.local_queue == queue and one.admitted_us and one is not beside:
            for fr, units in one.charges:
                total[fr.resource] = total.get(fr.resource, 0) + units
    return {resource: natural(resource, units) for resource, units in total.items()}
