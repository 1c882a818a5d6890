"""With room for it a workload starts at once, whatever was preempted before.

The worst past is played first: large workloads of high priority that come at regular times, each of
which preempts the workload that started into the gap before it.
"""

from __future__ import annotations

from random import Random

import pytest

from bench.virtual.driving import Cluster
from bench.virtual.loads import QUOTA_CPU, Arrival, beginning, flat_queues

QUEUES, ROUNDS, CALM = 4, 12, 60
SECOND_US = 1_000_000


class Queues:
    """Four ClusterQueues of a cohort, and the workloads that arrive in them."""

    def __init__(self, seed: int, *, fair: bool) -> None:
        self.rng, self.cluster, self.count = Random(seed), Cluster(), 0
        self.cluster.fold(beginning("tidegate", fair=fair))
        self.cluster.fold(flat_queues(1, QUEUES))

    def arrive(self, queue: int, cpu: int, priority: int, run_s: int) -> str:
        """Submit a workload and decide; return its name."""
        self.count += 1
        name, now_us = f"job-{self.count}", self.cluster.now_us
        job = Arrival(now_us, name, queue, cpu, priority, run_s * SECOND_US)
        self.cluster.arrive(job)
        assert self.cluster.decide(10**6)
        return name

    def wait(self, seconds: int) -> None:
        """Let time pass, each end at its moment."""
        until_us = self.cluster.now_us + seconds * SECOND_US
        while self.cluster.ends and self.cluster.ends[0][0] <= until_us:
            self.cluster.now_us = self.cluster.ends[0][0]
            self.cluster.finish_due()
            assert self.cluster.decide(10**6)
        self.cluster.now_us = until_us
        self.cluster.pass_time()

    def preempt(self) -> None:
        """Play the worst past, and let everybody end."""
        for _ in range(ROUNDS):
            for queue in range(QUEUES):
                self.arrive(queue, 5, 100, 30)
                self.arrive(queue, QUOTA_CPU, 200, 50)
                self.wait(self.rng.choice((15, 15, 14, 16)))
        self.wait(10**6)

    def free(self, queue: int) -> int:
        """Return how much of a queue's own quota is not in use."""
        jobs = (self.cluster.jobs[key] for key in self.cluster.running)
        return QUOTA_CPU - sum(job.cpu for job in jobs if job.queue == queue)


@pytest.mark.parametrize("fair", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_a_workload_with_room_starts_at_once(seed: int, fair: bool) -> None:  # noqa: FBT001 - a case
    world = Queues(seed, fair=fair)
    world.preempt()
    before = world.cluster.tally.preemptions
    assert before > ROUNDS
    assert world.cluster.jobs == {}
    for _ in range(CALM):
        queue = world.rng.randrange(QUEUES)
        cpu, priority = world.rng.choice((1, 5, 5, QUOTA_CPU)), world.rng.choice((50, 100, 200))
        if cpu <= world.free(queue):
            name = world.arrive(queue, cpu, priority, world.rng.randint(10, 100))
            assert f"bench/{name}" in world.cluster.running
        world.wait(world.rng.randint(1, 20))
    assert world.cluster.tally.preemptions == before
