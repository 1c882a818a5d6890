"""Searches the fewest workloads that have to end for another to start, by trials."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import msgspec

from tidegate.contracts.facts import WorkloadFinished
from tidegate.contracts.phases import HOLDING
from tidegate.core.quota.forest import forest
from tidegate.core.state.state import State, Workload
from tidegate.model.ids import FlavorResource
from tidegate.replay.whynot_search.trial import Trial

TRIALS_MAX = 500
"""After so many trials the search for a smaller set ends, and the answer says so."""
Kind = tuple[str, int, tuple[tuple[FlavorResource, int], ...]]


class Endings(msgspec.Struct, frozen=True, kw_only=True):
    """Workloads whose end lets another start; verified by deciding again without them."""

    workloads: tuple[str, ...]
    smallest: bool  # all smaller sets were tried; else only: none of these can be left out
    preempts: tuple[str, ...] = ()  # workloads that it also preempts to start


def search_endings(
    state: State, workload: Workload, trial: Trial, trials_max: int = TRIALS_MAX
) -> Endings | None:
    """Return the fewest workloads whose end lets a pending one start; None: there are none.

    Candidates are workloads with quota in its tree: first those of its own ClusterQueue, then by
    the lowest priority, then the last admitted; and in a StrictFIFO queue the workloads ahead.
    """
    candidates = _candidates(state, workload)
    search = _EndingSearch(state, trial, trials_max)
    chosen = search.minimal_sufficient(candidates)
    if chosen is None:
        return None
    # First as if workloads of a kind were interchangeable: finds most sets quickly, proves nothing.
    for groups in (_group_by_freed(candidates), [[candidate] for candidate in candidates]):
        smaller, complete = search.first_sufficient(_candidate_sets(groups, len(chosen) - 1))
        chosen = chosen if smaller is None else smaller
    return Endings(
        workloads=tuple(holder.key for holder in chosen),
        smallest=complete,
        preempts=trial.outcome_after(search.finish_facts(chosen)).preempts,
    )


class _EndingSearch:
    """Trials in which some workloads have ended."""

    def __init__(self, state: State, trial: Trial, trials_max: int) -> None:
        self._draft, self._trial = state, trial
        self._trials_max = trials_max
        self._tried = dict[frozenset[str], bool]()

    def finish_facts(self, chosen: Sequence[Workload]) -> list[WorkloadFinished]:
        """Return that these workloads ended."""
        return [
            WorkloadFinished(at_us=self._draft.now_us, workload=workload.key, uid=workload.uid)
            for workload in chosen
        ]

    def minimal_sufficient(self, candidates: list[Workload]) -> list[Workload] | None:
        """Return a sufficient set of which none can be left out; None: not even all suffice."""
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
        for workload in list(chosen):
            without = [other for other in chosen if other is not workload]
            if without and self._starts(without):
                chosen = without
        return chosen

    def first_sufficient(
        self, sets: Iterable[list[Workload]]
    ) -> tuple[list[Workload] | None, bool]:
        """Return the first sufficient set, and whether the trials sufficed to search all."""
        for chosen in sets:
            if len(self._tried) >= self._trials_max and _keys(chosen) not in self._tried:
                return None, False
            if self._starts(chosen):
                return chosen, True
        return None, True

    def _starts(self, chosen: Sequence[Workload]) -> bool:
        keys = _keys(chosen)
        if keys not in self._tried:
            self._tried[keys] = self._trial.outcome_after(self.finish_facts(chosen)).starts
        return self._tried[keys]


def _candidates(state: State, workload: Workload) -> list[Workload]:
    cq = forest(state).cluster_queues.get(workload.cluster_queue)
    if cq is None:
        return []
    holding = [holder for other in cq.tree.cluster_queues for holder in other.holding.values()]

    def order(holder: Workload) -> tuple[bool, int, int, str]:
        elsewhere = holder.cluster_queue != workload.cluster_queue
        return elsewhere, holder.priority, -holder.admitted_us, holder.key

    workloads = sorted((holder for holder in holding if holder.phase in HOLDING), key=order)
    if cq.spec.strategy == "StrictFIFO":
        from tidegate.replay.story.context import workloads_ahead  # noqa: PLC0415 - StrictFIFO alone asks

        workloads += sorted(workloads_ahead(state, workload), key=order)
    return workloads


def _candidate_sets(groups: Sequence[list[Workload]], count_max: int) -> Iterator[list[Workload]]:
    """Yield sets up to a size, the smallest first; from each group only its first members."""
    for count in range(1, count_max + 1):
        picked = _first_groups(groups, 0, count)
        while len(picked) == count:
            members = [iter(group) for group in groups]
            yield [next(members[index]) for index in picked]
            picked = _next_groups(groups, picked)


def _next_groups(groups: Sequence[list[Workload]], picked: list[int]) -> list[int]:
    """Return the groups of the next set of the same size; fewer: there is none."""
    for at in reversed(range(len(picked))):
        rest = _first_groups(groups, picked[at] + 1, len(picked) - at)
        if len(rest) == len(picked) - at:
            return picked[:at] + rest
    return []


def _first_groups(groups: Sequence[list[Workload]], start: int, count: int) -> list[int]:
    """Return the groups of the first ``count`` members, from a group on."""
    return list(islice((at for at in range(start, len(groups)) for _ in groups[at]), count))


def _group_by_freed(candidates: list[Workload]) -> list[list[Workload]]:
    """Group workloads by what their end frees; a pending workload is a group of its own.

    Workloads of a group are not fully interchangeable: victims are also chosen by age.
    """
    groups = dict[Kind, list[Workload]]()
    for candidate in candidates:
        queue = candidate.cluster_queue if candidate.charges else candidate.key
        groups.setdefault((queue, candidate.priority, tuple(sorted(candidate.charges))), []).append(
            candidate
        )
    return list(groups.values())


def _keys(chosen: Sequence[Workload]) -> frozenset[str]:
    return frozenset(workload.key for workload in chosen)
