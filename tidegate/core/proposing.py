"""What could be done for one workload now: flavors, victims, or fewer pods.

Source: behaviour.md 3.1 (assignment procedure), 7.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tidegate.core.anywhere import fit_anywhere
from tidegate.core.charging import count
from tidegate.core.draft import Draft, Workload
from tidegate.core.flavors import Assignment, assign
from tidegate.core.ordering import gate
from tidegate.core.preemption.search import oracle, targets
from tidegate.core.preemption.trial import Target
from tidegate.core.rooms import Room


class Proposal(msgspec.Struct, kw_only=True, eq=False):
    """An assignment and who must leave for it."""

    assignment: Assignment
    targets: list[Target] = []

    @property
    def works(self) -> bool:
        """Tell whether it fits, or would without its targets."""
        return self.assignment.mode == "Fit" or bool(self.targets)


def propose(
    draft: Draft, room: Room, workload: Workload, scan: tuple[dict[str, int], ...] = ()
) -> Proposal:
    """Return the best that can be done: all pods before fewer, whether or not others must leave."""
    full = _propose(draft, room, workload, scan=scan)
    if not full.works and draft.policy.compatibility != "kueue":
        elsewhere = fit_anywhere(draft, room, workload)
        if elsewhere is not None:
            return Proposal(assignment=elsewhere)
    if full.works or not gate(draft.policy, "PartialAdmission", default=True):
        return full
    return _fewer(draft, room, workload, scan) or full


def propose_again(draft: Draft, room: Room, workload: Workload, before: Assignment) -> Proposal:
    """Propose the flavors and counts of ``before`` once more, on the tree as it is now."""
    only = {
        (podset.name, resource): choice.flavor
        for podset in before.podsets
        for resource, choice in podset.choices.items()
    }
    counts = tuple(podset.count for podset in before.podsets)
    return _propose(draft, room, workload, counts=counts, only=only)


def _propose(  # noqa: PLR0913 - passed on as they are
    draft: Draft,
    room: Room,
    workload: Workload,
    *,
    scan: tuple[dict[str, int], ...] = (),
    counts: tuple[int, ...] | None = None,
    only: Mapping[tuple[str, str], str] | None = None,
) -> Proposal:
    ask = oracle(draft, room, workload)
    found = assign(draft, workload, oracle=ask, room=room, counts=counts, only=only, scan=scan)
    if found.mode != "Preempt":
        return Proposal(assignment=found)
    return Proposal(assignment=found, targets=targets(draft, workload, found, room=room))


def _fewer(
    draft: Draft, room: Room, workload: Workload, scan: tuple[dict[str, int], ...]
) -> Proposal | None:
    """Search the least reduction of counts that works, between the podsets' minimums."""
    full = [count(workload, podset) for podset in workload.podsets]
    spare = [
        max(0, pods - podset.min_count) if podset.min_count is not None else 0
        for pods, podset in zip(full, workload.podsets, strict=True)
    ]
    total = sum(spare)
    if total == 0:
        return None
    found: dict[int, Proposal] = {}
    low, high = 0, total + 1  # low: does not work or was not asked; high: as far as there is one
    while low < high:
        step = (low + high) // 2
        counts = tuple(n - d * step // total for n, d in zip(full, spare, strict=True))
        made = _propose(draft, room, workload, scan=scan, counts=counts)
        if made.works:
            found[step], high = made, step
        else:
            low = step + 1
    return found.get(low)
