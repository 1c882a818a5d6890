"""Judges whether the ledger takes in what another cluster of a member's name says.

Judged is by what the ledger knows. While it knows of another cluster in a member's place nothing
of that member ends. Under a new name it knows of no member's place (the event that told of it may
be lost, too): then nothing of a member ends, or comes, before a list of the cluster that is
bound to the name has begun.
"""

from __future__ import annotations

from collections.abc import Iterable

from tests.simulation.judging.verdict import demand
from tests.simulation.members.impostors import THEIRS
from tidegate.contracts.codec import decode
from tidegate.contracts.decisions import DecisionEvent, QuotaReleased, QuotaReserved
from tidegate.contracts.entry import Entry
from tidegate.contracts.fact_kinds.clusters import CopyRemoved, CopyReported, RemoteClusterChanged
from tidegate.contracts.facts import (
    FactEvent,
    LedgerOpened,
    RoundStarted,
    WorkloadAdopted,
    WorkloadFinished,
    WorkloadRemoved,
    WorkloadSubmitted,
)
from tidegate.core.members.cluster_status import REPLACED
from tidegate.model.clusters import AT, cluster_of


class Identities:
    """Which cluster each member is, as the entries of a ledger tell."""

    def __init__(self) -> None:
        self.replacements = 0
        self._replaced, self._unheard = set[str](), set[str]()
        self._replaced_us = dict[str, int]()  # the turn that took note of it
        self._uids = dict[str, str]()
        self._places = dict[str, str]()  # where what is placed runs, by workload

    def begin_again(self, entries: Iterable[Entry]) -> None:
        """Know what a ledger tells that was brought back, and no more."""
        self._uids.clear()
        self._places.clear()
        for event in (decode(entry.payload) for entry in entries):
            match event:
                case RemoteClusterChanged() | RoundStarted():
                    self._bind(event)
                case QuotaReserved() | WorkloadAdopted():
                    self._places[event.workload] = event.cluster
                case QuotaReleased():
                    self._places.pop(event.workload, None)
                case _:
                    pass

    def is_bound(self, name: str) -> bool:
        """Tell whether the ledger knows which cluster a member is."""
        return name in self._uids

    def read(self, event: FactEvent | DecisionEvent) -> None:
        """Take in the next event, or object to it."""
        match event:
            case LedgerOpened():
                self._replaced, self._unheard = set(), set(self._uids)
            case RoundStarted():
                self._bind(event)
                self._unheard.discard(cluster_of(event.resource))
            case RemoteClusterChanged():
                self._bind(event)
                self._see(event)
            case QuotaReserved() | WorkloadAdopted() | CopyReported():
                self._place(event)
            case _:
                self._judge(event)

    def _judge(self, event: FactEvent | DecisionEvent) -> None:
        match event:
            case WorkloadFinished():
                self._believe(self._teller(event), f"{event.workload} ends")
            case QuotaReleased():
                place = self._places.pop(event.workload, "") or cluster_of(event.workload)
                # What was told earlier in this turn counts.
                if event.at_us != self._replaced_us.get(place):
                    self._believe(place, f"{event.workload} ends")
            case CopyRemoved():
                self._believe(event.copy.cluster, f"a copy of {event.workload} ends")
            case WorkloadRemoved():
                self._believe(cluster_of(event.workload), f"{event.workload} ends")
            case WorkloadSubmitted():
                self._believe(cluster_of(event.workload), f"{event.workload} comes")
                known = cluster_of(event.workload) in self._uids
                text = f"{event.workload} of another cluster comes"
                demand(not (known and event.job.name == THEIRS), "loss", text)
            case _:
                pass

    def _place(self, event: QuotaReserved | WorkloadAdopted | CopyReported) -> None:
        if isinstance(event, CopyReported):
            # The reservation may be lost: then the report alone tells where a copy runs.
            self._places.setdefault(event.workload, event.copy.cluster)
        else:
            self._places[event.workload] = event.cluster

    def _teller(self, event: WorkloadFinished) -> str:
        """Return the cluster whose list told of an end; a version is that of the job at home."""
        place = "" if event.version else self._places.get(event.workload, "")
        return place or cluster_of(event.workload)

    def _bind(self, event: RemoteClusterChanged | RoundStarted) -> None:
        if not event.cluster_uid:
            return
        match event:
            case RemoteClusterChanged():
                name = event.cluster.removeprefix(AT)
            case RoundStarted():
                name = cluster_of(event.resource)
        self._uids[name] = event.cluster_uid

    def _see(self, event: RemoteClusterChanged) -> None:
        name = event.cluster.removeprefix(AT)
        self._replaced.discard(name)
        if event.reason == REPLACED:
            self._replaced_us[name] = event.at_us
            self._replaced.add(name)
            self.replacements += 1

    def _believe(self, place: str, text: str) -> None:
        doubted = self._replaced | self._unheard
        demand(place not in doubted, "loss", f"{text} by another's list")
