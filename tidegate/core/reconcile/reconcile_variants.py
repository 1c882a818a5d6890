"""Reconciles a job's variants: creates, deletes, deactivates, activates and ungates them.

There is one variant for each flavor of the queue. Once one is admitted, variants that could not
replace it are deactivated; they are activated again when none is admitted any more. A variant may
preempt only when it is its turn.

Source: behaviour.md 14.
"""

from __future__ import annotations

from hashlib import sha256

from tidegate.contracts.decisions import (
    DecisionEvent,
    VariantCreated,
    VariantDeleted,
    VariantUngated,
    WorkloadDeactivated,
)
from tidegate.contracts.facts import WorkloadSubmitted
from tidegate.contracts.phases import HOLDING
from tidegate.core.admission.orders import eviction_decisions, requeue_event
from tidegate.core.queueing.siblings import (
    ACTIVATED,
    DEACTIVATED,
    PREEMPTION_GATE,
    UNGATES,
    is_migrating,
    variant_flavor,
    variant_flavors,
    variants_of,
)
from tidegate.core.state.state import State, Workload, decision_fields

CONCURRENT_ADMISSION = "ConcurrentAdmission"
"""Eviction reason of a variant whose flavor was removed from its ClusterQueue."""
_BY_HAND = "Deactivated"
_ENDS_ALL = "MaximumExecutionTimeExceeded"
_NAME_MAX = 253
_BASE_MAX = 200
_DIGEST = 10


def reconcile_variants_of(state: State, parent: Workload) -> list[DecisionEvent]:
    """Return the next decisions for a job that has variants, or is to have them."""
    flavors = variant_flavors(state, parent)
    if parent.phase in ("pending", "parent") and parent.active and flavors:
        created = _create_variants(state, parent, flavors)
        if created:
            return created
    if parent.phase != "parent":
        return []
    dropped = [] if flavors is None else _delete_variants(state, parent, flavors)
    return (
        dropped
        or _deactivate_family(state, parent)
        or _switch_variants(state, parent, flavors or ())
        or _ungate_next_variant(state, parent, flavors or ())
    )


def _create_variants(
    state: State, parent: Workload, flavors: tuple[str, ...]
) -> list[DecisionEvent]:
    existing = {variant_flavor(variant) for variant in variants_of(state, parent)}
    return [
        VariantCreated(
            at_us=state.now_us,
            workload=(key := _variant_key(state, parent, flavor)),
            uid=f"{parent.uid}/{flavor}",
            cluster_queue=parent.cluster_queue,
            parent=parent.key,
            flavor=flavor,
            submission=_variant_submission(state, parent, key, flavor, place),
        )
        for place, flavor in enumerate(flavors)
        if flavor not in existing
    ]


def _variant_key(state: State, parent: Workload, flavor: str) -> str:
    """Return the key of a variant, made of its parent's name and its flavor."""
    namespace, _, name = parent.key.partition("/")
    text = f"{name}-{flavor}"
    if len(text) > _NAME_MAX or f"{namespace}/{text}" in state.workloads:
        digest = sha256(f"{parent.uid}\n{flavor}".encode()).hexdigest()
        text = f"{name[:_BASE_MAX]}-{digest[:_DIGEST]}"
    return f"{namespace}/{text}"


def _variant_submission(
    state: State, parent: Workload, key: str, flavor: str, place: int
) -> WorkloadSubmitted:
    return WorkloadSubmitted(
        at_us=state.now_us,
        workload=key,
        uid=f"{parent.uid}/{flavor}",
        job=parent.job,
        version=parent.version,
        queue=parent.queue,
        priority_class=parent.priority_class,
        pod_priority_class=parent.pod_priority_class,
        priority=parent.own_priority,
        created_us=parent.created_us + place,  # the preferred flavor is first among equals
        podsets=parent.podsets,
        max_execution_s=parent.max_execution_s,
        reclaimable=parent.reclaimable,
        author=parent.author,
        priority_boost=parent.priority_boost,
        gates=parent.gates,
        preemption_gates=(*parent.preemption_gates, PREEMPTION_GATE),
        allowed_flavors=(flavor,),
        variant_of=parent.key,
        resource=parent.resource,  # it gets the job's state while it is the acting variant
    )


def _delete_variants(
    state: State, parent: Workload, flavors: tuple[str, ...]
) -> list[DecisionEvent]:
    """Return that variants on removed flavors are deleted; one with quota is evicted first.

    If the queue has no concurrent admission any more, a variant with quota keeps it while it runs.
    """
    results: list[DecisionEvent] = []
    remaining = len(parent.variants)
    for variant in variants_of(state, parent):
        flavor = variant_flavor(variant)
        if flavor in flavors:
            continue
        if variant.phase not in HOLDING:
            remaining -= 1
            results.append(_variant_deleted(state, parent, variant, last=not remaining))
        elif flavors and variant.phase != "evicting":
            message = f"The ClusterQueue has no flavor {flavor} any more."
            results += eviction_decisions(state, variant, CONCURRENT_ADMISSION, message=message)
    return results


