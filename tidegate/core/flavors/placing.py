"""Places for the pods of an assignment: it fits only if each podset with a topology has one.

Source: behaviour.md 5.6; behaviour-notes.md, suite tas 12, 14, 18.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from tidegate.contracts.decision_kinds.placements import PlacementTried
from tidegate.core.flavors.eligibility import asks_for_topology
from tidegate.core.flavors.fitting import FIT, NO_FIT, PREEMPT, Question
from tidegate.core.quota.readiness import PROVISIONING
from tidegate.core.state.state import State, Workload
from tidegate.core.topology.cluster import taken, topologies
from tidegate.core.topology.explain import tried
from tidegate.core.topology.fitting.request import Failure
from tidegate.core.topology.leaves import Leaves, truncated
from tidegate.core.topology.place import Ask, Placed, Placer, asked_by, place, shape_of
from tidegate.core.topology.previous import leaves_of
from tidegate.core.topology.usage import Held, Seat
from tidegate.model.multikueue import CONTROLLER
from tidegate.model.podset import PodSet, PodSetAssignment
from tidegate.model.quota import CheckRule
from tidegate.model.topology import unpack

if TYPE_CHECKING:
    from tidegate.core.flavors.assignment import Assignment, PodSetChoice

DOMAINS_MAX = 8_000
"""Of one workload: a message has 1 MiB at most, and a hostname 63 characters."""


def place_assignment(question: Question, found: Assignment) -> None:
    """Find a place for each podset with a topology, and lower the modes where there is none."""
    if not _one_flavor_each(question, found) or found.mode == "NoFit":
        return
    state, workload = question.state, question.workload
    for one in found.podsets:
        if one.topology_flavor and _waits_for_nodes(state, question.cq.spec.checks, one):
            one.topology_flavor, one.delayed = "", True
    if any(one.topology_flavor for one in found.podsets):
        _place(state, workload, found)


def _place(state: State, workload: Workload, found: Assignment) -> None:
    if found.mode == "Fit":
        failures = seat(state, workload, found)
        if not failures:
            return
        for at in failures:
            _lower(found.podsets[at])
    lacking = {at: one.failure for at, one in enumerate(found.podsets)}
    failures = seat(state, workload, found, empty=True)
    found.mode = "NoFit" if failures else "Preempt"
    _settle(found, failures)
    for at, one in enumerate(found.podsets):
        one.failure = one.failure or lacking[at]


def _waits_for_nodes(state: State, rules: tuple[CheckRule, ...], one: PodSetChoice) -> bool:
    """Tell whether a check first has to provide the nodes of a podset's flavor."""
    for rule in rules:
        defined = state.objects.checks.get(rule.name)
        applies = not rule.on_flavors or one.topology_flavor in rule.on_flavors
        if defined is not None and applies and defined.controller in (PROVISIONING, CONTROLLER):
            return True
    return False


def _settle(found: Assignment, failures: dict[int, Failure]) -> None:
    """Note that podsets have no place at all, or would have one if others left."""
    if failures:
        found.reason = "TopologyPlacementFailed"
    for at, one in enumerate(found.podsets):
        if at in failures:
            _lower(one, NO_FIT)
        elif one.topology_flavor:
            _lower(one)


def seat(
    state: State, workload: Workload, found: Assignment, *, empty: bool = False
) -> dict[int, Failure]:
    """Place the podsets of an assignment and note where; return those that found no place.

    ``empty``: as if nothing had been placed on any node.
    """
    tops, failures = topologies(state), dict[int, Failure]()
    found.seats = []
    assumed: list[tuple[Held, ...]] = []  # flavors may share nodes
    by_flavor: dict[str, list[int]] = {}
    for at, one in enumerate(found.podsets):
        if one.topology_flavor:
            by_flavor.setdefault(one.topology_flavor, []).append(at)
    for flavor, members in by_flavor.items():
        placer = tops.placers.get(flavor)
        if placer is None:
            failures |= dict.fromkeys(members, Failure(kind="noLevel"))
            continue
        asks = [_ask(state, workload, placer, found.podsets[at], at) for at in members]
        before = len(found.seats)
        for at, ask, made in zip(members, asks, place(placer, asks, empty=empty), strict=True):
            one = found.podsets[at]
            if isinstance(made, Placed):
                one.placed = placer.recorded(made) if made.leaves else None
                found.seats.append(Seat(flavor, _new(made, ask), {**ask.each, "pods": 1}))
            else:
                failures[at] = made
                one.placed, one.failure = None, made
        assumed.append(tops.seated(found.seats[before:]))
        tops.charge(assumed[-1], 1, empty=empty)
    for held in assumed:
        tops.charge(held, -1, empty=empty)
    return failures or _too_many(found)


