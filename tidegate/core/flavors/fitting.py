"""Chooses one flavor of a resource group for podsets, by how well each flavor fits.

Source: behaviour.md 5.2, 5.3, 5.4; conformance/flavorassigner.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

import msgspec

from tidegate.core.flavors.eligibility import flavor_mismatch, requests_topology
from tidegate.core.members.cluster_status import flavor_refusal
from tidegate.core.members.placement import is_flavor_open, placement_refusal
from tidegate.core.quota.charging import PODS, changes_flavor, replaced_units
from tidegate.core.quota.tree import Cell, cell_available, lowest_fitting_height
from tidegate.core.state.cluster_queues import ClusterQueueState
from tidegate.core.state.state import State, Workload
from tidegate.core.state.workload import Group, Slot
from tidegate.core.topology.cluster import pod_requests_of, topology_mismatch
from tidegate.model.gates import gate_enabled
from tidegate.model.ids import FlavorResource
from tidegate.model.podset import PodSet
from tidegate.model.quota import FlavorFungibility, FlavorSpec

NO_FIT, NO_CANDIDATES, PREEMPT, RECLAIM, FIT = range(5)
"""How well an amount fits, from worst to best; ``external`` gives Kueue's three names."""

TOO_MUCH, IN_USE = "more than there could be", "not enough unused quota"
"""Why an amount does not fit, as text."""

NoFitReason: TypeAlias = Literal[
    "TopologyPlacementFailed", "WaitingForQuota", "ExceedsMaxQuota", "NoMatchingFlavor"
]
"""What a flavor lacks: the pending reasons that trying a flavor can give."""

Oracle: TypeAlias = Callable[[FlavorResource, int], tuple[int, int]]
"""Returns, for an amount, NO_CANDIDATES, PREEMPT or RECLAIM, and the level after preemption."""


class Choice(msgspec.Struct, kw_only=True):
    """The flavor of one resource of one podset."""

    flavor: str
    mode: int
    borrow: int  # the level; 0: within the queue's own quota
    tried: int = -1  # where the flavor scan stopped; -1: it reached the last
    spared_units: int = 0  # the amount for which the oracle was spared; ``borrow`` may be less then


class Attempt(msgspec.Struct, kw_only=True):
    """One flavor that was tried for a podset."""

    flavor: str
    mode: int
    borrow: int = 0
    reason: NoFitReason | None = None  # why it does not fit; None: it does, or could
    message: str = ""  # the reason as text without amounts; empty: it fits
    resource: str = ""  # the resource that decided; empty: none was tried
    requested: int = 0
    cell: Cell | None = None


class Inputs(msgspec.Struct, kw_only=True, eq=False):
    """The fixed inputs of choosing one workload's flavors, and usage assumed so far."""

    state: State
    workload: Workload
    cq: ClusterQueueState
    oracle: Oracle
    only: Mapping[tuple[str, str], str] | None  # podset and resource to the one flavor allowed
    assumed: dict[FlavorResource, int] = {}  # by earlier podsets, less the replaced slice's
    cluster: str = ""  # placed jobs: whose flavors are tried; empty: any cluster's
    spares: bool = False  # the oracle is not called where another resource decides anyway


class GroupChoice(msgspec.Struct, kw_only=True, eq=False):
    """The result of the search over one resource group's flavors."""

    choices: dict[str, Choice] | None = None  # None: no flavor is possible
    fits: bool = False
    attempts: list[Attempt] = []
    passed_over: list[str] = []  # why flavors were skipped without a try


