"""A new leader has nothing to add to what was decided: time alone makes no difference."""

from __future__ import annotations

from tests.core.cohort import STEP_US, Cluster
from tidegate.contracts import facts
from tidegate.contracts.decisions import DecisionEvent, StopOrdered
from tidegate.core.decide import decide
from tidegate.core.folding.snapshot import decode, encode

SEEDS, STEPS = 8, 60


class Slow(Cluster):
    """A cluster whose workloads take their time to stop."""

    def __init__(self, seed: int) -> None:
        self.stopping = list[StopOrdered]()
        super().__init__(seed, fair=seed % 2 == 0)

    def _obey(self, decision: DecisionEvent) -> None:
        if isinstance(decision, StopOrdered):
            self.stopping.append(decision)
        else:
            super()._obey(decision)

    def go_on(self) -> list[DecisionEvent]:
        """Play a step; return what a leader decides that begins to lead a little later."""
        for decision in [decision for decision in self.stopping if self.rng.random() < 0.3]:
            self.stopping.remove(decision)
            super()._obey(decision)
        self.step()
        self.now_us += self.rng.randint(1, 4) * STEP_US
        self.fold(facts.RoundStarted(at_us=self.now_us, resource="jobs", session="s", round=1))
        assert decide(self.state) == []
        return decide(decode(encode(self.state)))


def test_a_later_leader_decides_nothing_that_was_not_decided() -> None:
    for seed in range(SEEDS):
        cluster = Slow(seed)
        for _ in range(STEPS):
            assert cluster.go_on() == []
