"""Assigns flavors to a workload's podsets, or says why none fits.

For each podset, or group of podsets, and each resource group one flavor is chosen for all resources
together. Changes nothing.

Source: behaviour.md 5; conformance/flavorassigner.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import get_args

from msgspec.structs import replace

from tidegate.core.flavors.choices import Assignment, PodSetChoice, highest_borrow_level, mode_name
from tidegate.core.flavors.eligibility import requests_topology
from tidegate.core.flavors.fitting import (
    FIT,
    NO_FIT,
    Attempt,
    Choice,
    Inputs,
    NoFitReason,
    Oracle,
    choose_flavor,
    is_preferred,
    no_candidates,
    should_try_next_flavor,
)
from tidegate.core.flavors.placement import place_assignment
from tidegate.core.members.placement import candidate_clusters
from tidegate.core.quota.charging import (
    PODS,
    flavor_resource,
    pod_count,
    replaced_units,
    requests_per_pod,
    total_requests,
)
from tidegate.core.quota.forest import forest
from tidegate.core.state.cluster_queues import ClusterQueueState
from tidegate.core.state.state import State, Workload
from tidegate.core.state.workload import Part, Slot
from tidegate.model.podset import PodSet

_SEVERITY: dict[NoFitReason, int] = {
    "TopologyPlacementFailed": 0,
    "WaitingForQuota": 1,
    "ExceedsMaxQuota": 2,
    "NoMatchingFlavor": 3,
}
assert set(_SEVERITY) == set(get_args(NoFitReason)), "each lack has a severity, none is missing"


def assign_flavors(  # noqa: PLR0913 - each is a degree of freedom of one search
    state: State,
    workload: Workload,
    *,
    oracle: Oracle,
    cq: ClusterQueueState | None = None,
    counts: tuple[int, ...] | None = None,
    only: Mapping[tuple[str, str], str] | None = None,
    scan: tuple[dict[str, int], ...] = (),
    spares: bool = False,
) -> Assignment:
    """Choose flavors for a workload.

    Args:
        state: its definitions and policy are read.
        workload: pending; its podsets, reclaimable pods and allowed flavors are read.
        oracle: called where an amount does not fit without preemption.
        cq: the ClusterQueue's state; None: of the workload's.
        counts: pods of each podset in place of its own count.
        only: restricts each podset and resource to one flavor, and starts at the first.
        scan: where the last flavor scan stopped.
        spares: the oracle is not called for a flavor that has no candidates for another resource.
    """
    if cq is None:
        cq = forest(state).cluster_queues[workload.cluster_queue]
    question = Inputs(
        state=state, workload=workload, cq=cq, oracle=oracle, only=only, spares=spares
    )
    if not workload.body:
        return _assign_podsets(question, counts, scan)
    return _assign_by_cluster(question, counts)


def _assign_by_cluster(question: Inputs, counts: tuple[int, ...] | None) -> Assignment:
    """Choose flavors for a placed job, all of one cluster: the first whose flavors fit.

    Clusters are tried like flavors: fungibility says when the next is tried, and which is better.
    """
    state, workload, cq = question.state, question.workload, question.cq
    best: tuple[Attempt, Assignment] | None = None
    assignments = list[Assignment]()
    for cluster in candidate_clusters(state, workload) or ("",):
        within = replace(question, cluster=cluster, assumed={})
        assignment = _assign_podsets(within, counts, ())
        assignments.append(assignment)
        worst = min((podset.worst for podset in assignment.podsets), default=FIT)
        rank = Attempt(flavor=cluster, mode=worst, borrow=assignment.borrows)
        stops = not should_try_next_flavor(cq.spec.fungibility, rank.mode, rank.borrow)
        if stops or best is None or is_preferred(rank, best[0], cq.spec.fungibility):
            best = rank, assignment
        if stops:
            break
    assert best is not None, "at least one cluster, or the empty one, is tried"
    if best[0].mode == FIT:
        return best[1]
    if best[0].mode == NO_FIT:
        return _with_all_attempts(min(assignments, key=_severity), assignments)
    return _with_all_attempts(best[1], assignments)


def _severity(assignment: Assignment) -> int:
    return _SEVERITY[assignment.reason or "NoMatchingFlavor"]


def _with_all_attempts(nearest: Assignment, assignments: list[Assignment]) -> Assignment:
    """Add the flavors tried in every cluster to an assignment, each flavor once.

    All of them decide which assignment is the nearest, so a pending job watches all of them.
    """
    for podset in nearest.podsets:
        rows = dict[str, Attempt]()
        for assignment in assignments:
            for other in assignment.podsets:
                for attempt in other.attempts if other.name == podset.name else ():
                    if attempt.cell is not None or attempt.flavor not in rows:
                        rows[attempt.flavor] = attempt
        podset.attempts = list(rows.values())
    return nearest


def _assign_podsets(
    question: Inputs, counts: tuple[int, ...] | None, scan: tuple[dict[str, int], ...]
) -> Assignment:
    workload, cq = question.workload, question.cq
    assignment = Assignment(podsets=_empty_choices(question, counts), usage=question.assumed)
    worst = FIT
    for members in podset_groups(workload.podsets):
        stopped = scan[members[0]] if members[0] < len(scan) else {}
        podsets = [workload.podsets[at] for at in members]
        _assign_group(question, podsets, [assignment.podsets[at] for at in members], stopped)
        worst = min(worst, *(assignment.podsets[at].worst for at in members))
        if worst == NO_FIT:
            assignment.reason = _nearest_reason(assignment.podsets[members[0]])
            assignment.podsets = assignment.podsets[: members[-1] + 1]
            break
    assignment.mode = mode_name(worst)
    if cq.has_topologies or any(map(requests_topology, workload.podsets)):
        place_assignment(question, assignment)
    if worst != NO_FIT:
        assignment.borrows = highest_borrow_level(assignment)
    return assignment


def choices_from_slots(
    state: State,
    cq: ClusterQueueState,
    workload: Workload,
    chosen: Iterable[tuple[Part, Slot]],
) -> list[PodSetChoice]:
    """Return the choices of each podset, given a fitting flavor for each part of a workload."""
    question = Inputs(state=state, workload=workload, cq=cq, oracle=no_candidates, only=None)
    choices = _empty_choices(question, None)
    by_name = {choice.name: choice for choice in choices}
    for part, slot in chosen:
        for podset in part.podsets:
            choice = by_name[podset.name]
            choice.choices |= {
                name: Choice(flavor=slot.flavor, mode=FIT, borrow=0)
                for name in part.requests
                if name in choice.requests
            }
    return choices


def _empty_choices(question: Inputs, counts: tuple[int, ...] | None) -> list[PodSetChoice]:
    """Return each podset with its requests, and no flavor yet."""
    workload, choices = question.workload, list[PodSetChoice]()
    for index, each in enumerate(requests_per_pod(question.state, workload)):
        podset = workload.podsets[index]
        pods = pod_count(workload, podset) if counts is None else counts[index]
        requests = total_requests(each, pods)
        if PODS in question.cq.group_of:
            requests[PODS] = pods
        choices.append(PodSetChoice(name=podset.name, count=pods, requests=requests))
    return choices


def podset_groups(podsets: tuple[PodSet, ...]) -> list[list[int]]:
    """Return the podsets' indexes, grouped by which must get the same flavors."""
    groups: dict[str, list[int]] = {}
    for index, podset in enumerate(podsets):
        name = "" if podset.topology is None else podset.topology.group
        groups.setdefault(f"group {name}" if name else f"podset {index}", []).append(index)
    return list(groups.values())