def choose_flavor(
    question: Inputs,
    podsets: list[PodSet],
    requests: dict[str, int],
    group: Group,
    stopped: int,
) -> GroupChoice:
    """Choose one flavor of a resource group for all requests of podsets together.

    Args:
        question: of the workload.
        podsets: must get the same flavor; a single one, unless they form a group.
        requests: their totals.
        group: its flavors are tried in order.
        stopped: where the last scan stopped; -1: begin with the first flavor.
    """
    resources = [name for name in group.resources if name in requests]
    fungibility = question.cq.spec.fungibility
    result = GroupChoice()
    best: Attempt | None = None
    at = -1
    for at in range(0 if question.only is not None else stopped + 1, len(group.slots)):
        slot = group.slots[at]
        if excluded := _exclusion(question, podsets, resources, slot):
            result.passed_over.append(excluded)
            continue
        attempt, choices = _try_flavor(question, podsets, slot, resources, requests)
        result.attempts.append(attempt)
        if not should_try_next_flavor(fungibility, attempt.mode, attempt.borrow):
            best, result.choices = attempt, choices
            break
        if attempt.mode != NO_FIT and (best is None or is_preferred(attempt, best, fungibility)):
            best, result.choices = attempt, choices
    if best is not None and result.choices is not None:
        result.fits = best.mode == FIT
        tried = -1 if at == len(group.slots) - 1 else at
        for choice in result.choices.values():
            choice.tried = tried
    return result


def should_try_next_flavor(fungibility: FlavorFungibility, mode: int, height: int) -> bool:
    """Tell whether the next flavor is tried too; see behaviour.md 5.4."""
    if mode <= NO_CANDIDATES:
        return True
    if mode < FIT and fungibility.when_can_preempt == "TryNextFlavor":
        return True
    return height > 0 and fungibility.when_can_borrow == "TryNextFlavor"


def fit_mode(
    question: Inputs, cell: Cell, units: int, settled: int = -1
) -> tuple[int, int, NoFitReason | None]:
    """Return how an amount fits into a queue's cell, at which level, and why if it does not.

    ``settled``: the level at which another resource of the flavor has no candidates: up to that
    level this amount makes the flavor neither better nor worse.
    """
    if units > cell.potential:
        return NO_FIT, 0, "ExceedsMaxQuota"
    height, may_reclaim = lowest_fitting_height(cell, units)
    if units <= 0 or units <= cell_available(cell):
        return FIT, height, None
    state, cq = question.state, question.cq
    if units <= cell.nominal or may_reclaim or _can_preempt_while_borrowing(state, cq):
        if height > settled:
            mode, height = question.oracle(cell.fr, units)
            return mode, height, "WaitingForQuota"
        return NO_CANDIDATES, height, "WaitingForQuota"
    return NO_FIT, 0, "WaitingForQuota"


def _can_preempt_while_borrowing(state: State, cq: ClusterQueueState) -> bool:
    """Tell whether a ClusterQueue's workloads may preempt in others though they borrow."""
    preemption = cq.spec.preemption
    if preemption.borrow_within_cohort != "Never":
        return True
    return bool(state.policy.fair_sharing) and preemption.reclaim_within_cohort != "Never"


def no_candidates(fr: FlavorResource, units: int) -> tuple[int, int]:
    """Return that there are no candidates: the oracle of searches without preemption."""
    del fr, units
    return NO_CANDIDATES, 0


def is_eligible(question: Inputs, podsets: list[PodSet], slot: Slot, resources: list[str]) -> bool:
    """Tell whether podsets may use a flavor at all, whatever quota there is."""
    if _exclusion(question, podsets, resources, slot):
        return False
    return not _mismatch(question, podsets, slot, resources)


def _exclusion(question: Inputs, podsets: list[PodSet], resources: list[str], slot: Slot) -> str:
    """Return why a flavor is skipped without a try; "" if it is not."""
    if question.only is not None:
        chosen = {
            question.only.get((podset.name, name)) for podset in podsets for name in resources
        }
        if slot.flavor not in chosen:
            return f"flavor {slot.flavor} was not chosen at nomination"
    allowed = question.workload.allowed_flavors
    if allowed is None or slot.flavor in allowed:
        return ""
    variants = gate_enabled(question.state.policy, "ConcurrentAdmission")
    return f"flavor {slot.flavor} is not among its allowed flavors" if variants else ""


