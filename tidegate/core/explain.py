"""Why a workload waits: one reason of a fixed vocabulary, the numbers, and a sentence.

Source: behaviour.md 5.7, 5.8, 8.4.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.contracts.decisions import FlavorTried, HeldReason
from tidegate.core.draft import Draft, Workload
from tidegate.core.fitting import Attempt
from tidegate.core.flavors import Assignment, PodSetChoice
from tidegate.core.preemption.candidates import preemptable
from tidegate.core.rooms import Room
from tidegate.core.tree import bounded, free
from tidegate.model.quantity import render

Tried = tuple[tuple[str, str, str, str], ...]

SENTENCES: dict[HeldReason, str] = {
    "NoMatchingFlavor": "No flavor of the ClusterQueue suits podset {podset}",
    "ExceedsMaxQuota": "Podset {podset} asks for more than there could ever be",
    "WaitingForQuota": "There is not enough unused quota for podset {podset}",
    "TopologyPlacementFailed": "Topology requests are not supported yet",
    "WaitingForPreemptedWorkloads": "It starts once the workloads that it preempts have stopped",
    "Misconfigured": "It cannot be admitted as it is",
    "Suspended": "Its queue is stopped",
    "PendingEvaluation": "It has not been looked at yet",
    "WaitingForPodsReady": "Another workload's pods must be ready first",
    "AdmissionGated": "A gate on it is closed",
    "OnHold": "It is on hold",
    "Deactivated": "It is deactivated",
    "ReservedForPreemptor": "What is free is kept for a workload that preempted others",
    "Draining": "Its queue is being drained",
}
"""How each reason begins in English; a workload's own words follow."""


def kinds(assignment: Assignment | None) -> Tried:
    """Return what was tried without amounts: what a reason is compared by."""
    if assignment is None:
        return ()
    return tuple(
        (podset.name, attempt.flavor, attempt.resource, attempt.said)
        for podset in assignment.podsets
        for attempt in podset.attempts
        if attempt.said
    )


def tried(
    draft: Draft, room: Room, workload: Workload, assignment: Assignment
) -> tuple[FlavorTried, ...]:
    """Return what was tried with the amounts of this moment."""
    return tuple(
        _tried(draft, room, workload, podset, attempt)
        for podset in assignment.podsets
        for attempt in podset.attempts
        if attempt.said
    )


def sentence(reason: HeldReason, assignment: Assignment | None, details: str = "") -> str:
    """Return why a workload waits as one English sentence."""
    podset = _decisive(assignment)
    begin = SENTENCES[reason].format(podset="" if podset is None else podset.name)
    rest = details or ("" if podset is None else "; ".join(_details(podset)))
    return f"{begin}: {rest}." if rest else f"{begin}."


def _tried(
    draft: Draft, room: Room, workload: Workload, podset: PodSetChoice, attempt: Attempt
) -> FlavorTried:
    cell = attempt.cell
    if cell is None:
        return FlavorTried(
            podset=podset.name, flavor=attempt.flavor, resource="", reason=attempt.said
        )
    return FlavorTried(
        podset=podset.name,
        flavor=attempt.flavor,
        resource=attempt.resource,
        asked=attempt.asked,
        free=bounded(free(cell)),
        allowed=bounded(cell.potential),
        reason=attempt.said,
        preemptable=preemptable(draft, room, workload, cell.fr),
    )


def _decisive(assignment: Assignment | None) -> PodSetChoice | None:
    found = None if assignment is None else [one for one in assignment.podsets if not one.fits]
    return found[-1] if found else None


def _details(podset: PodSetChoice) -> Iterator[str]:
    for attempt in podset.attempts:
        if not attempt.said:
            continue
        cell = attempt.cell
        if cell is None:
            yield f"{attempt.said} in flavor {attempt.flavor}"
            continue
        name, limit = attempt.resource, max(0, bounded(free(cell)))
        word = "unused"
        if attempt.reason == "ExceedsMaxQuota":
            limit, word = bounded(cell.potential), "at most"
        asked = render(name, attempt.asked)
        yield f"{name} in flavor {attempt.flavor}: {asked} asked for, {render(name, limit)} {word}"
    yield from podset.reasons
