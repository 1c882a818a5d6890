"""What would follow if: facts folded into a copy of the state, and the real core decides.

Cohort trees do not influence each other, so a copy holds the workloads of one tree alone. Whoever
is ordered to stop stops at once: a trial tells what would happen, not how long that takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec
from msgspec.structs import replace

from tidegate.contracts import decisions as decided
from tidegate.contracts import facts as told
from tidegate.contracts.facts import FactEvent
from tidegate.core.draft import Draft, Workload
from tidegate.core.families import acting
from tidegate.core.fold import apply
from tidegate.core.forest import HOLDING, forest
from tidegate.core.rules import decide
from tidegate.core.snapshot import decode, encode
from tidegate.model.podset import PodSetAssignment

TURNS_MAX = 200
"""After so many turns a trial ends though more may follow: Kueue's rules may go round for ever."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a trial came to."""

    starts: bool  # the workload was given quota
    preempts: tuple[str, ...] = ()  # who had to leave for it
    assignment: tuple[PodSetAssignment, ...] = ()  # what it was given
    held: str = ""  # why it waits, in a sentence, if it was said anew


class Trial:
    """A copy of the state that any number of things can be tried on."""

    def __init__(
        self, draft: Draft, workload: str, tick: Callable[[], None] = lambda: None
    ) -> None:
        self._key, self._tick = workload, tick
        self._base = encode(narrowed(draft, draft.workloads[workload]))
        self.count = 0  # trials so far

    def after(self, facts: Iterable[FactEvent]) -> Outcome:
        """Return what becomes of the workload after these facts."""
        self.count += 1
        self._tick()
        draft = decode(self._base)
        for fact in facts:
            apply(draft, fact)
        preempts, held = dict[str, None](), ""
        for _ in range(TURNS_MAX):
            taken = decide(draft)
            for decision in taken:
                self._obey(draft, decision, preempts)
                if isinstance(decision, decided.WorkloadPending) and decision.workload == self._key:
                    held = decision.message
            if not taken or _holds(draft, self._key):
                break
        starts = _holds(draft, self._key)
        return Outcome(
            starts=starts,
            preempts=tuple(preempts),
            assignment=draft.workloads[self._key].assignment if starts else (),
            held=held,
        )

    def _obey(
        self, draft: Draft, decision: decided.DecisionEvent, preempts: dict[str, None]
    ) -> None:
        match decision:
            case decided.WorkloadPreempted() if decision.by == self._key:
                preempts[decision.workload] = None
            case decided.StopOrdered():
                stopped = told.WorkloadStopped(
                    at_us=draft.now_us, workload=decision.workload, uid=decision.uid
                )
                apply(draft, stopped)
            case _:
                pass  # whether it starts does not depend on it


def narrowed(draft: Draft, workload: Workload) -> Draft:
    """Return a draft with only those workloads that can matter to one: of its tree, not ended."""
    room = forest(draft).rooms.get(workload.cluster_queue)
    names = {workload.cluster_queue} if room is None else {one.name for one in room.tree.rooms}
    kept = {
        key: one
        for key, one in draft.workloads.items()
        if one.cluster_queue in names and one.phase != "finished"
    }
    return replace(
        draft,
        workloads=kept,
        by_uid={uid: key for uid, key in draft.by_uid.items() if key in kept},
        by_queue={
            queue: dict.fromkeys(key for key in keys if key in kept)
            for queue, keys in draft.by_queue.items()
        },
        intents={key: intent for key, intent in draft.intents.items() if key in kept},
    )


def _holds(draft: Draft, key: str) -> bool:
    workload = draft.workloads.get(key)
    return workload is not None and acting(draft, workload).phase in HOLDING
