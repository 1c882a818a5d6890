"""Podsets to flavors: what a workload could be given, or why not.

For each podset and resource group one flavor is chosen for all resources together, in the queue's
order, by how well it fits and by what the queue's fungibility allows. Nothing is changed.

Source: behaviour.md 5; conformance/flavorassigner.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import msgspec

from tidegate.contracts.decisions import HeldReason
from tidegate.core.charging import PODS, count, flavor_resource, per_pod, times
from tidegate.core.draft import Draft, Workload
from tidegate.core.eligibility import mismatch
from tidegate.core.forest import forest
from tidegate.core.rooms import Group, Room, Slot
from tidegate.core.tree import Cell, free, level
from tidegate.model.ids import FlavorResource
from tidegate.model.podset import PodSet
from tidegate.model.quota import FlavorFungibility

NO_FIT, NO_CANDIDATES, PREEMPT, RECLAIM, FIT = range(5)
"""How well an amount fits, from worst to best; ``external`` gives Kueue's three names."""

Oracle: TypeAlias = Callable[[FlavorResource, int], tuple[int, int]]
"""Who could be preempted for an amount: NO_CANDIDATES, PREEMPT or RECLAIM, and the level after."""

TOO_MUCH, IN_USE = "more than there could be", "not enough unused quota"
"""Why an amount does not fit, in words."""

_EXTERNAL = ("NoFit", "Preempt", "Preempt", "Preempt", "Fit")
_SEVERITY: dict[HeldReason, int] = {
    "TopologyPlacementFailed": 0,
    "WaitingForQuota": 1,
    "ExceedsMaxQuota": 2,
    "NoMatchingFlavor": 3,
}


class Choice(msgspec.Struct, kw_only=True):
    """The flavor of one resource of one podset."""

    flavor: str
    mode: int
    borrow: int  # the level; 0: within the queue's own quota
    tried: int = -1  # where the scan of flavors stopped; -1: it reached the last


class Attempt(msgspec.Struct, kw_only=True):
    """One flavor that was tried for a podset."""

    flavor: str
    mode: int
    borrow: int = 0
    reason: HeldReason | None = None  # why it does not fit; None: it does, or could
    said: str = ""  # the same in words without amounts; empty: it fits
    resource: str = ""  # the one that decided; empty: no resource was looked at
    asked: int = 0
    cell: Cell | None = None


class PodSetChoice(msgspec.Struct, kw_only=True):
    """What one podset could be given."""

    name: str
    count: int
    requests: dict[str, int]  # the podset's total
    choices: dict[str, Choice] = {}  # by resource
    attempts: list[Attempt] = []
    reasons: list[str] = []
    error: str = ""
    fits: bool = True  # no flavor had to be chosen that does not

    @property
    def mode(self) -> str:
        """Return Fit, Preempt or NoFit."""
        return external(self.worst)

    @property
    def worst(self) -> int:
        """Return the worst mode of its resources, those with amounts of 0 left out."""
        if self.fits:
            return FIT
        if not self.choices:
            return NO_FIT
        modes = [one.mode for name, one in self.choices.items() if self.requests.get(name)]
        return min(modes, default=FIT)


class Assignment(msgspec.Struct, kw_only=True):
    """What a workload could be given."""

    podsets: list[PodSetChoice]
    mode: str = "Fit"  # the worst of the podsets'
    borrows: int = 0  # the highest level of its resources
    reason: HeldReason | None = None  # why there is no fit
    usage: dict[FlavorResource, int] = {}  # what it would be charged beyond what it replaces, as
    # far as podsets were given flavors

    @property
    def scan(self) -> tuple[dict[str, int], ...]:
        """Return where each podset's scan of flavors stopped, by resource."""
        return tuple({name: one.tried for name, one in p.choices.items()} for p in self.podsets)


class _Question(msgspec.Struct, kw_only=True):
    """What stays the same while one workload's flavors are chosen."""

    draft: Draft
    workload: Workload
    room: Room
    oracle: Oracle
    only: Mapping[tuple[str, str], str] | None  # podset and resource to the one flavor allowed
    assumed: dict[FlavorResource, int] = {}  # by the podsets before, net of what is replaced


def external(mode: int) -> str:
    """Return Kueue's name of a mode: NoFit, Preempt or Fit."""
    return _EXTERNAL[mode]


