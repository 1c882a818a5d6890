"""Places the pods of an assignment on nodes: each podset with a topology needs a placement.

Source: behaviour.md 5.6; behaviour-notes.md, suite tas 12, 14, 18.
"""

from __future__ import annotations

from msgspec.structs import replace

from tidegate.contracts.decision_kinds.placements import PlacementTried
from tidegate.core.flavors.choices import Assignment, PodSetChoice
from tidegate.core.flavors.eligibility import requests_topology
from tidegate.core.flavors.fitting import FIT, NO_FIT, PREEMPT, Inputs
from tidegate.core.quota.readiness import PROVISIONING
from tidegate.core.state.state import State, Workload
from tidegate.core.topology.cluster import pod_requests_of, topologies
from tidegate.core.topology.explain import placement_tried
from tidegate.core.topology.fitting.request import Failure
from tidegate.core.topology.place import Ask, Placed, Placer, place, podset_request, shape_of
from tidegate.core.topology.previous import leaves_of
from tidegate.core.topology.shrunk import requested_pods
from tidegate.core.topology.usage import PlacedPods, Seat
from tidegate.model.gates import gate_enabled
from tidegate.model.multikueue import CONTROLLER
from tidegate.model.podset import PodSet
from tidegate.model.quota import CheckRule
from tidegate.model.topology import TopologyDomain, first_pods, unpack

DOMAINS_MAX = 8_000
"""Domains of one workload: a message has at most 1 MiB, and a hostname 63 characters."""


def place_assignment(question: Inputs, assignment: Assignment) -> None:
    """Place each podset with a topology; lower the modes of those that do not fit."""
    if not _set_topology_flavors(question, assignment) or assignment.mode == "NoFit":
        return
    state, workload = question.state, question.workload
    for podset in assignment.podsets:
        if podset.topology_flavor and _waits_for_nodes(state, question.cq.spec.checks, podset):
            podset.topology_flavor, podset.delayed = "", True
    if any(podset.topology_flavor for podset in assignment.podsets):
        _place_or_lower(state, workload, assignment)


def _place_or_lower(state: State, workload: Workload, assignment: Assignment) -> None:
    if assignment.mode == "Fit":
        failures = place_podsets(state, workload, assignment)
        if not failures:
            return
        for at in failures:
            _lower_mode(assignment.podsets[at])
    lacking = {at: choice.failure for at, choice in enumerate(assignment.podsets)}
    failures = place_podsets(state, workload, assignment, empty=True)
    assignment.mode = "NoFit" if failures else "Preempt"
    _lower_unplaced(assignment, failures)
    for at, member_choice in enumerate(assignment.podsets):
        member_choice.failure = member_choice.failure or lacking[at]


def _waits_for_nodes(state: State, rules: tuple[CheckRule, ...], choice: PodSetChoice) -> bool:
    """Tell whether a check has to provide the nodes of a podset's flavor first."""
    for rule in rules:
        defined = state.objects.checks.get(rule.name)
        applies = not rule.on_flavors or choice.topology_flavor in rule.on_flavors
        if defined is not None and applies and defined.controller in (PROVISIONING, CONTROLLER):
            return True
    return False


def _lower_unplaced(assignment: Assignment, failures: dict[int, Failure]) -> None:
    """Lower podsets that fit on no nodes to NoFit, and others that need preemption to Preempt."""
    if failures:
        assignment.reason = "TopologyPlacementFailed"
    for at, choice in enumerate(assignment.podsets):
        if at in failures:
            _lower_mode(choice, NO_FIT)
        elif choice.topology_flavor:
            _lower_mode(choice)


def place_podsets(
    state: State, workload: Workload, assignment: Assignment, *, empty: bool = False
) -> dict[int, Failure]:
    """Place the podsets of an assignment and store their nodes; return those that do not fit.

    ``empty``: as if all nodes were unused.
    """
    tops, failures = topologies(state), dict[int, Failure]()
    assignment.seats = []
    assumed: list[tuple[PlacedPods, ...]] = []  # flavors may share nodes
    by_flavor: dict[str, list[int]] = {}
    for at, choice in enumerate(assignment.podsets):
        if choice.topology_flavor:
            by_flavor.setdefault(choice.topology_flavor, []).append(at)
    for flavor, members in sorted(by_flavor.items()):
        placer = tops.placers.get(flavor)
        if placer is None:
            failures |= dict.fromkeys(members, Failure(kind="noLevel"))
            continue
        asks = [
            _choice_request(state, workload, placer, assignment.podsets[at], at) for at in members
        ]
        before = len(assignment.seats)
        for at, ask, outcome in zip(members, asks, place(placer, asks, empty=empty), strict=True):
            choice = assignment.podsets[at]
            if isinstance(outcome, Placed):
                choice.placed = placer.to_assignment(outcome) if outcome.leaves else None
                assignment.seats.append(
                    Seat(flavor, _without_replaced_pods(outcome, ask), {**ask.each, "pods": 1})
                )
            else:
                failures[at] = outcome
                choice.placed, choice.failure = None, outcome
        assumed.append(tops.pods_of_seats(assignment.seats[before:]))
        tops.charge(assumed[-1], 1, empty=empty)
    for holdings in assumed:
        tops.charge(holdings, -1, empty=empty)
    return failures or _domain_limit_failures(assignment)


def _domain_limit_failures(assignment: Assignment) -> dict[int, Failure]:
    """Return failures if a workload would be in more domains than fit into a message."""
    domains = sum(len(seated.placed.leaves) for seated in assignment.seats)
    if domains <= DOMAINS_MAX:
        return {}
    failure, failures = Failure(kind="domains", of=domains, fits=DOMAINS_MAX), dict[int, Failure]()
    for at, choice in enumerate(assignment.podsets):
        if choice.placed is not None:
            failures[at] = choice.failure = failure
            choice.placed = None
    return failures


