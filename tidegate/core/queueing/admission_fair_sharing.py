"""Admission fair sharing: what a LocalQueue has consumed, decaying, decides who is offered first.

Amounts are decimals in natural units (cores, bytes), kept as text of at most 28 digits, since a
power of two machines may differ in its last bit.

Source: behaviour.md 11; conformance/afs, queue-order.
"""

from __future__ import annotations

from decimal import Context, Decimal

from tidegate.core.state.state import LocalUsage, State, Workload
from tidegate.model.quantity import parse
from tidegate.model.quota import WEIGHT_ONE, ClusterQueueSpec

_CONTEXT = Context(prec=28)
_NOTHING = Decimal(0)
_ONE = Decimal(1)
_HALF = Decimal("0.5")
_MILLI = Decimal(1_000)
INFINITE = Decimal("Infinity")


def applies(state: State, spec: ClusterQueueSpec) -> bool:
    """Tell whether a ClusterQueue offers its workloads by their LocalQueues' usage."""
    if not spec.usage_based_admission or state.policy.admission_fair_sharing is None:
        return False
    return state.policy.gates.get("AdmissionFairSharing", True)


def usage_of(state: State, workload: Workload) -> Decimal:
    """Return the weighted usage of a workload's LocalQueue; infinite with a weight of 0."""
    return local_usage(state, workload.local_queue)


def local_usage(state: State, queue: str) -> Decimal:
    """Return a LocalQueue's weighted usage, what its admissions will add included."""
    sharing = state.policy.admission_fair_sharing
    defined = state.objects.local_queues.get(queue)
    known = state.local_usage.get(queue)
    if defined is not None and defined.spec.weight <= 0:
        return INFINITE
    total = _NOTHING
    for amounts in () if known is None else (known.consumed, *known.penalties.values()):
        for resource, text in amounts.items():
            weight = "1" if sharing is None else sharing.resource_weights.get(resource, "1")
            each = _CONTEXT.multiply(_decimal(weight), Decimal(text))
            total = _CONTEXT.add(total, each)
    weighs = WEIGHT_ONE if defined is None else defined.spec.weight
    return _CONTEXT.divide(_CONTEXT.multiply(total, Decimal(WEIGHT_ONE)), Decimal(weighs))


def charge_penalty(state: State, workload: Workload) -> None:
    """Count a workload that was given quota against its LocalQueue at once."""
    share = _share(state, workload)
    if share is None:
        return
    amounts = _natural(workload, share)
    known = state.local_usage.setdefault(workload.local_queue, LocalUsage())
    known.penalties = {**known.penalties, workload.key: amounts}


def drop_penalty(state: State, workload: Workload) -> None:
    """Take back what ``charge_penalty`` counted, if it was not consumed."""
    known = state.local_usage.get(workload.local_queue) if state.local_usage else None
    if known is not None and workload.key in known.penalties:
        known.penalties = {k: one for k, one in known.penalties.items() if k != workload.key}


def consume(state: State, workload: Workload) -> None:
    """Make an admitted workload's penalty part of what its LocalQueue consumed."""
    known = state.local_usage.get(workload.local_queue) if state.local_usage else None
    if known is None or workload.key not in known.penalties:
        return
    penalty = known.penalties[workload.key]
    drop_penalty(state, workload)
    total = {name: Decimal(text) for name, text in known.consumed.items()}
    for resource, text in penalty.items():
        total[resource] = _CONTEXT.add(total.get(resource, _NOTHING), Decimal(text))
    known.consumed = {name: str(total[name]) for name in sorted(total)}


def _share(state: State, workload: Workload) -> Decimal | None:
    """Return which part of its requests a workload's admission adds; None: none is counted."""
    defined = state.objects.cluster_queues.get(workload.cluster_queue)
    sharing = state.policy.admission_fair_sharing
    if defined is None or sharing is None or not applies(state, defined.spec):
        return None
    return alpha(sharing.sampling_interval_us, sharing.half_life_us)


def alpha(elapsed_us: int, half_life_us: int) -> Decimal:
    """Return how much of the present usage counts after a time; 0 if nothing is remembered."""
    if half_life_us <= 0:
        return _NOTHING
    halvings = _CONTEXT.divide(Decimal(elapsed_us), Decimal(half_life_us))
    return _CONTEXT.subtract(_ONE, _CONTEXT.power(_HALF, halvings))


def _natural(workload: Workload, share: Decimal) -> dict[str, str]:
    total: dict[str, int] = {}
    for fr, units in workload.charges:
        total[fr.resource] = total.get(fr.resource, 0) + units
    found: dict[str, str] = {}
    for resource in sorted(total):
        natural = Decimal(total[resource])
        if resource == "cpu":
            natural = _CONTEXT.divide(natural, _MILLI)
        found[resource] = str(_CONTEXT.multiply(natural, share))
    return found


def _decimal(text: str) -> Decimal:
    value = parse(text)
    return _CONTEXT.divide(Decimal(value.numerator), Decimal(value.denominator))
