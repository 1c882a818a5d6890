"""Nominates each ClusterQueue's head: admissibility, flavors, victims, all on the same tree.

Source: behaviour.md 1 (admissibility), 3.1.
"""

from __future__ import annotations

from typing import Literal

from tidegate.contracts.decisions import PendingReason
from tidegate.core.nomination.decide_context import DecideContext, Scan
from tidegate.core.nomination.proposals import Proposal, propose
from tidegate.core.queueing.admissibility import NAMESPACE_MISMATCH, refused
from tidegate.core.queueing.ordering import Entry
from tidegate.core.state.cluster_queues import ClusterQueueState
from tidegate.core.state.state import Intent, State, Workload
from tidegate.model.gates import gate
from tidegate.model.ids import FlavorResource

Outcome = Literal[
    "admitted",
    "preempting",
    "no fit",
    "no candidates",
    "gated",
    "deferred",
    "skipped",
    "refused",  # it may not be admitted at all
    "elsewhere",  # its namespace may not use the ClusterQueue
]
"""How a cycle ended for a head; behaviour.md 2.4 calls it the requeue reason."""


class Nominee(Entry, kw_only=True, eq=False):
    """A ClusterQueue's head in one cycle."""

    cq: ClusterQueueState
    proposal: Proposal | None = None  # None: it may not be admitted
    intent: Intent | None = None  # its victims have left: it can start on their quota now
    outcome: Outcome = "skipped"
    reason: PendingReason = "WaitingForQuota"
    details: str = ""  # in words; empty: the flavors tried say it

    @property
    def usage(self) -> dict[FlavorResource, int]:
        """Return what the head would be charged."""
        return {} if self.proposal is None else self.proposal.assignment.usage


def nominate(state: State, cq: ClusterQueueState, workload: Workload, scan: Scan = ()) -> Nominee:
    """Return a workload's proposal, or its reason to wait; changes nothing."""
    nominee = Nominee(workload=workload, cq=cq)
    if _admissible(state, workload, nominee):
        nominee.proposal = propose(state, cq, workload, scan)
        nominee.borrows = nominee.proposal.assignment.borrows
        nominee.is_preemptor = state.sticky.get(cq.name) == workload.key
    return nominee


def scan_of(context: DecideContext, cq: ClusterQueueState, workload: Workload) -> Scan:
    """Return where a workload's flavor scan resumes, as Kueue's does; empty if outdated."""
    scan, cycle, seq = context.scanned.get(workload.key, workload.scan) or ((), 0, 0)
    policy = context.state.policy
    preserved = gate(policy, "FlavorFungibilityPreserveScanProgress")
    if preserved and cycle >= context.cycle - 1:
        return scan
    return scan if seq >= cq.tree.left_seq else ()


def _admissible(state: State, workload: Workload, nominee: Nominee) -> bool:
    """Tell whether a workload may be admitted at all; if not, set the nominee's reason."""
    barrier = refused(state, workload)
    if barrier is None:
        return True
    nominee.outcome = "elsewhere" if barrier.code == NAMESPACE_MISMATCH else "refused"
    nominee.reason, nominee.details = barrier.reason, barrier.details
    return False
