"""Admission fair sharing: workloads of the LocalQueue with the least decayed usage go first.

The usage that LocalQueues have consumed decays towards their present usage. All LocalQueues of a
ClusterQueue are sampled together, one interval after the last sample. There are no samples while
nothing was consumed and nothing runs in the ClusterQueue.

Amounts are decimals in natural units (cores, bytes), kept as text of at most 28 digits, since
floating-point powers may differ between machines in the last bit.

Source: behaviour.md 11; conformance/afs, queue-order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Context, Decimal

from tidegate.contracts.decisions import LocalQueueUsageSampled, SampledUsage
from tidegate.contracts.fact_kinds import definitions
from tidegate.core.quota.forest import forest
from tidegate.core.state import deadlines
from tidegate.core.state.scheduling_queue import invalidate_tree
from tidegate.core.state.state import LocalUsage, State, Workload
from tidegate.model.gates import gate_enabled
from tidegate.model.quantity import parse_quantity
from tidegate.model.quota import WEIGHT_ONE, ClusterQueueSpec

_CONTEXT = Context(prec=28)
_NOTHING = Decimal(0)
_ONE = Decimal(1)
_HALF = Decimal("0.5")
_MILLI = Decimal(1_000)
INFINITE = Decimal("Infinity")
FAMILY = "usage"
_LEAST = Decimal("0.001")
"""A Quantity has no smaller part, so smaller amounts count as zero."""


def orders_by_usage(state: State, spec: ClusterQueueSpec) -> bool:
    """Tell whether a ClusterQueue offers its workloads by their LocalQueues' usage."""
    if not spec.usage_based_admission or state.policy.admission_fair_sharing is None:
        return False
    return gate_enabled(state.policy, "AdmissionFairSharing")


def usage_by_local_queue(state: State, workloads: Iterable[Workload]) -> dict[str, Decimal]:
    """Return the weighted usage of each LocalQueue of the workloads, by its name."""
    names = dict.fromkeys(workload.local_queue for workload in workloads)
    return {name: weighted_usage(state, name) for name in names}


def weighted_usage(state: State, queue: str) -> Decimal:
    """Return a LocalQueue's weighted usage, including penalties for admissions under way.

    With a weight of 0 it is infinite.
    """
    sharing = state.policy.admission_fair_sharing
    defined = state.objects.local_queues.get(queue)
    sampled = state.local_usage.get(queue)
    if defined is not None and defined.spec.weight <= 0:
        return INFINITE
    total = _NOTHING
    for amounts in () if sampled is None else (sampled.consumed, *sampled.penalties.values()):
        for resource, text in amounts.items():
            weight = "1" if sharing is None else sharing.resource_weights.get(resource, "1")
            each = _CONTEXT.multiply(_parse_decimal(weight), Decimal(text))
            total = _CONTEXT.add(total, each)
    weighs = WEIGHT_ONE if defined is None else defined.spec.weight
    return _CONTEXT.divide(_CONTEXT.multiply(total, Decimal(WEIGHT_ONE)), Decimal(weighs))


def charge_penalty(state: State, workload: Workload) -> None:
    """Add a workload that reserved quota to its LocalQueue's penalties at once."""
    share = _penalty_share(state, workload)
    if share is None:
        return
    amounts = _natural_charges(workload, share)
    sampled = state.local_usage.setdefault(workload.local_queue, LocalUsage())
    sampled.penalties = {**sampled.penalties, workload.key: amounts}


def drop_penalty(state: State, workload: Workload) -> None:
    """Remove a workload's penalty, if it was not consumed."""
    _pop_penalty(state, workload, workload.local_queue)


def move_penalty(state: State, workload: Workload, queue: str) -> None:
    """Count a workload's penalty for the LocalQueue that it moved to, no longer for ``queue``."""
    amounts = _pop_penalty(state, workload, queue)
    if amounts is not None:
        now = state.local_usage.setdefault(workload.local_queue, LocalUsage())
        now.penalties = {**now.penalties, workload.key: amounts}


def _pop_penalty(state: State, workload: Workload, queue: str) -> dict[str, str] | None:
    """Remove a workload's penalty from a LocalQueue, and return it; None: it has none there."""
    sampled = state.local_usage.get(queue) if state.local_usage else None
    amounts = None if sampled is None else sampled.penalties.get(workload.key)
    if sampled is not None and amounts is not None:
        others = sampled.penalties.items()
        sampled.penalties = {key: penalty for key, penalty in others if key != workload.key}
    return amounts


def _decayed_usage(
    consumed: Mapping[str, str], used: Mapping[str, Decimal], share: Decimal
) -> dict[str, str]:
    """Return consumed amounts after a time; ``share`` is the weight of the present usage."""
    sums: dict[str, str] = {}
    for resource in sorted({*consumed, *used}):
        before = _CONTEXT.multiply(
            _CONTEXT.subtract(_ONE, share), Decimal(consumed.get(resource, "0"))
        )
        now = _CONTEXT.multiply(share, used.get(resource, _NOTHING))
        sums[resource] = str(_CONTEXT.add(before, now))
    return sums


def _sum_amounts(amounts: Mapping[str, str], other: Mapping[str, str]) -> dict[str, str]:
    """Return the sums of two amounts, by resource."""
    total = {name: Decimal(text) for name, text in amounts.items()}
    for resource, text in other.items():
        total[resource] = _CONTEXT.add(total.get(resource, _NOTHING), Decimal(text))
    return {name: str(total[name]) for name in sorted(total)}


