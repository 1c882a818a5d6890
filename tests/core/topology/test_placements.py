"""Whatever is asked of whatever nodes: all pods are placed and no domain is overfilled.

What is kept up to date says the same as what is computed anew, and what is chosen without sorting
the same as what is chosen by sorting.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.core.topology.worlds import ELSEWHERE, World, worlds
from tests.parts.drawn import drawn
from tidegate.core.topology import balanced
from tidegate.core.topology.fitting.counts import Numbers, Shape, fill, numbers
from tidegate.core.topology.fitting.request import Failure, Layer, request
from tidegate.core.topology.fitting.tree import PODS, Node, build
from tidegate.core.topology.place import (
    Ask,
    Options,
    Outcome,
    Placed,
    Placer,
    place,
    pod_amounts,
)
from tidegate.core.topology.previous import ancestor, replacement
from tidegate.model.podset import PodSet, TopologyRequest
from tidegate.model.topology import HOSTNAME, NodeSpec, TopologyDomain, unpack

OPTIONS = st.builds(Options, mixed=st.booleans(), balanced=st.booleans(), affinity=st.booleans())


def placed(world: World, options: Options) -> tuple[Placer, list[Outcome]]:
    placer = Placer(tree=world.tree(), options=options)
    return placer, place(placer, world.asks)


@drawn(60)
@given(world=worlds(), options=OPTIONS)
def test_all_pods_are_placed_and_no_leaf_is_overfilled(world: World, options: Options) -> None:
    placer, placements = placed(world, options)
    assume(not any(isinstance(placement, Failure) for placement in placements))
    for ask, placement in zip(world.asks, placements, strict=True):
        assert isinstance(placement, Placed)
        assert sum(pods for _, pods in placement.leaves) == ask.count
        for leaf, pods in placement.leaves:
            placer.tree.charge(leaf, pod_amounts(ask), pods)
    assert min(units for row in placer.tree.free.rows.values() for units in row) >= 0


@drawn(60)
@given(world=worlds(), options=OPTIONS)
def test_pods_of_a_required_level_and_neighbouring_ranks_of_a_slice_share_a_domain(
    world: World, options: Options
) -> None:
    placer, placements = placed(world, options)
    ask, placement, tree = world.asks[0], placements[0], placer.tree
    assume(isinstance(placement, Placed))
    assert isinstance(placement, Placed)
    wish = ask.podset.topology
    assert wish is not None
    if wish.required:
        level = world.levels.index(wish.required)
        assert len({ancestor(tree, leaf, level) for leaf, _ in placement.leaves}) == 1
    ranked = [
        tree.number[topology_domain.values]
        for topology_domain in domains_of(placer, placement)
        for _ in range(topology_domain.count)
    ]
    for layer in wish.layers:
        level = world.levels.index(layer.level)
        domains = [ancestor(tree, leaf, level) for leaf in ranked]
        slices = [domains[at : at + layer.size] for at in range(0, len(domains), layer.size)]
        assert [row for row in slices if len(set(row)) > 1] == []


def domains_of(placer: Placer, placement: Placed) -> tuple[TopologyDomain, ...]:
    return unpack(placer.to_assignment(placement))


@drawn(60)
@given(world=worlds(), options=OPTIONS)
def test_choosing_without_sorting_gives_the_same(world: World, options: Options) -> None:
    asks = [
        replace(ask, podset=replace(ask.podset, preferred_affinity=(ELSEWHERE,)))
        for ask in world.asks
    ]
    placer = Placer(tree=world.tree(), options=replace(options, affinity=True))
    assert place(placer, asks) == placed(world, replace(options, affinity=True))[1]


@drawn(60)
@given(world=worlds(), changes=st.lists(st.tuples(st.integers(0, 17), st.integers(-2, 3))))
def test_what_is_kept_up_to_date_is_what_is_computed_anew(
    world: World, changes: list[tuple[int, int]]
) -> None:
    tree, ask = world.tree(), world.asks[0]
    asked = request(
        tree.levels,
        ask.podset.topology,
        ask.count,
        leader=False,
        implied=True,
        mixed=True,
        short=ask.short,
    )
    assert not isinstance(asked, Failure)
    leader = None if len(world.asks) == 1 else (("cpu", 1),)
    kept = numbers(tree, tree.free, Shape(each=(("cpu", 1),), leader=leader, layers=asked.layers))
    ladders = [kept.ladder(level) for level in range(len(tree.levels))]
    for at, pods in changes:
        tree.charge(at % len(tree.nodes), {"cpu": 1, PODS: 1}, pods)
        kept.follow()
    assert columns(kept) == columns(anew(kept))
    if leader is None and kept.ladders:
        assert all(kept.ladder(at) is ladder for at, ladder in enumerate(ladders))
        assert steps(kept) == steps(anew(kept))


@drawn(30)
@given(world=worlds(), turns=st.lists(st.tuples(st.integers(1, 4), st.integers(0, 17))))
def test_a_shape_that_was_forgotten_is_counted_anew_to_the_same(
    world: World, turns: list[tuple[int, int]]
) -> None:
    tree, layers = world.tree(), (Layer(len(world.levels) - 1, 1),)
    placer = Placer(tree=tree)
    with patch.multiple("tidegate.core.topology.place", SHAPES_MIN=2, DOMAINS_MAX=0):
        for cpu, leaf in turns:
            actual_numbers = placer.numbers(Shape(each=(("cpu", cpu),), layers=layers))
            assert columns(actual_numbers) == columns(anew(actual_numbers))
            assert len(placer.cached) <= 2
            tree.charge(leaf % len(tree.nodes), {"cpu": 1, PODS: 1}, 1)


@drawn(60)
@given(world=worlds(), lost=st.integers(0, 17))
def test_a_replacement_keeps_what_is_not_on_the_failed_node(world: World, lost: int) -> None:
    ask = replace(world.asks[0], group="")
    placer, [placement] = placed(World(world.levels, world.nodes, (ask,)), Options())
    assume(isinstance(placement, Placed))
    assert isinstance(placement, Placed)
    tree, before = placer.tree, placer.to_assignment(placement)
    for leaf, pods in placement.leaves:
        tree.charge(leaf, pod_amounts(ask), pods)
    failed = placement.leaves[lost % len(placement.leaves)][0]
    [node] = tree.nodes[failed].values()
    assert tree.place_node(replace(node, spec=replace(node.spec, ready=False)))
    made = replacement(placer, ask, before, tree.shown(failed)[-1])
    assume(isinstance(made, Placed))
    assert isinstance(made, Placed)
    assert sum(pods for _, pods in made.leaves) == ask.count
    now = dict(made.leaves)
    assert failed not in now
    assert all(now[leaf] >= pods for leaf, pods in placement.leaves if leaf != failed)


def columns(actual_numbers: Numbers) -> list[list[int]]:
    return [
        actual_numbers.pods,
        actual_numbers.slices,
        actual_numbers.leaders,
        actual_numbers.pods_l,
        actual_numbers.slices_l,
    ]


def steps(actual_numbers: Numbers) -> list[object]:
    levels = range(len(actual_numbers.tree.levels))
    ladders = [actual_numbers.ladder(level) for level in levels]
    return [
        (list(ladder.ascending()), list(ladder.descending()), ladder.largest(), ladder.at_least(2))
        for ladder in ladders
    ]


def anew(kept: Numbers) -> Numbers:
    made = Numbers(tree=kept.tree, view=kept.view, shape=kept.shape, sizes=kept.sizes)
    fill(made)
    return made


def test_a_search_for_even_domains_that_takes_too_many_steps_gives_way_to_the_ordinary_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def nodes() -> Iterator[Node]:
        for number, cpu in enumerate((5, 4, 4, 3, 2, 2)):
            labels = {"rack": f"r{number // 3}", HOSTNAME: f"x{number}"}
            spec = NodeSpec(labels=labels, allocatable={"cpu": cpu, "pods": 9}, ready=True)
            yield Node(name=f"x{number}", spec=spec, usage={})

    def leaves(**options: Any) -> tuple[tuple[int, int], ...]:  # noqa: ANN401 - of Options
        placer = Placer(tree=build(("rack", HOSTNAME), nodes()), options=Options(**options))
        asked = TopologyRequest(preferred=HOSTNAME)
        [placement] = place(placer, [Ask(podset=PodSet(topology=asked), count=8, each={"cpu": 1})])
        assert isinstance(placement, Placed)
        return placement.leaves

    even = leaves(balanced=True)
    monkeypatch.setattr(balanced, "STEPS_MAX", 1)
    assert leaves(balanced=True) == leaves() != even


def test_even_domains_in_which_slices_do_not_find_nodes_give_way_to_the_ordinary_search() -> None:
    def nodes() -> Iterator[Node]:
        for number, (rack, cpu) in enumerate((("r0", 3), ("r0", 3), ("r1", 2))):
            labels = {"zone": "z", "block": "b", "rack": rack, HOSTNAME: f"x{number}"}
            spec = NodeSpec(labels=labels, allocatable={"cpu": cpu, "pods": 9}, ready=True)
            yield Node(name=f"x{number}", spec=spec, usage={})

    tree = build(("zone", "block", "rack", HOSTNAME), nodes())
    placer = Placer(tree=tree, options=Options(balanced=True))
    asked = TopologyRequest(preferred="zone", slice_required=HOSTNAME, slice_size=2)
    ask = Ask(podset=PodSet(topology=asked), count=6, each={"cpu": 1})
    assert place(placer, [ask]) == [Placed(leaves=((0, 2), (1, 2), (2, 2)))]