def assign(  # noqa: PLR0913 - each is a degree of freedom of one search
    draft: Draft,
    workload: Workload,
    *,
    oracle: Oracle,
    room: Room | None = None,
    counts: tuple[int, ...] | None = None,
    only: Mapping[tuple[str, str], str] | None = None,
    scan: tuple[dict[str, int], ...] = (),
) -> Assignment:
    """Choose flavors for a workload.

    Args:
        draft: its definitions and policy are looked at.
        workload: pending; its podsets, reclaimed pods and allowed flavors are looked at.
        oracle: asked where an amount does not fit as it is.
        room: of the ClusterQueue; None: the workload's.
        counts: pods of each podset in place of what it asks for.
        only: restricts each podset and resource to one flavor, and starts at the first.
        scan: where the scan of flavors stopped the last time.
    """
    if room is None:
        room = forest(draft).rooms[workload.cluster_queue]
    question = _Question(draft=draft, workload=workload, room=room, oracle=oracle, only=only)
    found = Assignment(podsets=[])
    worst = FIT
    for index, podset in enumerate(workload.podsets):
        pods = count(workload, podset) if counts is None else counts[index]
        stopped = scan[index] if index < len(scan) else {}
        one = _assign_podset(question, index, podset, pods, stopped)
        found.podsets.append(one)
        worst = min(worst, one.worst)
        if worst == NO_FIT:
            found.reason = _reason(one)
            break
    found.mode = external(worst)
    found.usage = question.assumed
    if worst != NO_FIT:
        levels = (one.borrow for podset in found.podsets for one in podset.choices.values())
        found.borrows = max(levels, default=0)
    return found


def _assign_podset(
    question: _Question, index: int, podset: PodSet, pods: int, stopped: dict[str, int]
) -> PodSetChoice:
    each = per_pod(question.draft, question.workload)[index]
    requests = times(each, pods)
    if PODS in question.room.group_of:
        requests[PODS] = pods
    found = PodSetChoice(name=podset.name, count=pods, requests=requests)
    for resource in sorted(requests, reverse=True):  # the order in which Kueue was seen to look
        if resource in found.choices:
            continue
        group = question.room.group_of.get(resource)
        if group is None:
            if requests[resource] == 0 or question.draft.policy.ignore_undeclared:
                continue
            _fail(found, f"resource {resource} is not covered by the ClusterQueue")
            return found
        if not _choose(question, found, podset, group, stopped.get(resource, -1)):
            return found
    for resource, choice in found.choices.items():
        fr = flavor_resource(choice.flavor, resource)
        before = question.assumed.get(fr, 0)
        asked = requests[resource] - _replaced(question, podset.name, resource, choice.flavor)
        question.assumed[fr] = before + asked
    return found


def _fail(found: PodSetChoice, reason: str) -> None:
    found.reasons, found.attempts, found.choices, found.fits = [reason], [], {}, False


def _choose(
    question: _Question, found: PodSetChoice, podset: PodSet, group: Group, stopped: int
) -> bool:
    """Choose one flavor of a group for all that a podset asks of it; tell whether there is one."""
    asked = [name for name in group.resources if name in found.requests]
    fungibility = question.room.spec.fungibility
    best: tuple[int, int] | None = None  # mode and level
    chosen: dict[str, Choice] = {}
    attempts: list[Attempt] = []
    reasons: list[str] = []
    at = -1
    for at in range(stopped + 1 if question.only is None else 0, len(group.slots)):
        slot = group.slots[at]
        if excluded := _excluded(question, podset, asked, slot):
            reasons.append(excluded)
            continue
        attempt, each = _try(question, found, podset, slot, asked)
        attempts.append(attempt)
        mode, height = attempt.mode, attempt.borrow
        if not _goes_on(fungibility, mode, height):
            best, chosen = (mode, height), each
            break
        if mode != NO_FIT and (best is None or _better((mode, height), best, fungibility)):
            best, chosen = (mode, height), each
    if best is None:
        found.reasons, found.attempts, found.choices, found.fits = reasons, attempts, {}, False
        return False
    tried = -1 if at == len(group.slots) - 1 else at
    for choice in chosen.values():
        choice.tried = tried
    found.choices.update(chosen)
    found.attempts.extend(attempts)
    found.fits = found.fits and best[0] == FIT
    return True


def _excluded(question: _Question, podset: PodSet, asked: list[str], slot: Slot) -> str:
    """Return why a flavor is passed over without a try; "" if it is not."""
    if question.only is not None:
        chosen = {question.only.get((podset.name, name)) for name in asked}
        if slot.flavor not in chosen:
            return f"flavor {slot.flavor} was not chosen at nomination"
    allowed = question.workload.allowed_flavors
    variants = question.draft.policy.gates.get("ConcurrentAdmission", False)
    if variants and allowed is not None and slot.flavor not in allowed:
        return f"flavor {slot.flavor} is not among the workload's allowed flavors"
    return ""


