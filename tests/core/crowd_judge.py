"""The slow way judges the fast one where one amount is all that is asked for, and many wait.

``python -m tests.core.crowd_judge --seeds N``: the flat cohort of ``bench.virtual`` with sizes,
priorities and run times drawn from a seed. Jobs arrive and end one by one, so that what is known of
waiting ones lasts from one change to the next.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from random import Random

from bench.virtual.driving import Cluster, drive
from bench.virtual.loads import MS, Kind, Load
from tests.core.judge import Way, judge
from tidegate.contracts.codec import encode
from tidegate.contracts.facts import FactEvent

CPUS, PRIORITIES = (1, 2, 3, 5, 8, 20), (50, 50, 100, 200)


class Crowd(Cluster):
    """A cluster that is decided one way, and all that was folded, as it is recorded."""

    def __init__(self, way: Way) -> None:
        """Begin with nothing."""
        super().__init__()
        self.way, self.journal = way, list[bytes]()

    def fold(self, events: Iterator[FactEvent] | list[FactEvent]) -> None:
        """Fold facts."""
        listed = list(events)
        self.journal += map(encode, listed)
        super().fold(listed)

    def decide(self, decisions_max: int) -> bool:
        """Decide until nothing follows; tell whether that came within ``decisions_max`` in all."""
        while True:
            self.state, decisions = self.way(self.state)
            if not decisions:
                return True
            self.tally.decisions += len(decisions)
            assert self.tally.decisions <= decisions_max, "it settles"
            for decision in decisions:
                self.journal.append(encode(decision))
                self._apply_order(decision)


def journal(seed: int, way: Way) -> list[bytes]:
    """Play a crowd drawn from a seed; return all that was folded, as it is recorded."""
    crowd = Crowd(way)
    drive(load(seed), "tidegate", fair=False, staggered=True, cluster=crowd)
    return crowd.journal


def load(seed: int) -> Load:
    """Draw what some ClusterQueues of a cohort get."""
    rng = Random(f"{seed}/crowd")
    kinds = tuple(
        Kind(
            name=f"kind-{index}",
            cpu=rng.choice(CPUS),
            priority=rng.choice(PRIORITIES),
            count=rng.randint(1, 3),
            every_us=rng.randint(20, 200) * MS,
            run_us=rng.randint(50, 700) * MS,
        )
        for index in range(rng.randint(2, 4))
    )
    return Load("crowd", cohorts=1, queues_each=rng.randint(3, 9), kinds=kinds)


def main(arguments: Sequence[str]) -> int:
    """Judge seeds one after another; return 1 if decisions differ anywhere."""
    return judge(arguments, "tests.core.crowd_judge", __doc__, journal)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
