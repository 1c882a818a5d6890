"""Facts about observation itself: list rounds, gaps, refusals and time."""

from __future__ import annotations

from tidegate.contracts.fact_kinds.definitions import Fact


class RoundStarted(Fact, frozen=True, kw_only=True, omit_defaults=True, tag="SyncStarted/1"):
    """Recorded only for the first round of a resource, or the first after a loss."""

    resource: str
    session: str
    round: int


class RoundCompleted(Fact, frozen=True, kw_only=True, omit_defaults=True, tag="SyncCompleted/1"):
    """A resource was listed to its end; removals of absent objects precede this."""

    resource: str
    session: str
    round: int
    list_version: int
    restored: bool = False  # versions known before are void: the cluster came from a backup


class WatchesExpected(Fact, frozen=True, kw_only=True, omit_defaults=True, tag="WatchesExpected/1"):
    """What ingest watches: nothing is decided before each of these completed a first round."""

    resources: tuple[str, ...]


class GapObserved(Fact, frozen=True, kw_only=True, omit_defaults=True, tag="GapObserved/1"):
    """OBSERVATIONS skipped messages: a resync follows."""

    expected_seq: int
    found_seq: int  # equal to ``expected_seq``: nothing is missing but what a round's end proves
    cluster: str = ""  # the member cluster whose stream it is; empty: the ledger's own


class StreamReplaced(Fact, frozen=True, kw_only=True, omit_defaults=True, tag="StreamReplaced/1"):
    """OBSERVATIONS began anew: a resync follows."""

    incarnation: int
    cluster: str = ""  # as in GapObserved


class ObservationRefused(
    Fact, frozen=True, kw_only=True, omit_defaults=True, tag="ObservationRefused/1"
):
    """A message or an object could not be read; it is recorded and nothing stops."""

    subject: str
    digest: str  # SHA-256 of the bytes, hex
    error: str
    workload: str = ""  # if the object is a job that can be named
    uid: str = ""  # of the object, if that could be read
    reason: str = "Unreadable"  # of the Kubernetes Event on it


class TimePassed(Fact, frozen=True, kw_only=True, omit_defaults=True, tag="TimePassed/1"):
    """A deadline of the state is due; ``at_us`` is the new time."""


class ClockSkewed(Fact, frozen=True, kw_only=True, omit_defaults=True, tag="ClockSkewed/1"):
    """The bus's clock stepped by more than the heartbeats show: recorded, not followed."""

    told_us: int
