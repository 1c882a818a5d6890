"""Trees that a definition leaves equal are kept, and are what they would be if built again."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from tests.core.judge import fast, slow
from tests.core.redefined_judge import apart, journal, redefinition
from tests.differential.random_scenarios import actions
from tests.differential.world import World
from tidegate.contracts import facts
from tidegate.core.decide import decide
from tidegate.core.folding.snapshot import decode, encode
from tidegate.core.quota.forest import forest
from tidegate.core.quota.tree import Node, node_and_ancestors
from tidegate.core.state.cluster_queues import ClusterQueueState
from tidegate.core.state.state import State
from tidegate.model.quota import FlavorSpec

SEEDS = (*range(12), 121, 151, 202)
"""In the last three a definition gives workloads of a kept tree the right to preempt back."""


@pytest.mark.parametrize("seed", range(40))
def test_a_kept_tree_is_as_one_that_is_built_again(seed: int) -> None:
    scenario, rng = apart(seed), Random(f"{seed}/kept")
    world = World(scenario, "tidegate")
    fresh = [workload["name"] for workload in scenario.input["workloads"]]
    for number in range(6):
        world.begin(number, actions(rng, world, fresh))
        decide(world.state)
        for _ in range(4):
            world.fold([redefinition(rng, world)])
            assert _derived(world.state) == _derived(decode(encode(world.state)))


def _derived(state: State) -> dict[str, Any]:
    trees = forest(state)
    for cq in trees.cluster_queues.values():
        assert all(trees.cohorts[node.name] is node for node in node_and_ancestors(cq.node)[1:])
    return {name: _of_queue(cq) for name, cq in trees.cluster_queues.items()}


def _of_queue(cq: ClusterQueueState) -> tuple[object, ...]:
    tree = cq.tree
    return (
        (cq.spec, cq.active, cq.outside_seq, cq.moved_seq, bool(cq.below_root)),
        {fr: units for fr, units in cq.intent_units.items() if units},
        (sorted(cq.holding), sorted(cq.leaving), cq.counts_by_priority),
        {fr: sums for fr, sums in cq.usage_by_priority.items() if sums},
        [[(slot.flavor, slot.spec) for slot in group.slots] for group in cq.groups],
        (tree.left_seq, tree.outside_seq, tree.moved_seq, tree.cyclic, sorted(tree.leaving)),
        [other.name for other in tree.cluster_queues],
        [_of_node(node) for node in node_and_ancestors(cq.node)],
    )


def _of_node(node: Node) -> tuple[object, ...]:
    cells = {
        fr: (cell.nominal, cell.lending, cell.borrowing, cell.potential, cell.usage)
        for fr, cell in node.cells.items()
        if cell.defined or cell.usage
    }
    return node.name, node.weight, node.height, node.lendable, cells


@pytest.mark.parametrize("seed", SEEDS)
def test_looking_at_every_head_in_every_cycle_decides_the_same(seed: int) -> None:
    assert journal(seed, fast) == journal(seed, slow)


@pytest.mark.slow
@pytest.mark.timeout(1_800)
def test_it_holds_for_hundreds_of_scenarios() -> None:
    wrong = [seed for seed in range(2_000, 2_500) if journal(seed, fast) != journal(seed, slow)]
    assert wrong == []


def test_what_a_definition_does_not_concern_stays() -> None:
    world = _settled_world()
    trees = list(world.state.forest.trees)
    flavor = facts.FlavorDefined(at_us=world.now_us, name="new", spec=FlavorSpec())
    world.fold([flavor])
    assert world.state.forest.trees == trees
    changed = trees[0].cluster_queues[0]
    defined = world.state.objects.cluster_queues[changed.name]
    world.fold([replace(defined, spec=replace(defined.spec, stop_policy="Hold"))])
    assert world.state.forest.trees == trees
    assert not changed.active
    world.fold([replace(defined, spec=replace(defined.spec, groups=()))])
    assert world.state.forest.trees[0] is not trees[0]
    assert world.state.forest.trees[1:] == trees[1:]


def _settled_world() -> World:
    """Return a world of several trees with workloads."""
    scenario = apart(7)
    world, rng = World(scenario, "tidegate"), Random("settled")
    fresh = [workload["name"] for workload in scenario.input["workloads"]]
    world.begin(0, actions(rng, world, fresh))
    decide(world.state)
    assert len(world.state.forest.trees) > 1
    return world