def _too_many(found: Assignment) -> dict[int, Failure]:
    """Return failures if a workload would be in more domains than a message has room for."""
    domains = sum(len(one.placed.leaves) for one in found.seats)
    if domains <= DOMAINS_MAX:
        return {}
    failure, failures = Failure(kind="domains", of=domains, fits=DOMAINS_MAX), dict[int, Failure]()
    for at, one in enumerate(found.podsets):
        if one.placed is not None:
            failures[at] = one.failure = failure
            one.placed = None
    return failures


def explained(state: State, workload: Workload, found: Assignment) -> tuple[PlacementTried, ...]:
    """Return why podsets found no place, level by level: O(nodes), for whoever is told."""
    tops, told = topologies(state), list[PlacementTried]()
    for at, one in enumerate(found.podsets):
        placer = tops.placers.get(one.topology_flavor)
        if one.failure is None or placer is None:
            continue
        ask = _ask(state, workload, placer, one, at)
        asked = asked_by(placer, ask, ask.count)
        numbers = None
        if not isinstance(asked, Failure):
            numbers = placer.numbers(shape_of(placer, asked, ask, None))
        spec = state.objects.flavors[one.topology_flavor].spec
        why = tried(numbers, one.failure, one.name, one.topology_flavor)
        told.append(replace(why, topology=spec.topology))
    return tuple(told)


def _new(made: Placed, ask: Ask) -> Placed:
    """Return a place without the pods of the replaced slice, which are counted there already."""
    if ask.previous is None or not ask.counted:
        return made
    had = dict(ask.previous)
    left = ((leaf, pods - had.get(leaf, 0)) for leaf, pods in made.leaves)
    return Placed(leaves=tuple((leaf, pods) for leaf, pods in left if pods > 0))


def ask_of(state: State, workload: Workload, podset: PodSet, flavor: str, count: int) -> Ask:
    """Return what a podset asks of its flavor's nodes."""
    defined = state.objects.flavors.get(flavor)
    return Ask(
        podset=podset,
        count=count,
        each=taken(state, workload, podset),
        group="" if podset.topology is None else podset.topology.group,
        implied=not asks_for_topology(podset),
        tolerations=() if defined is None else defined.spec.tolerations,
        short=bool(workload.reclaimable.get(podset.name)),
    )


def _ask(state: State, workload: Workload, placer: Placer, one: PodSetChoice, at: int) -> Ask:
    podset = workload.podsets[at]
    ask = ask_of(state, workload, podset, one.topology_flavor, one.count)
    had = _replaced(state, workload, podset.name) if placer.options.elastic else None
    if had is None or had[0].topology is None:
        return ask
    given, asked = had
    previous: Leaves | None = leaves_of(placer.tree, list(unpack(had[0].topology)))
    if previous is None:
        return replace(ask, gone=True)
    return replace(ask, previous=truncated(previous, min(given.count, asked)))


def _replaced(state: State, workload: Workload, podset: str) -> tuple[PodSetAssignment, int] | None:
    """Return what the replaced slice was given for a podset, and how many pods it still asks for.

    Of one that became smaller the last pods are gone, and charged to nobody.
    """
    older = state.workloads.get(workload.replaces) if workload.replaces else None
    if older is None:
        return None
    asked = next((one.count for one in older.podsets if one.name == podset), 0)
    return next(((one, asked) for one in older.assignment if one.name == podset), None)


def _lower(one: PodSetChoice, mode: int = PREEMPT) -> None:
    """Let somebody have to leave for a podset, on each resource of its flavor with a topology."""
    one.fits = False
    for choice in one.choices.values():
        if choice.flavor == one.topology_flavor:
            choice.mode = mode if choice.mode == FIT else min(mode, choice.mode)


def _one_flavor_each(question: Question, found: Assignment) -> bool:
    """Note each podset's flavor with a topology; tell whether whoever asks for one has just one."""
    state, workload = question.state, question.workload
    right = True
    for at, one in enumerate(found.podsets):
        podset = workload.podsets[at]
        asks = asks_for_topology(podset)
        one.topology_flavor = _flavor(state, one)
        several = len(_flavors(state, one)) > 1
        if found.mode != "NoFit" and asks and (several or not one.topology_flavor):
            one.fits, one.topology_flavor, one.wrong = False, "", True
            right = False
    if not right:
        untried = any(one.wrong and not one.attempts for one in found.podsets)
        found.mode, found.reason = "NoFit", "NoMatchingFlavor" if untried else None
    return right


def _flavors(state: State, one: PodSetChoice) -> list[str]:
    named = dict.fromkeys(choice.flavor for choice in one.choices.values())
    return [
        name
        for name in named
        if (defined := state.objects.flavors.get(name)) is not None and defined.spec.topology
    ]


def _flavor(state: State, one: PodSetChoice) -> str:
    found = _flavors(state, one)
    return found[0] if found else ""
