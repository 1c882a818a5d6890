"""Nothing older is taken up after something newer, and no object comes back that is gone."""

from __future__ import annotations

from collections.abc import Callable

from tests.simulation.judging.verdict import demand
from tidegate.contracts.codec import type_name
from tidegate.contracts.decisions import DecisionEvent
from tidegate.contracts.fact_kinds.clusters import CopyFact
from tidegate.contracts.fact_kinds.definitions import QueueElsewhere
from tidegate.contracts.fact_kinds.reception import GapObserved, RoundCompleted
from tidegate.contracts.facts import FactEvent, WorkloadSubmitted
from tidegate.jobs import workload


class Past:
    """What one ledger knows of objects, by uid."""

    def __init__(self) -> None:
        self.versions = dict[str, int]()  # of each that is known
        self._gone = dict[str, tuple[int, int]]()  # of each that was removed: term, version
        self._let_go = dict[str, tuple[str, int]]()  # by workload: job's uid, and its version
        self._direct = set[str]()  # Workloads that stood for themselves
        self.on_restored: Callable[[], None] | None = None

    def take_in(self, event: FactEvent | DecisionEvent, seq: int, term: int) -> None:
        """Follow one entry, and object if it is of the past."""
        match event:
            case RoundCompleted(restored=True):
                self.versions.clear()  # of a cluster that was restored: older is newer there
                self._gone.clear()
                if self.on_restored is not None:
                    self.on_restored()
            case GapObserved():
                text = f"at {seq} {event.found_seq} is said to miss what follows it"
                demand(event.found_seq >= event.expected_seq, "past", text)
            case CopyFact():
                pass  # its version is that of another object, in another cluster
            case QueueElsewhere():
                pass  # the partition that has it hands it on as it was when it was released
            case _:
                self._follow(event, seq, term)

    def _follow(self, event: FactEvent | DecisionEvent, seq: int, term: int) -> None:
        uid, version = getattr(event, "uid", ""), getattr(event, "version", 0)
        if type_name(event).endswith("Removed"):
            known = self.versions.pop(uid, 0)
            self._gone[uid] = term, max(version, known)
            self._let_go[getattr(event, "workload", "")] = uid, known
        elif uid and version:
            if isinstance(event, WorkloadSubmitted):
                self._give_way(event, term)
                ended, gone = self._gone.pop(uid, (term, 0))
                text = f"at {seq} version {version} of {uid} is taken up, gone since {gone}"
                # A new term does not know what was there before the last one's end.
                demand(version >= gone or term > ended, "past", text)
            known = self.versions.get(uid, 0)
            text = f"at {seq} version {version} of {uid} came after {known}"
            demand(version >= known, "past", text)
            self.versions[uid] = version

    def _give_way(self, event: WorkloadSubmitted, term: int) -> None:
        """Take a Workload that a job names as its own for there: it only stands for that now.

        It is reported again as it was, once the job is gone or names another.
        """
        uid, known = self._let_go.pop(event.workload, ("", 0))
        if event.prebuilt and uid in self._direct and uid in self._gone:
            self._gone[uid] = term, known
        if event.job.kind == workload.NAME:
            self._direct.add(event.uid)
