"""Whether a head could start or preempt right now, and if not, what it waits for.

The one place that says so in the default mode: a workload that may act is a cycle's head, processed
in the cycle's order; every other gets the reason found here.
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
    """Tell whether a head may be admitted or preempt now; note in it why not."""
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
    """Tell whether other workloads' pods must be ready first, and note whose if that is news."""
    if not admission_blocked(state):
        return False
    nominee.outcome, nominee.reason = "skipped", "WaitingForPodsReady"
    pending = nominee.workload.pending_status
    if pending is None or pending.reason != nominee.reason:
        nominee.details = _whose(state, blocking_admission(state))
    return True


def _whose(state: State, before: Workload | None) -> str:
    assert before is not None, "nobody is waited for"
    watched = before.resource in (state.expected or (before.resource,))
    return f"those of {before.key}" + ("" if watched else ", whose kind is not watched")


def lacks_quota(nominee: Nominee, proposal: Proposal) -> None:
    """Note that a head neither fits nor has anybody to preempt."""
    if proposal.assignment.mode == "NoFit":
        nominee.outcome = "no fit"
        nominee.reason = proposal.assignment.reason or "NoMatchingFlavor"
    else:
        nominee.outcome, nominee.reason = "no candidates", "WaitingForQuota"


def is_gated(context: DecideContext, nominee: Nominee) -> bool:
    """Tell whether a head may not preempt yet, and note why."""
    workload = nominee.workload
    closed = bool(workload.parent) and PREEMPTION_GATE in workload.preemption_gates
    on = gate(context.state.policy, "MultiKueueOrchestratedPreemption")
    if not closed and not (on and workload.preemption_gates):
        return False
    nominee.outcome, nominee.reason = "gated", "AdmissionGated"
    nominee.details = "its preemption gate is closed"
    return True


def _fits_with_leaving(context: DecideContext, nominee: Nominee, proposal: Proposal) -> bool:
    """Tell whether what is charged, by who leaves as well, leaves room too."""
    if holder(context.state, nominee.workload) is not None:
        return True  # it takes the place of that variant
    charges = proposal.assignment.usage.items()
    if not context.fits_now(nominee.cq, charges):
        return False
    return context.place_now(nominee.workload, proposal.assignment)