def _try(
    question: _Question, found: PodSetChoice, podset: PodSet, slot: Slot, asked: list[str]
) -> tuple[Attempt, dict[str, Choice]]:
    """Try one flavor: its mode is the least preferred one of its resources."""
    if wrong := _ineligible(question, podset, slot, asked):
        said = Attempt(flavor=slot.flavor, mode=NO_FIT, reason="NoMatchingFlavor", said=wrong)
        return said, {}
    attempt = Attempt(flavor=slot.flavor, mode=FIT)
    each: dict[str, Choice] = {}
    for resource in asked:
        cell = slot.cells[resource]
        units = question.assumed.get(cell.fr, 0) + found.requests[resource]
        units -= _replaced(question, podset.name, resource, slot.flavor)
        mode, height, reason = _fit(question, cell, units)
        if mode != FIT:
            attempt.asked, attempt.cell, attempt.resource = units, cell, resource
            attempt.said = TOO_MUCH if reason == "ExceedsMaxQuota" else IN_USE
        if mode == NO_FIT or _better(
            (attempt.mode, attempt.borrow), (mode, height), question.room.spec.fungibility
        ):
            attempt.mode, attempt.borrow = mode, height
        if mode == NO_FIT:
            attempt.reason, attempt.borrow = reason, 0
            break
        each[resource] = Choice(flavor=slot.flavor, mode=mode, borrow=height)
    return attempt, each


def _ineligible(question: _Question, podset: PodSet, slot: Slot, asked: list[str]) -> str:
    if slot.spec is None:
        return "no such ResourceFlavor"
    if question.workload.replaces:
        for resource in asked:
            had = _had(question, podset.name, resource)
            if had is not None and had[0] != slot.flavor:
                return "not the flavor of the slice that is replaced"
    return mismatch(podset, slot.spec)


def _had(question: _Question, podset: str, resource: str) -> tuple[str, int] | None:
    """Return the flavor and amount that the replaced slice holds, or None."""
    older = question.draft.workloads.get(question.workload.replaces)
    for given in () if older is None else older.assignment:
        if given.name == podset and resource in given.flavors:
            return given.flavors[resource], given.usage.get(resource, 0)
    return None


def _replaced(question: _Question, podset: str, resource: str, flavor: str) -> int:
    if not question.workload.replaces:
        return 0
    had = _had(question, podset, resource)
    return had[1] if had is not None and had[0] == flavor else 0


def _fit(question: _Question, cell: Cell, units: int) -> tuple[int, int, HeldReason | None]:
    """Return how an amount fits in a queue's cell, at which level, and if it does not, why."""
    if units > cell.potential:
        return NO_FIT, 0, "ExceedsMaxQuota"
    height, may_reclaim = level(cell, units)
    if units <= 0 or units <= free(cell):
        return FIT, height, None
    draft, room = question.draft, question.room
    if units <= cell.nominal or may_reclaim or preempts_while_borrowing(draft, room):
        mode, height = question.oracle(cell.fr, units)
        return mode, height, "WaitingForQuota"
    return NO_FIT, 0, "WaitingForQuota"


def preempts_while_borrowing(draft: Draft, room: Room) -> bool:
    """Tell whether a ClusterQueue's workloads may preempt in others though they borrow."""
    preemption = room.spec.preemption
    if preemption.borrow_within_cohort != "Never":
        return True
    return bool(draft.policy.fair_sharing) and preemption.reclaim_within_cohort != "Never"


def _goes_on(fungibility: FlavorFungibility, mode: int, height: int) -> bool:
    """Tell whether the next flavor is tried too; see behaviour.md 5.4."""
    if mode <= NO_CANDIDATES:
        return True
    if mode < FIT and fungibility.when_can_preempt == "TryNextFlavor":
        return True
    return height > 0 and fungibility.when_can_borrow == "TryNextFlavor"


def _better(one: tuple[int, int], other: tuple[int, int], fungibility: FlavorFungibility) -> bool:
    """Tell whether a mode and level is strictly preferred to another."""
    (mode, height), (mode_other, height_other) = one, other
    if mode == NO_FIT or mode_other == NO_FIT:
        return mode > mode_other
    if mode == NO_CANDIDATES or mode_other == NO_CANDIDATES:
        return mode > mode_other
    if fungibility.preference == "PreemptionOverBorrowing":
        return (-height, mode) > (-height_other, mode_other)
    return (mode, -height) > (mode_other, -height_other)


def _reason(one: PodSetChoice) -> HeldReason:
    """Return the least severe reason of the flavors tried: the nearest to a fit."""
    reasons = [attempt.reason for attempt in one.attempts if attempt.reason is not None]
    return min(reasons, key=_SEVERITY.__getitem__, default="NoMatchingFlavor")
