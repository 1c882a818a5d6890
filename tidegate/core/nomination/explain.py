"""Why a workload waits: a reason of a fixed vocabulary, the amounts, and an English sentence.

Source: behaviour.md 5.7, 5.8, 8.4.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from msgspec.structs import replace

from tidegate.contracts.decisions import FlavorTried, PendingReason
from tidegate.core.flavors.choices import Assignment, PodSetChoice
from tidegate.core.flavors.fitting import TOO_MUCH, Attempt
from tidegate.core.flavors.parts import explained_demand
from tidegate.core.nomination.nominate import Nominee
from tidegate.core.preemption.available import unused_amount
from tidegate.core.preemption.candidates import preemptable_usage
from tidegate.core.quota.charging import requests_digest, requests_per_pod
from tidegate.core.quota.tree import cell_available, infinite_to_unlimited
from tidegate.core.state.cluster_queues import ClusterQueueState
from tidegate.core.state.state import PendingStatus, State, Workload
from tidegate.core.topology.explain import error_of, first_tried
from tidegate.core.topology.fitting.request import Failure
from tidegate.model.quantity import format_quantity

OF_QUOTA: tuple[PendingReason, ...] = ("WaitingForQuota", "ExceedsMaxQuota", "NoMatchingFlavor")
"""Reasons that list the flavors tried without success."""
NODELESS: PendingReason = "TopologyPlacementFailed"
"""The pods fit on no nodes of the topology, even if all nodes were unused."""
Tried = tuple[tuple[str, str, str, str], ...]

SENTENCES: dict[PendingReason, str] = {
    "NoMatchingFlavor": "No flavor of the ClusterQueue matches {podset}",
    "ExceedsMaxQuota": (
        "{podset} requests more than the ClusterQueue's quota plus borrowing limit"
    ),
    "WaitingForQuota": "There is not enough unused quota for {podset}",
    "TopologyPlacementFailed": "{podset} would not fit on unused nodes of the topology",
    "WaitingForPreemptedWorkloads": "The preempted workloads have not stopped yet",
    "Misconfigured": "The workload cannot be admitted as it is defined",
    "Suspended": "The queue is stopped",
    "PendingEvaluation": "The workload has not been evaluated yet",
    "WaitingForPodsReady": "The pods of another workload must be ready first",
    "AdmissionGated": "An admission gate of the workload is closed",
    "OnHold": "The workload is on hold",
    "Deactivated": "The workload is deactivated",
    "ReservedForPreemptor": "Unused quota is reserved for a workload that preempted others",
    "Draining": "The queue is being drained",
    "BudgetExhausted": "The budget is spent, and nothing is admitted before the next period",
    "NoClusterAccepts": "No other cluster takes a copy of the job",
}
"""The first words of each reason's sentence; details of the workload follow.

``podset``: ``podset NAME``, or ``a podset`` where no assignment was tried.
"""
assert set(SENTENCES) == set(get_args(PendingReason)), "each reason has a sentence, none is missing"


def tried_without_amounts(assignment: Assignment | None) -> Tried:
    """Return the flavors tried without amounts: reasons are compared by these."""
    return tuple(
        (podset.name, attempt.flavor, attempt.resource, attempt.message)
        for podset, attempt in _decisive_attempts(assignment)
    )


def is_unchanged(state: State, nominee: Nominee) -> bool:
    """Tell whether the reason last recorded for a head still holds.

    It holds as long as the workload's requests are the same and each constraint in the reason is
    still violated, whichever other constraints are violated by now. Quota of workloads that are
    stopping is in use until they have stopped, so a workload that waits for it still lacks quota.
    So the state alone determines when a new reason is recorded.
    """
    pending, workload = nominee.workload.pending_status, nominee.workload
    if pending is None or pending.others:
        return False
    if nominee.outcome == "deferred" and pending.reason == "WaitingForQuota":
        return pending.requests == requests_digest(state, workload)
    if nominee.outcome not in ("no fit", "no candidates"):
        return pending.reason == nominee.reason
    if pending.reason not in (*OF_QUOTA, NODELESS):
        return False
    if not pending.tried and not pending.places:
        uncovered = pending.reason in OF_QUOTA and _is_uncovered(state, nominee.cq, workload)
        return uncovered or _is_same_reason(pending, nominee)
    if pending.requests != requests_digest(state, workload):
        return False
    assert nominee.proposal is not None
    if pending.places and _is_same_reason(pending, nominee):
        return True
    return _lacks_quota(pending, nominee) and _lacks_nodes(state, workload, pending)


def _is_same_reason(pending: PendingStatus, nominee: Nominee) -> bool:
    """Tell whether the reason recorded now would equal the last one.

    Podsets that find no nodes beside each other need not violate a constraint by themselves.
    """
    assert nominee.proposal is not None
    assignment = nominee.proposal.assignment
    if pending.reason != nominee.reason or pending.tried != tried_without_amounts(assignment):
        return False
    return pending.places == _unplaced_podsets(assignment)


def _lacks_nodes(state: State, workload: Workload, pending: PendingStatus) -> bool:
    """Tell whether the topology capacity in a reason is still insufficient."""
    for podset, flavor in pending.places:
        demand = explained_demand(state, workload, podset, flavor)
        if demand is None:
            return False
        if isinstance(demand, Failure):
            continue
        capacity = replace(demand.capacity, empty=pending.reason == NODELESS)
        if demand.slices <= unused_amount(state, capacity):
            return False
    return True


def _lacks_quota(pending: PendingStatus, nominee: Nominee) -> bool:
    """Tell whether each quota constraint in a reason is still violated."""
    assert nominee.proposal is not None
    now = {
        (kind[0], kind[1]): kind[3] for kind in tried_without_amounts(nominee.proposal.assignment)
    }
    return all(
        _is_still_violated(nominee.cq, flavor_tried, requested)
        if flavor_tried[2]
        else now.get((flavor_tried[0], flavor_tried[1]), flavor_tried[3]) == flavor_tried[3]
        for flavor_tried, requested in zip(pending.tried, pending.requested, strict=True)
    )


def _unplaced_podsets(assignment: Assignment) -> tuple[tuple[str, str], ...]:
    """Return the first podset that did not fit on each flavor's nodes, as ``places`` keeps it."""
    return first_tried(
        (podset.name, podset.topology_flavor)
        for podset in assignment.podsets
        if podset.failure is not None and podset.topology_flavor
    )


