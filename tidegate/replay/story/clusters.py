"""One English sentence for each event about a workload on worker clusters."""

from __future__ import annotations

from typing import TypeAlias, assert_never

from tidegate.contracts.decision_kinds.clusters import (
    CheckDecided,
    ClusterChosen,
    ClustersNominated,
    RemoteDeactivated,
    RemoteWithdrawn,
)
from tidegate.contracts.decision_kinds.copies import (
    CopyDecision,
    CopyOrdered,
    CopyRemovalOrdered,
    RemovalCause,
)
from tidegate.contracts.fact_kinds.clusters import (
    CopyFact,
    CopyRemoved,
    CopyReported,
    EndShown,
    HomeGone,
    NominationReported,
    RemoteWorkloadRemoved,
    RemoteWorkloadReported,
)
from tidegate.contracts.observed.clusters import RemoteCopy

_Reported: TypeAlias = NominationReported | RemoteWorkloadReported | RemoteWorkloadRemoved
Copying: TypeAlias = (
    CopyOrdered | CopyRemovalOrdered | CopyReported | CopyRemoved | EndShown | HomeGone
)
Dispatching: TypeAlias = (
    ClustersNominated
    | ClusterChosen
    | RemoteWithdrawn
    | RemoteDeactivated
    | CheckDecided
    | _Reported
    | Copying
)

_WHY: dict[RemovalCause, str] = {
    "Evicted": "the workload was evicted",
    "Finished": "the job at home shows how it ended",
    "Elsewhere": "the workload has no quota there",
    "NoWorkload": "its job at home does not exist",
}


def dispatching_text(event: Dispatching) -> str:
    """Return the sentence of an event about a workload's worker clusters."""
    if isinstance(event, CopyDecision | CopyFact):
        return copying_text(event)
    match event:
        case ClustersNominated():
            clusters = _cluster_names(event.clusters)
            return f"Copies are sent to {clusters}{_again_text(again=event.again)}."
        case ClusterChosen():
            return f"Cluster {event.cluster} is chosen to run it{_again_text(again=event.again)}."
        case RemoteWithdrawn():
            text = f"Its copies on {_cluster_names(event.clusters)} are deleted"
            return f"{text}: {event.reason}{_again_text(again=event.again)}."
        case RemoteDeactivated():
            return (
                f"Its copy on cluster {event.cluster} is stopped{_again_text(again=event.again)}."
            )
        case CheckDecided():
            return f"Admission check {event.check} is {event.state}: {event.message}."
        case NominationReported() | RemoteWorkloadReported() | RemoteWorkloadRemoved():
            return _report_text(event)
        case _:
            assert_never(event)


def _report_text(event: _Reported) -> str:
    match event:
        case NominationReported():
            named = _cluster_names(event.clusters) if event.clusters else "no cluster"
            return f"An external dispatcher nominates {named}."
        case RemoteWorkloadReported():
            return f"Cluster {event.cluster} {_copy_state_text(event.copy)}."
        case RemoteWorkloadRemoved():
            return f"Cluster {event.cluster} no longer has a copy of it."
        case _:
            assert_never(event)


def _cluster_names(clusters: tuple[str, ...]) -> str:
    return f"cluster{'s' if len(clusters) > 1 else ''} {', '.join(clusters)}"


def _again_text(*, again: bool) -> str:
    return ", repeated" if again else ""


def _copy_state_text(copy: RemoteCopy) -> str:
    if copy.finished_us:
        return f"reports that it finished: {copy.reason}"
    if copy.foreign:
        return "has a job of that name that Tidegate did not create"
    if copy.differs:
        return "has a copy with other requests"
    if copy.evicted_us:
        return "has evicted it"
    if copy.admitted_us:
        return "has admitted it"
    return "has reserved quota for it" if copy.reserved else "has a copy of it"


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
            return f"Its copy in cluster {event.copy.cluster} {_placed_copy_text(event)}."
        case CopyRemoved():
            return f"Its copy in cluster {event.copy.cluster} is gone."
        case EndShown():
            end = f"that it ended ({event.reason})" if event.reason else "no end any more"
            return f"The job at home shows {end}."
        case HomeGone():
            return "The job at home is deleted; the workload goes once its copy is gone."
        case _:
            assert_never(event)


def _placed_copy_text(event: CopyReported) -> str:
    state = event.state
    if event.finished:
        return f"finished: {event.finished}"
    if state.deleting:
        return "is being deleted"
    if state.suspended:
        return "exists and is suspended"
    return f"runs with {state.active} active pod{'' if state.active == 1 else 's'}"
