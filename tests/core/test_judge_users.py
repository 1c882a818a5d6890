"""In a cluster as users have it, with long queues, each way to decide decides the same."""

from __future__ import annotations

from itertools import islice

import pytest

from bench.real.arrivals import jobs
from bench.real.cluster import Cluster
from bench.real.objects import beginning
from bench.real.steps import arrivals_a_second
from tests.core.judge import Way, fast, slow
from tidegate.contracts.codec import encode
from tidegate.core.state.state import State

QUEUES = 8
_FASTER = 4  # than jobs end, so that queues grow


class _Judged(Cluster):
    """A cluster in which one way decides, and which keeps its decisions."""

    def __init__(self, way: Way) -> None:
        super().__init__(state=State())
        self.way, self.journal = way, list[bytes]()

    def decide(self) -> None:
        """Decide until nothing more follows, and obey."""
        while True:
            self.state, decisions = self.way(self.state)
            if not decisions:
                return
            for decision in decisions:
                self.journal.append(encode(decision))
                self._apply_order(decision)


def decided(way: Way, jobs_max: int, seed: int, *, fair: bool) -> list[bytes]:
    """Return the decisions of some hours in which more jobs arrive than end."""
    cluster = _Judged(way)
    cluster.fold(beginning(QUEUES, "tidegate", fair=fair))
    arrivals = jobs("heavy", QUEUES, _FASTER * arrivals_a_second(QUEUES), seed)
    for job in islice(arrivals, jobs_max):
        cluster.run_until(job.at_us)
        cluster.step(job)
    return cluster.journal


def test_looking_at_every_head_in_every_cycle_decides_the_same() -> None:
    assert decided(fast, 100, 1, fair=False) == decided(slow, 100, 1, fair=False)


@pytest.mark.slow
@pytest.mark.parametrize("fair", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_it_does_with_longer_queues(seed: int, fair: bool) -> None:  # noqa: FBT001
    assert decided(fast, 160, seed, fair=fair) == decided(slow, 160, seed, fair=fair)