def has_unplaced_podset(nominee: Nominee) -> bool:
    """Tell whether a head lacks nodes, not quota."""
    podsets = () if nominee.proposal is None else nominee.proposal.assignment.podsets
    return any(podset.failure is not None for podset in podsets)


def _is_still_violated(
    cq: ClusterQueueState, flavor_tried: tuple[str, str, str, str], requested: int
) -> bool:
    """Tell whether one quota constraint of a reason is still violated."""
    _, flavor, resource, message = flavor_tried
    group = cq.group_of.get(resource)
    slot = next((slot for slot in group.slots if slot.flavor == flavor), None) if group else None
    if slot is None or resource not in slot.cells:
        return False
    cell = slot.cells[resource]
    return requested > (cell.potential if message == TOO_MUCH else cell_available(cell))


def _is_uncovered(state: State, cq: ClusterQueueState, workload: Workload) -> bool:
    """Tell whether a podset requests a resource that the ClusterQueue has no quota of."""
    each = (request for pod in requests_per_pod(state, workload) for request in pod.items())
    ignored = state.policy.ignore_undeclared
    return not ignored and any(units and name not in cq.group_of for name, units in each)


def tried_flavors(
    state: State, cq: ClusterQueueState, workload: Workload, assignment: Assignment
) -> tuple[FlavorTried, ...]:
    """Return the flavors tried, with their current amounts."""
    return tuple(
        _tried_flavor(state, cq, workload, podset, attempt)
        for podset, attempt in _decisive_attempts(assignment)
    )


def pending_message(reason: PendingReason, assignment: Assignment | None, details: str = "") -> str:
    """Return why a workload waits as one English sentence."""
    podset = _decisive_podset(assignment)
    named = "a podset" if podset is None else f"podset {podset.name}"
    begin = SENTENCES[reason].format(podset=named)
    begin = begin[0].upper() + begin[1:]
    rest = details or ("" if podset is None else "; ".join(_podset_details(podset)))
    return f"{begin}: {rest}." if rest else f"{begin}."


def _tried_flavor(
    state: State, cq: ClusterQueueState, workload: Workload, podset: PodSetChoice, attempt: Attempt
) -> FlavorTried:
    cell = attempt.cell
    if cell is None:
        return FlavorTried(
            podset=podset.name, flavor=attempt.flavor, resource="", reason=attempt.message
        )
    return FlavorTried(
        podset=podset.name,
        flavor=attempt.flavor,
        resource=attempt.resource,
        requested=attempt.requested,
        unused=infinite_to_unlimited(cell_available(cell)),
        maximum=infinite_to_unlimited(cell.potential),
        reason=attempt.message,
        preemptable=preemptable_usage(state, cq, workload, cell.fr),
    )


def _decisive_attempts(
    assignment: Assignment | None,
) -> Iterator[tuple[PodSetChoice, Attempt]]:
    """Yield the failed attempts of the podset that decides why the workload does not fit."""
    podset = _decisive_podset(assignment)
    for attempt in () if podset is None else podset.attempts:
        if podset is not None and attempt.message:
            yield podset, attempt


def _decisive_podset(assignment: Assignment | None) -> PodSetChoice | None:
    choices = (
        None if assignment is None else [podset for podset in assignment.podsets if not podset.fits]
    )
    return choices[-1] if choices else None


def _lacking_nodes(lack: Failure) -> str:
    if error := error_of(lack):
        return f"no placement: {error}"
    fits, of = (lack.layers[0][1:]) if lack.layers else (lack.fits, lack.of)
    unit = "slice" if lack.layers else lack.unit
    return f"nodes for {fits} of {of} {unit}s"


def _podset_details(podset: PodSetChoice) -> Iterator[str]:
    if podset.wrong:
        yield "the podset requests a topology, but not exactly one of its flavors has one"
    if (lack := podset.failure) is not None:
        yield f"the topology of flavor {podset.topology_flavor} has {_lacking_nodes(lack)}"
    for attempt in podset.attempts:
        if not attempt.message:
            continue
        cell = attempt.cell
        if cell is None:
            yield f"{attempt.message} in flavor {attempt.flavor}"
            continue
        name, limit = attempt.resource, max(0, infinite_to_unlimited(cell_available(cell)))
        word = "unused"
        if attempt.reason == "ExceedsMaxQuota":
            limit, word = infinite_to_unlimited(cell.potential), "at most"
        requested, quota = format_quantity(name, attempt.requested), format_quantity(name, limit)
        yield f"{name} in flavor {attempt.flavor}: {requested} requested, {quota} {word}"
    yield from podset.reasons
