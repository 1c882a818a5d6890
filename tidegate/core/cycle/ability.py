"""Whether a head can be admitted or preempt right now, and if not, the reason why it waits.

In the default mode this module alone decides that: a workload that can act becomes its
ClusterQueue's head and is processed in the cycle's order; every other gets the reason set here.
"""

from __future__ import annotations

from tidegate.core.admission.concurrent import holder, waits_for_variant
from tidegate.core.folding.timing import admission_blocked, blocking_admission
from tidegate.core.nomination.decide_context import DecideContext
from tidegate.core.nomination.nominate import Nominee
from tidegate.core.nomination.proposals import Proposal
from tidegate.core.queueing.variants import PREEMPTION_GATE
from tidegate.core.state.state import State, Workload
from tidegate.model.gates import gate


def can_act(context: DecideContext, nominee: Nominee) -> bool:
    """Tell whether a head may be admitted or preempt now; set its reason if not."""
    proposal = nominee.proposal
    if proposal is None:
        return False
    if not proposal.works:
        lacks_quota(nominee, proposal)
        return False
    if waits_for_variant(context.state, nominee):
        return False
    if proposal.targets:
        return not is_gated(context, nominee)
    if waits_for_pods(context.state, nominee):
        return False
    if not _fits_with_leaving(context, nominee, proposal):
        nominee.outcome, nominee.reason = "deferred", "WaitingForPreemptedWorkloads"
        return False
    return True


def waits_for_pods(state: State, nominee: Nominee) -> bool:
    """Tell whether other workloads' pods must be ready first; name one of them if that is new."""
    if not admission_blocked(state):
        return False
    nominee.outcome, nominee.reason = "skipped", "WaitingForPodsReady"
    pending = nominee.workload.pending_status
    if pending is None or pending.reason != nominee.reason:
        nominee.details = _blocking_details(state, blocking_admission(state))
    return True


def _blocking_details(state: State, before: Workload | None) -> str:
    assert before is not None, "admission is blocked, but no workload blocks it"
    watched = before.resource in (state.expected or (before.resource,))
    return f"those of {before.key}" + ("" if watched else ", whose kind is not watched")


def lacks_quota(nominee: Nominee, proposal: Proposal) -> None:
    """Set the reason of a head that neither fits nor has preemption candidates."""
    if proposal.assignment.mode == "NoFit":
        nominee.outcome = "no fit"
        nominee.reason = proposal.assignment.reason or "NoMatchingFlavor"
    else:
        nominee.outcome, nominee.reason = "no candidates", "WaitingForQuota"


def is_gated(context: DecideContext, nominee: Nominee) -> bool:
    """Tell whether a head's preemption gate is closed; set its reason if so."""
    workload = nominee.workload
    closed = bool(workload.parent) and PREEMPTION_GATE in workload.preemption_gates
    on = gate(context.state.policy, "MultiKueueOrchestratedPreemption")
    if not closed and not (on and workload.preemption_gates):
        return False
    nominee.outcome, nominee.reason = "gated", "AdmissionGated"
    nominee.details = "its preemption gate is closed"
    return True


def _fits_with_leaving(context: DecideContext, nominee: Nominee, proposal: Proposal) -> bool:
    """Tell whether a head fits while evicted workloads that still run count as usage."""
    if holder(context.state, nominee.workload) is not None:
        return True  # it takes the place of that variant
    charges = proposal.assignment.usage.items()
    if not context.fits_now(nominee.cq, charges):
        return False
    return context.place_now(nominee.workload, proposal.assignment)
