"""Jobs with several workloads: variants on a flavor each, and slices of which one replaces another.

Concurrent admission: a job's own workload, the parent, stands for the job, but never waits for
quota. Each of its variants may use one flavor. The job is started and stopped for the variant that
holds quota, which is the acting one. An elastic job that is scaled up gets another slice, which
replaces the older one once it fits.

Source: behaviour.md 13, 14.
"""

from __future__ import annotations

from typing import Literal

from tidegate.contracts.phases import Phase
from tidegate.core.state.remotes import Dispatch
from tidegate.core.state.state import State, Workload
from tidegate.model.gates import gate_enabled
from tidegate.model.ids import FlavorResource

GATE: Literal["ConcurrentAdmission"] = "ConcurrentAdmission"
PREEMPTION_GATE = "kueue.x-k8s.io/concurrent-admission"
"""Closed on each variant that Tidegate creates: it may not preempt before its turn."""
UNGATES = "ungate"
"""The family of deadlines at which a parent may open its next variant's preemption gate."""
MIGRATION: Literal["FlavorMigration"] = "FlavorMigration"
ACTIVATED, DEACTIVATED = "ActivatedVariant", "DeactivatedVariant"
"""Reasons why a variant is pending again, or inactive: because of its siblings or its parent."""
_LEFT = ("evicting", "pending", "inactive")


def may_be_parent(state: State, workload: Workload) -> bool:
    """Tell whether a workload is a parent, or would be one in a queue with concurrent admission.

    Only a workload that was created from a job can be one, and only if it may stop as a whole to
    move: not an elastic one, nor one whose Workload the job's owner created.
    """
    if workload.variants:
        return True
    if workload.phase != "pending" or not gate_enabled(state.policy, GATE):
        return False
    excluded = workload.parent or workload.variant_of or workload.prebuilt or workload.elastic
    excluded = excluded or workload.body
    return not excluded and workload.job.kind != "workload"


def variant_flavors(state: State, parent: Workload) -> tuple[str, ...] | None:
    """Return the flavors that a job is tried on, in the order of its queue; None: not known.

    Empty if its ClusterQueue has no concurrent admission.
    """
    objects = state.objects
    queue = objects.cluster_queues.get(objects.queue_of(parent.local_queue))
    if queue is None:
        return None
    spec = queue.spec
    tried = spec.concurrent and len(spec.groups) == 1 and spec.strategy != "StrictFIFO"
    if not tried or not gate_enabled(state.policy, GATE):
        return ()
    return tuple(flavor.flavor for flavor in spec.groups[0].flavors)


def variants_of(state: State, parent: Workload) -> list[Workload]:
    """Return the variants of a parent, in the order of their creation."""
    generator = (state.workloads.get(key) for key in parent.variants)
    return [workload for workload in generator if workload is not None]


def variant_flavor(variant: Workload) -> str:
    """Return the flavor that a variant is tried on."""
    return (variant.allowed_flavors or ("",))[0]


def acting_variant(state: State, workload: Workload) -> Workload:
    """Return a parent's variant that holds quota, if one does; else the workload itself."""
    return state.workloads.get(workload.acting, workload) if workload.acting else workload


def must_wait_for_sibling(state: State, workload: Workload) -> bool:
    """Tell whether a variant has to wait for a sibling that stops, or that replaces another."""
    parent = state.workloads.get(workload.parent)
    if parent is None:
        return False
    holder = state.workloads.get(parent.acting)
    if holder is not None and holder is not workload and holder.phase == "evicting":
        return True
    return any(is_migrating(state, key) for key in parent.variants if key != workload.key)


def is_migrating(state: State, key: str) -> bool:
    """Tell whether a variant preempted a sibling in order to replace it."""
    intent = state.intents.get(key)
    return intent is not None and any(victim.reason == MIGRATION for victim in intent.victims)


def remove_variant(state: State, workload: Workload) -> None:
    """Remove a deleted workload from its parent's variants; only folds call this."""
    parent = state.workloads.get(workload.parent)
    if parent is not None:
        parent.variants = tuple(key for key in parent.variants if key != workload.key)
        parent.acting = "" if parent.acting == workload.key else parent.acting


def reactivated_phase(workload: Workload) -> Phase:
    """Return the phase of a workload that is activated again; a variant stays inactive."""
    if workload.parent:
        workload.deactivated_cause = ""
        return "inactive"
    return "parent" if workload.variants else "pending"


def is_replaced_slice_evicted(state: State, workload: Workload) -> bool:
    """Tell whether a workload cannot replace its older slice because that was evicted."""
    older = state.workloads.get(workload.replaces)
    return older is not None and older.elastic and older.phase in _LEFT


def link_slices(state: State, workload: Workload) -> None:
    """Link a new slice with the one that it replaces, and with the one that replaces it.

    The latter may exist before it, if its job joined late the slice that was sent for it.
    """
    older = state.workloads.get(workload.replaces)
    if older is not None:
        older.successor = workload.key
    if not workload.prebuilt:
        return
    for key in state.by_queue.get(workload.local_queue, ()):
        other = state.workloads[key]
        if other.elastic and other.replaces == workload.key:
            workload.successor = key


def set_replaced_slice(state: State, workload: Workload, replaces: str, *, elastic: bool) -> None:
    """Set the slice that a workload replaces from now on; empty: none."""
    older = state.workloads.get(replaces) if replaces != workload.replaces else None
    if older is not None and elastic:
        older.successor = workload.key
    workload.replaces = replaces


def transfer_job(state: State, workload: Workload) -> None:
    """Let the slice that replaced a workload stand for its job, which runs by the same order."""
    heir = state.workloads.get(workload.successor)
    if heir is None or heir.job.uid != workload.job.uid:
        return  # the manager cluster of a job that was sent here says when its slice changes
    state.by_uid[workload.job.uid] = heir.key
    heir.state, heir.state_us, heir.order = workload.state, workload.state_us, workload.order
    heir.version = max(heir.version, workload.version)
    heir.executed_us = workload.executed_us
    heir.reclaimable = workload.reclaimable
    if workload.dispatch is not None and workload.dispatch.ran:
        heir.dispatch = Dispatch(ran=True)  # its job shows the status of a worker cluster


def charges_beyond_replaced(
    state: State, workload: Workload, charges: tuple[tuple[FlavorResource, int], ...]
) -> tuple[tuple[FlavorResource, int], ...]:
    """Return the charges of a workload beyond those of the slice that it is to replace."""
    older = state.workloads.get(workload.replaces)
    if older is None or not older.elastic:
        return charges
    had = dict(older.charges)
    return tuple((fr, max(0, units - had.get(fr, 0))) for fr, units in charges)
