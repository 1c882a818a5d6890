"""What two partitions decide together is what one decides alone, for trees share nothing."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest
from msgspec.structs import replace

from tests.core.partitions.world import TREES, Partition, World
from tests.core.telling import JOBS
from tidegate.contracts.codec import type_name
from tidegate.contracts.decisions import DecisionEvent
from tidegate.core.quota.forest import forest

PLACED = {"b": 1, "c": 1}
Said = tuple[str, str, str, object]


def live(world: World, seed: int, steps: int = 60) -> None:
    """Let jobs come, end and go, and quota change."""
    random = Random(seed)
    world.begin()
    for step in range(steps):
        jobs = world.jobs()
        match random.randrange(6):
            case 0 | 1 | 2:
                world.submit(f"job-{step}", random.choice([*TREES]), random.randint(1, 3))
            case 3 if jobs:
                over = random.choice(jobs)
                world.change(replace(over, finished="Succeeded"))
                world.remove(over, JOBS)
            case 4:
                world.define(random.choice([*TREES]), random.choice((1_000, 3_000, 5_000)))
            case _:
                world.pass_time()


def said(decisions: Sequence[DecisionEvent]) -> dict[str, list[Said]]:
    """Return what was decided of each ClusterQueue, in order."""
    of_queue = dict[str, list[Said]]()
    for event in decisions:
        queue = getattr(event, "cluster_queue", "")
        key, assigned = getattr(event, "workload", ""), getattr(event, "assignment", None)
        of_queue.setdefault(queue, []).append((type_name(event), key, queue, assigned))
    return of_queue


@pytest.mark.parametrize("seed", range(12))
def test_two_partitions_decide_as_one(seed: int) -> None:
    alone = Partition(0, "alone")
    live(World(seed, [alone], {}), seed)
    two = Partition(0, "first"), Partition(1, "second")
    live(World(seed, two, PLACED), seed)
    first, second = (said(partition.decisions) for partition in two)
    assert not first.keys() & second.keys()
    assert first | second == said(alone.decisions)
    assert {"a0", "a1"} >= first.keys() - {""}
    assert any(event[0] == "WorkloadAdmitted" for each in second.values() for event in each)


@pytest.mark.parametrize("seed", range(24))
def test_a_job_is_of_one_partition_wherever_its_queue_leads(seed: int) -> None:
    two = Partition(0, "first"), Partition(1, "second")
    world = World(seed, two, PLACED)
    world.begin()
    for step in range(40):
        stir(world, step)
        within_quota(two)
    for _ in range(20):  # a job that started before its queue led elsewhere ends where it was
        for over in [job for job in world.jobs() if not job.state.suspended]:
            world.remove(over, JOBS)
        world.pass_time()
    known = sorted(key for partition in two for key in partition.bus.state.workloads)
    assert known == sorted(job.workload for job in world.jobs())
    second = two[1].bus.state.workloads.values()
    assert {TREES[w.cluster_queue] for w in second} <= {"b", ""}


def stir(world: World, step: int) -> None:
    """Let a job come, queues lead elsewhere, and a job ask for another queue."""
    random = world.random
    world.submit(f"job-{step}", random.choice([*TREES]), random.randint(1, 3))
    if random.random() < 0.3:
        world.lead(random.choice([*TREES]), random.choice([*TREES, "nowhere"]))
    waiting = [job for job in world.jobs() if job.state.suspended]
    if waiting and random.random() < 0.5:
        world.change(replace(random.choice(waiting), queue=random.choice([*TREES, "none"])))
    if running := [job for job in world.jobs() if not job.state.suspended]:
        world.remove(random.choice(running), JOBS)
    world.pass_time()


def within_quota(partitions: Sequence[Partition]) -> None:
    """Assert that no tree has given away more than it has."""
    for partition in partitions:
        for tree in forest(partition.bus.state).trees:
            for cell in tree.root.cells.values():
                assert cell.usage <= cell.subtree_quota
