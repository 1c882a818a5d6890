"""A scenario played through the core: the runner is the cluster around it.

A workload that is ordered to stop has stopped at once; none is ever seen to start, since no rule of
the recorded worlds depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from tests.conformance.cases import Json
from tests.differential.scenarios import (
    NAMESPACE,
    SECOND_US,
    T0_US,
    Scenario,
    beginning,
    cohort_defined,
    consumed,
    local_queue_defined,
    queue_defined,
    submissions,
)
from tidegate.contracts import facts
from tidegate.contracts.decisions import DecisionEvent, StopOrdered
from tidegate.contracts.facts import FactEvent
from tidegate.core.decide import decide
from tidegate.core.folding.fold import apply
from tidegate.core.state.deadlines import next_due
from tidegate.core.state.state import State

_STEP_US = 10_000 * SECOND_US


class World:
    """One state, its clock, and what its objects ask for just now."""

    def __init__(self, scenario: Scenario, mode: str) -> None:
        self.scenario = scenario
        self.state = State()
        self.now_us = self._end_us = T0_US  # the end of the step
        self.journal: list[FactEvent | DecisionEvent] = []  # everything folded, in order
        self.asked = submissions(scenario)  # by name; as it is now
        self._reclaimed: dict[str, dict[str, int]] = {}
        self.fold(beginning(scenario, mode))
        self.fold(consumed(scenario))

    def fold(self, events: Iterable[FactEvent | DecisionEvent]) -> None:
        """Fold what happened, or was decided, before."""
        for event in events:
            apply(self.state, event)
            self.journal.append(event)

    def begin(self, step: int, actions: Iterable[Json]) -> list[DecisionEvent]:
        """Move the clock to a step, act, and return what the core decided on each action alone."""
        self.now_us = T0_US + _STEP_US * (step + 1)
        self._end_us = self.now_us + _STEP_US
        self.fold([facts.TimePassed(at_us=self.now_us)])
        decisions: list[DecisionEvent] = []
        for action in actions:
            self.fold(_ACTIONS[action["op"]](self, action))
            decisions += self.settle()
        return decisions

    def wait(self) -> bool:
        """Let time pass until the next deadline before the next step; tell whether there is one."""
        due_us = next_due(self.state)
        if due_us is None or due_us >= self._end_us:
            return False
        self.now_us = max(self.now_us, due_us)
        self.fold([facts.TimePassed(at_us=self.now_us)])
        return True

    def cycle(self) -> list[DecisionEvent]:
        """Let a second pass, run one scheduling cycle, let its victims leave."""
        self.now_us += SECOND_US
        self.fold([facts.TimePassed(at_us=self.now_us)])
        decisions = self._decide(cycles_max=1)
        self._stop(decisions)
        return decisions + self.settle()

    def settle(self) -> list[DecisionEvent]:
        """Decide all but scheduling cycles until nothing follows."""
        actual_decisions: list[DecisionEvent] = []
        while decisions := self._decide(cycles_max=0):
            self._stop(decisions)
            actual_decisions += decisions
        return actual_decisions

    def _decide(self, cycles_max: int) -> list[DecisionEvent]:
        decisions = decide(self.state, cycles_max=cycles_max)
        self.journal += decisions
        return decisions

    def _stop(self, decisions: Iterable[DecisionEvent]) -> None:
        self.fold(
            facts.WorkloadStopped(at_us=self.now_us, workload=decision.workload, uid=decision.uid)
            for decision in decisions
            if isinstance(decision, StopOrdered)
        )

    def create(self, action: Json) -> list[FactEvent]:
        """Return the facts of objects that appear."""
        return [
            msgspec.structs.replace(self.asked[name], at_us=self.now_us)
            for name in action["workloads"]
        ]

    def finish(self, action: Json) -> list[FactEvent]:
        """Return the fact of a job that succeeded."""
        name = action["workload"]
        return [
            facts.WorkloadFinished(at_us=self.now_us, workload=self.asked[name].workload, uid=name)
        ]

    def delete(self, action: Json) -> list[FactEvent]:
        """Return the fact of an object that is gone."""
        name = action["workload"]
        return [
            facts.WorkloadRemoved(at_us=self.now_us, workload=self.asked[name].workload, uid=name)
        ]

    def activate(self, action: Json) -> list[FactEvent]:
        """Return the fact of ``spec.active`` having become true, or false."""
        return self._changed(action["workload"], active=action["op"] == "activate")

    def set_priority(self, action: Json) -> list[FactEvent]:
        """Return the fact of another priority."""
        return self._changed(action["workload"], priority=action["priority"])

    def reclaim(self, action: Json) -> list[FactEvent]:
        """Return the fact of pods that are done for good."""
        name = action["workload"]
        done = self._reclaimed.setdefault(name, {})
        done[action["podSet"]] = action["count"]
        return [
            facts.PodsReclaimed(
                at_us=self.now_us,
                workload=self.asked[name].workload,
                uid=name,
                reclaimable=dict(done),
            )
        ]

    def update_queue(self, action: Json) -> list[FactEvent]:
        """Return the fact of a ClusterQueue's new spec."""
        name, spec = action["clusterQueue"], action["spec"]
        return [queue_defined(self.scenario, name, spec, self.now_us)]

    def update_cohort(self, action: Json) -> list[FactEvent]:
        """Return the fact of a Cohort's new spec."""
        return [cohort_defined(action["cohort"], action["spec"], self.now_us)]

    def update_local_queue(self, action: Json) -> list[FactEvent]:
        """Return the fact of a LocalQueue's new fields."""
        return [local_queue_defined(action["localQueue"], self.now_us)]

    def remove_local_queue(self, action: Json) -> list[FactEvent]:
        """Return the fact that a LocalQueue is deleted."""
        name = action["localQueue"]
        return [facts.LocalQueueRemoved(at_us=self.now_us, name=name, namespace=NAMESPACE)]

    def set_queue(self, action: Json) -> list[FactEvent]:
        """Return the fact of another LocalQueue's name."""
        return self._changed(action["workload"], queue=action["queue"])

    def _changed(self, name: str, **fields: object) -> list[FactEvent]:
        now = msgspec.structs.replace(self.asked[name], **fields)
        self.asked[name] = now
        return [
            facts.WorkloadChanged(
                at_us=self.now_us,
                workload=now.workload,
                uid=now.uid,
                queue=now.queue,
                priority=now.priority,
                podsets=now.podsets,
                active=now.active,
                elastic=now.elastic,
                replaces=now.replaces,
            )
        ]


_ACTIONS: dict[str, Callable[[World, Json], list[FactEvent]]] = {
    "create": World.create,
    "finish": World.finish,
    "delete": World.delete,
    "deactivate": World.activate,
    "activate": World.activate,
    "setPriority": World.set_priority,
    "setQueue": World.set_queue,
    "reclaimablePods": World.reclaim,
    "updateClusterQueue": World.update_queue,
    "updateCohort": World.update_cohort,
    "updateLocalQueue": World.update_local_queue,
    "removeLocalQueue": World.remove_local_queue,
}