def _penalty_share(state: State, workload: Workload) -> Decimal | None:
    """Return the fraction of its charges that a workload's admission adds; None: none."""
    defined = state.objects.cluster_queues.get(workload.cluster_queue)
    sharing = state.policy.admission_fair_sharing
    if defined is None or sharing is None or not orders_by_usage(state, defined.spec):
        return None
    return _alpha(sharing.sampling_interval_us, sharing.half_life_us)


def _alpha(elapsed_us: int, half_life_us: int) -> Decimal:
    """Return the weight of the present usage after a time; 0 if the half-life is 0."""
    if half_life_us <= 0:
        return _NOTHING
    halvings = _CONTEXT.divide(Decimal(elapsed_us), Decimal(half_life_us))
    return _CONTEXT.subtract(_ONE, _CONTEXT.power(_HALF, halvings))


def _natural_charges(workload: Workload, share: Decimal) -> dict[str, str]:
    total: dict[str, int] = {}
    for fr, units in workload.charges:
        total[fr.resource] = total.get(fr.resource, 0) + units
    return {
        resource: str(_CONTEXT.multiply(natural_units(resource, total[resource]), share))
        for resource in sorted(total)
    }


def natural_units(resource: str, units: int) -> Decimal:
    """Return base units as cores, bytes or pieces."""
    decimal = Decimal(units)
    return _CONTEXT.divide(decimal, _MILLI) if resource == "cpu" else decimal


def _parse_decimal(text: str) -> Decimal:
    value = parse_quantity(text)
    return _CONTEXT.divide(Decimal(value.numerator), Decimal(value.denominator))


def update_sampling(state: State, event: definitions.Named | definitions.PolicyConfigured) -> None:
    """Begin or end sampling after the fold of a definition that enables or disables it."""
    match event:
        case definitions.PolicyConfigured():
            for name in state.objects.cluster_queues:
                _schedule_first_sample(state, name)
        case definitions.ClusterQueueDefined() | definitions.ClusterQueueRemoved():
            _schedule_first_sample(state, event.name)
        case definitions.LocalQueueDefined():
            if f"{event.namespace}/{event.name}" not in state.local_usage:
                _schedule_first_sample(state, event.spec.cluster_queue)
        case _:
            pass


def _schedule_first_sample(state: State, cluster_queue: str) -> None:
    if _is_sampled(state, cluster_queue):
        deadlines.set_due(state, f"{FAMILY}/{cluster_queue}")
    else:
        deadlines.clear(state, f"{FAMILY}/{cluster_queue}")


def begin_sampling(state: State, cluster_queue: str) -> None:
    """Begin sampling a ClusterQueue that was idle and is charged now; only folds call this."""
    key = f"{FAMILY}/{cluster_queue}"
    waits = key in state.deadlines.at or key in state.deadlines.due
    if waits or not _is_sampled(state, cluster_queue):
        return
    for queue in _local_queues_of(state, cluster_queue):
        local_usage = state.local_usage.setdefault(queue, LocalUsage())
        local_usage.updated_us = state.now_us
    _schedule_next_sample(state, cluster_queue)


def consume_penalty(state: State, workload: Workload) -> None:
    """Add an admitted workload's penalty to its LocalQueue's consumed usage, as of now."""
    penalty = _pop_penalty(state, workload, workload.local_queue)
    if penalty is None:
        return
    local_usage = state.local_usage[workload.local_queue]
    local_usage.consumed = _sum_amounts(
        _consumed_usage(state, workload.local_queue, excluded=workload), penalty
    )
    local_usage.updated_us = state.now_us


def usage_sample(state: State, cluster_queue: str) -> LocalQueueUsageSampled:
    """Return the usage that each LocalQueue of a ClusterQueue has consumed by now."""
    usage = list[SampledUsage]()
    for queue in _local_queues_of(state, cluster_queue):
        namespace, _, name = queue.partition("/")
        amounts = _consumed_usage(state, queue)
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
        invalidate_tree(state, cq.tree)  # the head may be of another LocalQueue now
        if cq.holding or any(sampled_usage.consumed for sampled_usage in event.usage):
            _schedule_next_sample(state, event.cluster_queue)


def _is_sampled(state: State, cluster_queue: str) -> bool:
    defined = state.objects.cluster_queues.get(cluster_queue)
    return defined is not None and orders_by_usage(state, defined.spec)


def _schedule_next_sample(state: State, cluster_queue: str) -> None:
    sharing = state.policy.admission_fair_sharing
    if sharing is not None:
        at_us = state.now_us + sharing.sampling_interval_us
        deadlines.set(state, f"{FAMILY}/{cluster_queue}", at_us)


def _local_queues_of(state: State, cluster_queue: str) -> list[str]:
    """Return a ClusterQueue's LocalQueues, by "<namespace>/<name>", in order."""
    queues = state.objects.local_queues.items()
    return sorted(key for key, queue in queues if queue.spec.cluster_queue == cluster_queue)


def _consumed_usage(
    state: State, queue: str, *, excluded: Workload | None = None
) -> Mapping[str, str]:
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
    share = _alpha(elapsed_us, sharing.half_life_us)
    return _decayed_usage(local_usage.consumed, _current_usage(state, queue, excluded), share)


def _current_usage(state: State, queue: str, excluded: Workload | None) -> dict[str, Decimal]:
    """Return the usage of a LocalQueue's admitted workloads, in natural units."""
    cq = forest(state).cluster_queues.get(state.objects.queue_of(queue))
    total: dict[str, int] = {}
    for workload in () if cq is None else cq.holding.values():
        if workload.local_queue == queue and workload.admitted_us and workload is not excluded:
            for fr, units in workload.charges:
                total[fr.resource] = total.get(fr.resource, 0) + units
    return {resource: natural_units(resource, units) for resource, units in total.items()}