def _try_flavor(
    question: Inputs,
    podsets: list[PodSet],
    slot: Slot,
    resources: list[str],
    requests: dict[str, int],
) -> tuple[Attempt, dict[str, Choice]]:
    """Try one flavor: its mode is the least preferred one of its resources."""
    if wrong := _mismatch(question, podsets, slot, resources):
        tried = Attempt(flavor=slot.flavor, mode=NO_FIT, reason="NoMatchingFlavor", message=wrong)
        return tried, {}
    attempt = Attempt(flavor=slot.flavor, mode=FIT)
    choices: dict[str, Choice] = {}
    for resource in resources:
        cell = slot.cells[resource]
        units = question.assumed.get(cell.fr, 0) + requests[resource]
        units -= replaced_units(question.state, question.workload, podsets, resource, slot.flavor)
        settles = question.spares and attempt.mode == NO_CANDIDATES
        settled = attempt.borrow if settles else -1
        mode, height, reason = fit_mode(question, cell, units, settled)
        if mode != FIT:
            attempt.requested, attempt.cell, attempt.resource = units, cell, resource
            attempt.message = TOO_MUCH if reason == "ExceedsMaxQuota" else IN_USE
        choice = Choice(flavor=slot.flavor, mode=mode, borrow=height)
        if mode == NO_CANDIDATES and height <= settled:
            choice.spared_units = units
        if mode == NO_FIT or is_preferred(attempt, choice, question.cq.spec.fungibility):
            attempt.mode, attempt.borrow = mode, height
        if mode == NO_FIT:
            attempt.reason, attempt.borrow = reason, 0
            return attempt, choices
        choices[resource] = choice
    if _all_must_fit(question.state):
        attempt.mode = min((choice.mode for choice in choices.values()), default=FIT)
    return attempt, choices


def _all_must_fit(state: State) -> bool:
    """Tell whether a flavor is as good as the worst mode of its resources.

    Where preemption is preferred to borrowing, Kueue ranks a resource that borrows below one that
    does not fit, and so the flavor as fitting: such a workload never starts there.
    """
    return state.scan.backtracks


def _mismatch(question: Inputs, podsets: list[PodSet], slot: Slot, resources: list[str]) -> str:
    if slot.spec is None:
        return "no such ResourceFlavor"
    if wrong := _cluster_mismatch(question, slot.spec):
        return wrong
    for podset in podsets:
        if question.workload.replaces and changes_flavor(
            question.state, question.workload, podset, slot, resources
        ):
            return "not the flavor of the slice that is replaced"
        if wrong := _topology_mismatch(question, podset, slot):
            return wrong
        if wrong := flavor_mismatch(podset, slot.spec):
            return wrong
    return ""


def _cluster_mismatch(question: Inputs, spec: FlavorSpec) -> str:
    """Return why a workload may not use a flavor because of the flavor's clusters; "": it may."""
    state, workload = question.state, question.workload
    if not workload.body:
        return flavor_refusal(state, workload, spec)
    if not question.cluster:
        return placement_refusal(state, workload, spec)
    if is_flavor_open(spec, question.cluster):
        return ""
    return (
        placement_refusal(state, workload, spec)
        or f"not in cluster {question.cluster}, with the others"
    )


def _topology_mismatch(question: Inputs, podset: PodSet, slot: Slot) -> str:
    """Return why a podset may not use a flavor because of topologies; "": it may.

    A flavor without a topology need have none if it has no quota of what the pods request.
    """
    cq, state = question.cq, question.state
    asks = requests_topology(podset)
    if not asks and not cq.has_topologies:
        return ""
    assert slot.spec is not None
    if asks and not slot.spec.topology:
        raw = pod_requests_of(state, question.workload, podset)
        if not any(name in raw for name in slot.cells if name != PODS):
            return ""
    return topology_mismatch(state, podset, slot.spec, only=cq.only_topologies)


def is_preferred(
    first: Attempt | Choice, other: Attempt | Choice, fungibility: FlavorFungibility
) -> bool:
    """Tell whether the mode and level of ``first`` are strictly preferred to those of ``other``."""
    worst = min(first.mode, other.mode)
    if worst == NO_FIT or (worst == NO_CANDIDATES and first.mode != other.mode):
        return first.mode > other.mode
    if fungibility.preference == "PreemptionOverBorrowing":
        return (-first.borrow, first.mode) > (-other.borrow, other.mode)
    return (first.mode, -first.borrow) > (other.mode, -other.borrow)
