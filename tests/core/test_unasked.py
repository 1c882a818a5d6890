"""A flavor is as good as with an answer for each resource, where the oracle is spared some."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from tests.core.judge import wide
from tests.differential.random_scenarios import actions
from tests.differential.world import World
from tidegate.core.flavors.assignment import assign_flavors
from tidegate.core.flavors.choices import Assignment, call_spared_oracle
from tidegate.core.flavors.fitting import NO_CANDIDATES, PREEMPT, RECLAIM, Oracle
from tidegate.core.quota.forest import forest
from tidegate.core.quota.tree import add_usage, lowest_fitting_height
from tidegate.core.state.cluster_queues import ClusterQueueState
from tidegate.core.state.state import State, Workload
from tidegate.model.ids import FlavorResource

SEEDS = range(1, 60, 2)


def waiting(seed: int) -> Iterator[tuple[State, ClusterQueueState, Workload]]:
    """Yield each workload that waits in a full tree with three flavors, drawn from a seed."""
    scenario, rng = wide(seed), Random(seed)
    world = World(scenario, "tidegate")
    world.begin(
        0, actions(rng, world, [workload["name"] for workload in scenario.input["workloads"]])
    )
    queues = forest(world.state).cluster_queues
    for cq in queues.values():
        add_usage(cq.node, [(fr, cell.nominal) for fr, cell in cq.node.cells.items()])
    for workload in world.state.workloads.values():
        if workload.cluster_queue in queues:
            yield world.state, queues[workload.cluster_queue], workload


def drawn(cq: ClusterQueueState, seed: int, asked: list[FlavorResource]) -> Oracle:
    """Return an oracle that answers at random, the same to the same question."""

    def answer(fr: FlavorResource, units: int) -> tuple[int, int]:
        asked.append(fr)
        rng = Random(f"{seed}/{fr}/{units}")
        mode = rng.choice((NO_CANDIDATES, PREEMPT, RECLAIM))
        least = lowest_fitting_height(cq.node.cells[fr], units)[0]
        return mode, least if mode == NO_CANDIDATES else rng.randint(0, least)

    return answer


def counts(seed: int) -> tuple[int, int]:
    """Compare all assignments of a seed; return how often the oracle was asked, spared and not."""
    spared, asked = list[FlavorResource](), list[FlavorResource]()
    for state, cq, workload in waiting(seed):
        assignments = list[Assignment]()
        for spares, questions in ((True, spared), (False, asked)):
            oracle = drawn(cq, seed, questions)
            assignments.append(assign_flavors(state, workload, oracle=oracle, cq=cq, spares=spares))
        if assignments[0].mode == "Preempt":  # as where victims were found for all of it
            call_spared_oracle(drawn(cq, seed, []), assignments[0])
        assert assignments[0] == assignments[1]
    return len(spared), len(asked)


@pytest.fixture(scope="module")
def counted() -> list[tuple[int, int]]:
    return [counts(seed) for seed in SEEDS]


def test_what_the_oracle_was_spared_changes_no_assignment(counted: list[tuple[int, int]]) -> None:
    assert all(spared <= asked for spared, asked in counted)


def test_the_oracle_is_spared_some(counted: list[tuple[int, int]]) -> None:
    assert sum(spared for spared, _ in counted) < sum(asked for _, asked in counted)