def placements_tried(
    state: State, workload: Workload, assignment: Assignment
) -> tuple[PlacementTried, ...]:
    """Return why podsets fit on no nodes, level by level: O(nodes), for the pending reason."""
    tops, attempts = topologies(state), list[PlacementTried]()
    for at, choice in enumerate(assignment.podsets):
        placer = tops.placers.get(choice.topology_flavor)
        if choice.failure is None or placer is None:
            continue
        ask = _choice_request(state, workload, placer, choice, at)
        request = podset_request(placer, ask, ask.count)
        numbers = None
        if not isinstance(request, Failure):
            numbers = placer.numbers(shape_of(placer, request, ask, None))
        spec = state.objects.flavors[choice.topology_flavor].spec
        why = placement_tried(numbers, choice.failure, choice.name, choice.topology_flavor)
        attempts.append(replace(why, topology=spec.topology))
    return tuple(attempts)


def _without_replaced_pods(placed: Placed, ask: Ask) -> Placed:
    """Return a placement without the replaced slice's pods, which are counted there already."""
    if ask.previous is None or not ask.counted:
        return placed
    had = dict(ask.previous)
    generator = ((leaf, pods - had.get(leaf, 0)) for leaf, pods in placed.leaves)
    return Placed(leaves=tuple((leaf, pods) for leaf, pods in generator if pods > 0))


def placement_request(
    state: State, workload: Workload, podset: PodSet, flavor: str, count: int
) -> Ask:
    """Return a podset's placement request to its flavor's topology."""
    defined = state.objects.flavors.get(flavor)
    return Ask(
        podset=with_check_updates(workload, podset),
        count=count,
        each=pod_requests_of(state, workload, podset),
        group="" if podset.topology is None else podset.topology.group,
        implied=not requests_topology(podset),
        tolerations=() if defined is None else defined.spec.tolerations,
        short=bool(workload.reclaimable.get(podset.name)),
    )


def with_check_updates(workload: Workload, podset: PodSet) -> PodSet:
    """Return a podset with the node selectors and tolerations that ready checks add to its pods."""
    if not workload.checks:
        return podset
    for _, update in workload.ready_updates(podset.name):
        podset = replace(
            podset,
            node_selector={**podset.node_selector, **update.node_selector},
            tolerations=(*podset.tolerations, *update.tolerations),
        )
    return podset


def _choice_request(
    state: State, workload: Workload, placer: Placer, choice: PodSetChoice, at: int
) -> Ask:
    podset = workload.podsets[at]
    ask = placement_request(state, workload, podset, choice.topology_flavor, choice.count)
    had = _replaced_domains(state, workload, podset.name) if placer.options.elastic else None
    if had is None:
        return ask
    previous = leaves_of(placer.tree, had)
    return replace(ask, gone=True) if previous is None else replace(ask, previous=previous)


def _replaced_domains(state: State, workload: Workload, podset: str) -> list[TopologyDomain] | None:
    """Return the domains of the replaced slice's remaining pods of a podset; None: not placed."""
    older = state.workloads.get(workload.replaces) if workload.replaces else None
    if older is None:
        return None
    assignment = next((each for each in older.assignment if each.name == podset), None)
    if assignment is None or assignment.topology is None:
        return None
    return list(first_pods(unpack(assignment.topology), requested_pods(older, podset)))


def _lower_mode(member_choice: PodSetChoice, mode: int = PREEMPT) -> None:
    """Lower a podset's mode to Preempt or NoFit for resources of its flavor with a topology."""
    member_choice.fits = False
    for choice in member_choice.choices.values():
        if choice.flavor == member_choice.topology_flavor:
            choice.mode = mode if choice.mode == FIT else min(mode, choice.mode)


def _set_topology_flavors(question: Inputs, assignment: Assignment) -> bool:
    """Set each podset's topology flavor; return whether each that requests a topology has one."""
    state, workload = question.state, question.workload
    right = True
    for at, choice in enumerate(assignment.podsets):
        podset = workload.podsets[at]
        asks = requests_topology(podset)
        choice.topology_flavor = _topology_flavor(state, choice)
        wrong = len(_topology_flavors(state, choice)) > 1 or not choice.topology_flavor
        wrong = wrong or _is_elastic_topology_refused(state, workload, podset)
        if assignment.mode != "NoFit" and asks and wrong:
            choice.fits, choice.topology_flavor, choice.wrong = False, "", True
            right = False
    if not right:
        untried = any(podset.wrong and not podset.attempts for podset in assignment.podsets)
        assignment.mode, assignment.reason = "NoFit", "NoMatchingFlavor" if untried else None
    return right


def _is_elastic_topology_refused(state: State, workload: Workload, podset: PodSet) -> bool:
    """Tell whether Kueue refuses an elastic job's podset since its pods are to be together."""
    if state.scan.backtracks or not workload.elastic or podset.topology is None:
        return False
    together = podset.topology.required or podset.topology.preferred
    return bool(together) and gate_enabled(state.policy, "ElasticJobsViaWorkloadSlicesWithTAS")


def _topology_flavors(state: State, member_choice: PodSetChoice) -> list[str]:
    named = dict.fromkeys(choice.flavor for choice in member_choice.choices.values())
    return [
        name
        for name in named
        if (defined := state.objects.flavors.get(name)) is not None and defined.spec.topology
    ]


def _topology_flavor(state: State, choice: PodSetChoice) -> str:
    results = _topology_flavors(state, choice)
    return results[0] if results else ""
