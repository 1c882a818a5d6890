"""Whatever is asked of whatever nodes: all pods are placed and no domain is overfilled.

What is kept up to date says the same as what is computed anew, and what is chosen without sorting
the same as what is chosen by sorting.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.core.topology.worlds import ELSEWHERE, World, worlds
from tests.parts.drawn import drawn
from tidegate.core.topology.fitting.counts import Numbers, Shape, fill, numbers
from tidegate.core.topology.fitting.request import Failure, Layer, request
from tidegate.core.topology.fitting.tree import PODS, Node, build
from tidegate.core.topology.place import (
    Ask,
    Options,
    Outcome,
    Placed,
    Placer,
    amounts,
    place,
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
    placer, found = placed(world, options)
    assume(not any(isinstance(one, Failure) for one in found))
    for ask, one in zip(world.asks, found, strict=True):
        assert isinstance(one, Placed)
        assert sum(pods for _, pods in one.leaves) == ask.count
        for leaf, pods in one.leaves:
            placer.tree.charge(leaf, amounts(ask), pods)
    assert min(units for row in placer.tree.free.rows.values() for units in row) >= 0


@drawn(60)
@given(world=worlds(), options=OPTIONS)
def test_pods_of_a_required_level_and_neighbouring_ranks_of_a_slice_share_a_domain(
    world: World, options: Options
) -> None:
    placer, found = placed(world, options)
    ask, one, tree = world.asks[0], found[0], placer.tree
    assume(isinstance(one, Placed))
    assert isinstance(one, Placed)
    wish = ask.podset.topology
    assert wish is not None
    if wish.required:
        level = world.levels.index(wish.required)
        assert len({ancestor(tree, leaf, level) for leaf, _ in one.leaves}) == 1
    ranked = [tree.number[told.values] for told in told_of(placer, one) for _ in range(told.count)]
    for layer in wish.layers:
        level = world.levels.index(layer.level)
        domains = [ancestor(tree, leaf, level) for leaf in ranked]
        slices = [domains[at : at + layer.size] for at in range(0, len(domains), layer.size)]
        assert [told for told in slices if len(set(told)) > 1] == []


def told_of(placer: Placer, found: Placed) -> tuple[TopologyDomain, ...]:
    return unpack(placer.recorded(found))


@drawn(60)
@given(world=worlds(), options=OPTIONS)
def test_choosing_without_sorting_gives_the_same(world: World, options: Options) -> None:
    asks = [
        replace(one, podset=replace(one.podset, preferred_affinity=(ELSEWHERE,)))
        for one in world.asks
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
        assert all(kept.ladder(at) is one for at, one in enumerate(ladders))
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
            found = placer.numbers(Shape(each=(("cpu", cpu),), layers=layers))
            assert columns(found) == columns(anew(found))
            assert len(placer.kept) <= 2
            tree.charge(leaf % len(tree.nodes), {"cpu": 1, PODS: 1}, 1)


@drawn(60)
@given(world=worlds(), lost=st.integers(0, 17))
def test_a_replacement_keeps_what_is_not_on_the_failed_node(world: World, lost: int) -> None:
    ask = replace(world.asks[0], group="")
    placer, [found] = placed(World(world.levels, world.nodes, (ask,)), Options())
    assume(isinstance(found, Placed))
    assert isinstance(found, Placed)
    tree, before = placer.tree, placer.recorded(found)
    for leaf, pods in found.leaves:
        tree.charge(leaf, amounts(ask), pods)
    failed = found.leaves[lost % len(found.leaves)][0]
    [node] = tree.nodes[failed].values()
    assert tree.place_node(replace(node, spec=replace(node.spec, ready=False)))
    made = replacement(placer, ask, before, tree.shown(failed)[-1])
    assume(isinstance(made, Placed))
    assert isinstance(made, Placed)
    assert sum(pods for _, pods in made.leaves) == ask.count
    now = dict(made.leaves)
    assert failed not in now
    assert all(now[leaf] >= pods for leaf, pods in found.leaves if leaf != failed)


def columns(found: Numbers) -> list[list[int]]:
    return [found.pods, found.slices, found.leaders, found.pods_l, found.slices_l]


def steps(found: Numbers) -> list[object]:
    levels = range(len(found.tree.levels))
    ladders = [found.ladder(level) for level in levels]
    return [
        (list(one.ascending()), list(one.descending()), one.largest(), one.at_least(2))
        for one in ladders
    ]


def anew(kept: Numbers) -> Numbers:
    made = Numbers(tree=kept.tree, view=kept.view, shape=kept.shape, sizes=kept.sizes)
    fill(made)
    return made


def test_a_search_for_even_domains_that_takes_too_many_steps_gives_way_to_the_ordinary_one() -> (
    None
):
    def nodes() -> Iterator[Node]:
        for number, cpu in enumerate((5, 4, 4, 3, 2, 2)):
            labels = {"rack": f"r{number // 3}", HOSTNAME: f"x{number}"}
            spec = NodeSpec(labels=labels, allocatable={"cpu": cpu, "pods": 9}, ready=True)
            yield Node(name=f"x{number}", spec=spec, usage={})

    def leaves(**options: Any) -> tuple[tuple[int, int], ...]:  # noqa: ANN401 - of Options
        placer = Placer(tree=build(("rack", HOSTNAME), nodes()), options=Options(**options))
        asked = TopologyRequest(preferred=HOSTNAME)
        [found] = place(placer, [Ask(podset=PodSet(topology=asked), count=8, each={"cpu": 1})])
        assert isinstance(found, Placed)
        return found.leaves

    assert leaves(balanced=True, steps_max=1) == leaves() != leaves(balanced=True)
