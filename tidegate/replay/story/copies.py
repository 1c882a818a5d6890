"""One English sentence for each event about the copy of a placed job."""

from __future__ import annotations

from typing import TypeAlias, assert_never

from tidegate.contracts.decision_kinds.copies import CopyOrdered, CopyRemovalOrdered, RemovalCause
from tidegate.contracts.fact_kinds.clusters import CopyRemoved, CopyReported, EndShown, HomeGone

Copying: TypeAlias = (
    CopyOrdered | CopyRemovalOrdered | CopyReported | CopyRemoved | EndShown | HomeGone
)
_WHY: dict[RemovalCause, str] = {
    "Evicted": "the workload was evicted",
    "Finished": "the job at home shows how it ended",
    "Elsewhere": "the workload has no quota there",
    "NoWorkload": "its job at home does not exist",
}


def copying_text(event: Copying) -> str:
    """Return the sentence of an event about a placed job's copy."""
    match event:
        case CopyOrdered():
            return f"Its copy in cluster {event.copy.cluster} is ordered to be created."
        case CopyRemovalOrdered():
            again = f" (repetition {event.attempt - 1})" if event.attempt > 1 else ""
            return (
                f"Its copy in cluster {event.copy.cluster} is ordered to be deleted, because "
                f"{_WHY[event.reason]}{again}."
            )
        case CopyReported():
            return f"Its copy in cluster {event.copy.cluster} {_copy_state_text(event)}."
        case CopyRemoved():
            return f"Its copy in cluster {event.copy.cluster} is gone."
        case EndShown():
            return "The job at home shows how it ended."
        case HomeGone():
            return "The job at home is deleted; the workload goes once its copy is gone."
        case _:
            assert_never(event)


def _copy_state_text(event: CopyReported) -> str:
    state = event.state
    if event.finished:
        return f"finished: {event.finished}"
    if state.deleting:
        return "is being deleted"
    if state.suspended:
        return "exists and is suspended"
    return f"runs with {state.active} active pod{'' if state.active == 1 else 's'}"
