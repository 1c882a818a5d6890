"""Facts about observation itself: list rounds, gaps, refusals and time."""

from __future__ import annotations

from typing import TypeAlias

from tidegate.contracts.fact_kinds.definitions import Fact


class RoundStarted(Fact, frozen=True, kw_only=True, tag="SyncStarted/1"):
    """ingest starts a list of a resource; recorded only for the first list, or after a loss."""

    resource: str
    session: str
    round: int
    cluster_uid: str = ""  # of a member cluster that no event bound to a uid before


class RoundCompleted(Fact, frozen=True, kw_only=True, tag="SyncCompleted/1"):
    """ingest listed a resource completely; removals of absent objects precede this event."""

    resource: str
    session: str
    round: int
    list_version: int
    restored: bool = False  # earlier versions are void: the cluster was restored from a backup


class WatchesExpected(Fact, frozen=True, kw_only=True, tag="WatchesExpected/1"):
    """The resources that ingest watches: nothing is decided before the first list of each."""

    resources: tuple[str, ...]


class GapObserved(Fact, frozen=True, kw_only=True, tag="GapObserved/1"):
    """OBSERVATIONS lost messages: ingest publishes all objects again."""

    expected_seq: int
    found_seq: int  # equal to ``expected_seq``: no seq is missing, but a round's end shows a loss
    cluster: str = ""  # the member cluster whose stream it is; empty: the ledger's own


class StreamReplaced(Fact, frozen=True, kw_only=True, tag="StreamReplaced/1"):
    """OBSERVATIONS was created again: ingest publishes all objects again."""

    incarnation: int
    cluster: str = ""  # as in GapObserved


class ObservationRefused(Fact, frozen=True, kw_only=True, tag="ObservationRefused/1"):
    """A message or an object could not be read and is ignored."""

    subject: str
    digest: str  # SHA-256 of the bytes, hex
    error: str
    workload: str = ""  # if the object is a job that can be named
    uid: str = ""  # of the object, if that could be read
    reason: str = "Unreadable"  # of the Kubernetes Event on it


class TimePassed(Fact, frozen=True, kw_only=True, tag="TimePassed/1"):
    """A deadline is due; ``at_us`` is the new time."""


class ClockSkewed(Fact, frozen=True, kw_only=True, tag="ClockSkewed/1"):
    """NATS' clock jumped further than the heartbeats show: the ledger's time does not follow."""

    stored_us: int  # the NATS timestamp of the heartbeat


ReceptionFact: TypeAlias = (
    RoundStarted
    | RoundCompleted
    | WatchesExpected
    | GapObserved
    | StreamReplaced
    | ObservationRefused
    | TimePassed
    | ClockSkewed
)
