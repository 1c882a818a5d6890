"""Whoever begins to lead has nothing to add to what was decided: time alone makes no difference."""

from __future__ import annotations

from msgspec.structs import replace

from tests.core.cohort import STEP_US, Cluster
from tidegate.contracts import facts
from tidegate.contracts.decisions import DecisionEvent, StopOrdered, WorkloadHeld
from tidegate.core.gaps import BY_EVENT
from tidegate.core.rules import VERSION, decide
from tidegate.core.snapshot import decode, encode

SEEDS, STEPS = 8, 60


class Slow(Cluster):
    """A cluster whose workloads take their time to stop."""

    def __init__(self, seed: int, rules: int) -> None:
        self.stopping = list[StopOrdered]()
        super().__init__(seed, fair=seed % 2 == 0)
        policy = replace(self.draft.policy, rules=rules)
        self.fold(facts.PolicyConfigured(at_us=0, name="policy", policy=policy))

    def _obey(self, one: DecisionEvent) -> None:
        if isinstance(one, StopOrdered):
            self.stopping.append(one)
        else:
            super()._obey(one)

    def go_on(self) -> list[DecisionEvent]:
        """Play a step; return what somebody decides who begins to lead a little later."""
        for one in [one for one in self.stopping if self.rng.random() < 0.3]:
            self.stopping.remove(one)
            super()._obey(one)
        self.step()
        self.now_us += self.rng.randint(1, 4) * STEP_US
        self.fold(facts.RoundStarted(at_us=self.now_us, resource="jobs", session="s", round=1))
        assert decide(self.draft) == []
        return decide(decode(encode(self.draft)))


def added(rules: int) -> tuple[list[DecisionEvent], int]:
    """Return what beginners add, and how often somebody backed off."""
    found, held = list[DecisionEvent](), 0
    for seed in range(SEEDS):
        cluster = Slow(seed, rules)
        for _ in range(STEPS):
            found += cluster.go_on()
        held += sum(isinstance(one, WorkloadHeld) and one.until_us > 0 for one in cluster.told)
    return found, held


def test_who_begins_later_decides_nothing_that_was_not_decided() -> None:
    found, held = added(VERSION)
    assert found == []
    assert held > SEEDS


def test_before_version_3_of_the_rules_it_had_something_to_add() -> None:
    found, _ = added(BY_EVENT - 1)
    assert found
