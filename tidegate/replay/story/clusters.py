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
from tidegate.contracts.decision_kinds.copies import CopyDecision
from tidegate.contracts.fact_kinds.clusters import (
    CopyFact,
    NominationReported,
    RemoteWorkloadRemoved,
    RemoteWorkloadReported,
)
from tidegate.contracts.observed.clusters import RemoteCopy
from tidegate.replay.story.copies import Copying, copying_text

_Reported: TypeAlias = NominationReported | RemoteWorkloadReported | RemoteWorkloadRemoved
Dispatching: TypeAlias = (
    ClustersNominated
    | ClusterChosen
    | RemoteWithdrawn
    | RemoteDeactivated
    | CheckDecided
    | _Reported
    | Copying
)


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
