"""Usage never exceeds what borrowing allows, checked on a journal of events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from tests.differential.quota import Forest
from tests.differential.rest import held, left_of
from tidegate.contracts import facts
from tidegate.contracts.decisions import DecisionEvent, QuotaReleased, QuotaReserved
from tidegate.contracts.facts import FactEvent
from tidegate.model.podset import PodSetAssignment
from tidegate.model.quota import ClusterQueueSpec, CohortSpec

_Holding = tuple[str, tuple[PodSetAssignment, ...]]


class Books:
    """What each workload holds by the journal alone, and the quotas of the moment."""

    def __init__(self) -> None:
        self.queues: dict[str, ClusterQueueSpec] = {}
        self.cohorts: dict[str, CohortSpec] = {}
        self.holdings: dict[str, _Holding] = {}
        self.asked: dict[str, facts.WorkloadSubmitted] = {}
        self._forest: Forest | None = None

    def forest(self) -> Forest:
        """Return the trees with today's usage; built anew only after a quota changed."""
        if self._forest is None:
            self._forest = Forest(self.queues, self.cohorts)
            for workload, (queue, given) in self.holdings.items():
                self._forest.use(queue, held(given, left_of(self.asked[workload])))
        return self._forest

    def take(self, event: QuotaReserved) -> bool:
        """Enter a reservation; tell whether there was room for it."""
        usage = held(event.assignment, left_of(self.asked[event.workload]))
        allowed = self.forest().fits(event.cluster_queue, usage)
        self.holdings[event.workload] = (event.cluster_queue, event.assignment)
        self.forest().use(event.cluster_queue, usage)
        return allowed

    def give_back(self, workload: str) -> None:
        """Take a reservation out again, if there is one."""
        queue, given = self.holdings.pop(workload, ("", ()))
        if queue:
            self.forest().use(queue, held(given, left_of(self.asked[workload])), -1)

    def learn(self, event: FactEvent | DecisionEvent) -> None:
        """Follow whatever changes quota or frees it."""
        match event:
            case facts.ClusterQueueDefined():
                self.queues[event.name] = event.spec
                self._forest = None
            case facts.CohortDefined():
                self.cohorts[event.name] = event.spec
                self._forest = None
            case facts.WorkloadSubmitted():
                self.asked[event.workload] = event
            case facts.PodsReclaimed():
                was = self.asked[event.workload]
                self.asked[event.workload] = replace(was, reclaimable=event.reclaimable)
                self._forest = None
            case facts.WorkloadFinished() | facts.WorkloadRemoved() | QuotaReleased():
                self.give_back(event.workload)
            case _:
                pass  # it moves no quota


def excesses(journal: Iterable[FactEvent | DecisionEvent]) -> Iterator[str]:
    """Yield each reservation for which there was no room."""
    books = Books()
    for event in journal:
        if not isinstance(event, QuotaReserved):
            books.learn(event)
        elif not books.take(event):
            given = {
                assignment.name: (assignment.count, assignment.flavors, assignment.usage)
                for assignment in event.assignment
            }
            yield f"{event.workload} was given {given} beyond what {event.cluster_queue} may use"