def _variant_deleted(
    state: State, parent: Workload, workload: Workload, *, last: bool
) -> VariantDeleted:
    return VariantDeleted(
        **decision_fields(state, workload),
        parent=parent.key,
        flavor=variant_flavor(workload),
        last=last,
    )


def _deactivate_family(state: State, parent: Workload) -> list[DecisionEvent]:
    """Return that a parent is deactivated: by a user, by its run time, or with all variants."""
    family = variants_of(state, parent)
    causes = [workload.deactivated_cause for workload in family if workload.phase == "inactive"]
    reason = ""
    if not parent.active:
        reason = _BY_HAND
    elif _ENDS_ALL in causes:
        reason = _ENDS_ALL
    elif causes and all(causes) and len(causes) == len(family):
        reason = causes[0]
    if not reason:
        return []
    message = f"Its parent {parent.key} is not active."
    results: list[DecisionEvent] = [
        _deactivate_variant(state, workload, message)
        for workload in family
        if workload.phase == "pending"
    ]
    return results if parent.acting else [*results, _parent_deactivated(state, parent, reason)]


def _parent_deactivated(state: State, parent: Workload, reason: str) -> WorkloadDeactivated:
    return WorkloadDeactivated(
        **decision_fields(state, parent),
        reason=reason,
        message="" if reason == _BY_HAND else f"Its variants were deactivated: {reason}.",
    )


def _switch_variants(
    state: State, parent: Workload, flavors: tuple[str, ...]
) -> list[DecisionEvent]:
    """Return which variants are deactivated for the admitted one, or else activated again."""
    holder = state.workloads.get(parent.acting)
    if not parent.active:
        return []
    if holder is None:
        moves = any(is_migrating(state, key) for key in parent.variants)
        return [] if moves else _activate_variants(state, parent, set(flavors))
    if holder.phase == "evicting" or variant_flavor(holder) not in flavors:
        return []
    better, message = _preferred_flavors(state, parent, holder, flavors)
    results: list[DecisionEvent] = [
        _deactivate_variant(state, variant, message)
        for variant in variants_of(state, parent)
        if variant.phase == "pending" and variant_flavor(variant) not in better
    ]
    return results or _activate_variants(state, parent, better)


def _preferred_flavors(
    state: State, parent: Workload, holder: Workload, flavors: tuple[str, ...]
) -> tuple[set[str], str]:
    """Return the flavors that a job may still move to, and why it moves to no other."""
    spec = state.objects.cluster_queues[parent.cluster_queue].spec
    if not spec.migrates:
        return set(), f"RetainFirstAdmission: another variant, {holder.key}, is admitted."
    end = flavors.index(variant_flavor(holder))
    last = spec.last_acceptable_flavor
    if last in flavors:
        end = min(end, flavors.index(last) + 1)
    return set(
        flavors[:end]
    ), f"The variant {holder.key} is admitted, on a flavor that is preferred."


def _activate_variants(state: State, parent: Workload, flavors: set[str]) -> list[DecisionEvent]:
    """Return that variants on ``flavors`` are activated that an admission had deactivated."""
    return [
        requeue_event(state, variant, ACTIVATED)
        for variant in variants_of(state, parent)
        if variant.phase == "inactive"
        and not variant.deactivated_cause
        and variant_flavor(variant) in flavors
    ]


def _deactivate_variant(state: State, workload: Workload, message: str) -> WorkloadDeactivated:
    return WorkloadDeactivated(
        **decision_fields(state, workload), reason=DEACTIVATED, message=message
    )


def _ungate_next_variant(
    state: State, parent: Workload, flavors: tuple[str, ...]
) -> list[DecisionEvent]:
    """Return that the next variant's preemption gate opens, if one needs it and it is time."""
    if f"{UNGATES}/{parent.key}" in state.deadlines.at:
        return []
    stuck = {
        variant_flavor(variant): variant
        for variant in variants_of(state, parent)
        if _needs_to_preempt(variant)
    }
    for flavor in flavors:
        if (workload := stuck.get(flavor)) is not None:
            opened = VariantUngated(**decision_fields(state, workload), parent=parent.key)
            return [opened]
    return []


def _needs_to_preempt(workload: Workload) -> bool:
    pending = workload.pending_status
    is_gated = pending is not None and pending.reason == "AdmissionGated" and not pending.others
    return workload.phase == "pending" and is_gated and PREEMPTION_GATE in workload.preemption_gates