def _assign_group(  # noqa: C901 - the order of its steps is Kueue's
    question: Inputs,
    podsets: list[PodSet],
    choices: list[PodSetChoice],
    stopped: dict[str, int],
) -> None:
    requests = choices[0].requests if len(choices) == 1 else _total_requests(choices)
    chosen: dict[str, Choice] = {}
    for resource in sorted(requests, reverse=True):  # the order observed in Kueue
        if resource in chosen:
            continue
        group = question.cq.group_of.get(resource)
        if group is None:
            if requests[resource] == 0 or question.state.policy.ignore_undeclared:
                continue
            _set_no_fit(choices, [], [f"resource {resource} is not covered by the ClusterQueue"])
            return
        group_choice = choose_flavor(question, podsets, requests, group, stopped.get(resource, -1))
        if group_choice.choices is None:
            _set_no_fit(choices, group_choice.attempts, group_choice.passed_over)
            return
        chosen.update(group_choice.choices)
        for member in choices:
            member.attempts += group_choice.attempts
            member.fits = member.fits and group_choice.fits
    for resource, choice in chosen.items():
        fr = flavor_resource(choice.flavor, resource)
        had = replaced_units(question.state, question.workload, podsets, resource, choice.flavor)
        requested = requests[resource] - had
        question.assumed[fr] = question.assumed.get(fr, 0) + requested
    for member in choices:
        own = member.requests or _inherited_resources(question, chosen)
        member.choices = {name: choice for name, choice in chosen.items() if name in own}


def _inherited_resources(question: Inputs, chosen: dict[str, Choice]) -> list[str]:
    """Return the resources whose flavors with a topology a podset without requests inherits."""
    flavors = question.state.objects.flavors
    return [
        resource
        for resource, choice in chosen.items()
        if (defined := flavors.get(choice.flavor)) is not None and defined.spec.topology
    ]


def _total_requests(choices: list[PodSetChoice]) -> dict[str, int]:
    total: dict[str, int] = {}
    for choice in choices:
        for name, units in choice.requests.items():
            total[name] = total.get(name, 0) + units
    return total


def _set_no_fit(choices: list[PodSetChoice], attempts: list[Attempt], reasons: list[str]) -> None:
    for choice in choices:
        choice.attempts, choice.reasons, choice.choices, choice.fits = attempts, reasons, {}, False


def _nearest_reason(choice: PodSetChoice) -> NoFitReason:
    """Return the least severe reason of the flavors tried: the nearest to a fit."""
    literal: NoFitReason | None = None
    for attempt in choice.attempts:
        reason = attempt.reason
        if reason is not None and (literal is None or _SEVERITY[reason] < _SEVERITY[literal]):
            literal = reason
    return literal or "NoMatchingFlavor"
