"""The fewest workloads that have to end for another to start, found by trials."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import msgspec

from tidegate.contracts.facts import WorkloadFinished
from tidegate.core.draft import Draft, Workload
from tidegate.core.forest import HOLDING, forest
from tidegate.model.ids import FlavorResource
from tidegate.replay.around import ahead
from tidegate.replay.trial import Trial

TRIALS_MAX = 500
"""Beyond so many trials no smaller set is looked for, and the answer says so."""
Kind = tuple[str, tuple[tuple[FlavorResource, int], ...]]


class Endings(msgspec.Struct, frozen=True, kw_only=True):
    """Workloads that, once ended, let another start; checked by deciding again without them."""

    workloads: tuple[str, ...]
    smallest: bool  # no smaller set does; else only: none of these can be left out
    preempts: tuple[str, ...] = ()  # it starts by making these leave besides


def search_endings(
    draft: Draft, workload: Workload, trial: Trial, trials_max: int = TRIALS_MAX
) -> Endings | None:
    """Return the fewest workloads whose end lets a pending one start; None: no end of any does.

    Looked at are those that hold quota in its tree, those of its own ClusterQueue first, then the
    lowest priority, then who was admitted last; and in a StrictFIFO queue those ahead of it.
    """
    candidates = _candidates(draft, workload)
    search = _Search(draft, trial, trials_max)
    found = search.enough(candidates)
    if found is None:
        return None
    smaller, exhausted = search.smaller(candidates, len(found))
    chosen = found if smaller is None else smaller
    return Endings(
        workloads=tuple(one.key for one in chosen),
        smallest=smaller is not None or exhausted,
        preempts=trial.after(search.facts(chosen)).preempts,
    )


class _Search:
    """Trials with workloads ended."""

    def __init__(self, draft: Draft, trial: Trial, trials_max: int) -> None:
        self._draft, self._trial = draft, trial
        self._left = trials_max

    def facts(self, chosen: Sequence[Workload]) -> list[WorkloadFinished]:
        """Return that these workloads ended."""
        return [
            WorkloadFinished(at_us=self._draft.now_us, workload=one.key, uid=one.uid)
            for one in chosen
        ]

    def enough(self, candidates: list[Workload]) -> list[Workload] | None:
        """Return a set that does and of which none can be left out; None: not even all do."""
        if not candidates or not self._starts(candidates):
            return None
        low, high = 0, len(candidates)
        while high - low > 1:
            middle = (low + high) // 2
            if self._starts(candidates[:middle]):
                high = middle
            else:
                low = middle
        chosen = candidates[:high]
        for one in list(chosen):
            without = [other for other in chosen if other is not one]
            if without and self._starts(without):
                chosen = without
        return chosen

    def smaller(self, candidates: list[Workload], size: int) -> tuple[list[Workload] | None, bool]:
        """Return the first smaller set that does, and whether all smaller ones were tried."""
        for count in range(1, size):
            for chosen in _unlike(candidates, count):
                if self._left <= 0:
                    return None, False
                if self._starts(chosen):
                    return chosen, True
        return None, True

    def _starts(self, chosen: Sequence[Workload]) -> bool:
        self._left -= 1
        return self._trial.after(self.facts(chosen)).starts


def _candidates(draft: Draft, workload: Workload) -> list[Workload]:
    room = forest(draft).rooms.get(workload.cluster_queue)
    if room is None:
        return []
    holding = [one for other in room.tree.rooms for one in other.holding.values()]

    def order(one: Workload) -> tuple[bool, int, int, str]:
        elsewhere = one.cluster_queue != workload.cluster_queue
        return elsewhere, one.priority, -one.admitted_us, one.key

    found = sorted((one for one in holding if one.phase in HOLDING), key=order)
    if room.spec.strategy == "StrictFIFO":
        found += sorted(ahead(draft, workload), key=order)
    return found


def _unlike(candidates: list[Workload], count: int) -> Iterator[list[Workload]]:
    """Yield sets of a size; of those whose members are charged alike only the first."""
    seen = set[tuple[Kind, ...]]()
    for chosen in combinations(candidates, count):
        kinds = tuple(sorted(_kind(one) for one in chosen))
        if kinds not in seen:
            seen.add(kinds)
            yield list(chosen)


def _kind(workload: Workload) -> Kind:
    """Return what the end of a workload changes; who only waits is like nobody else."""
    queue = workload.cluster_queue if workload.charges else workload.key
    return queue, tuple(sorted(workload.charges))
