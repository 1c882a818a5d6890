"""What would be free without the evictable workloads, kept up to date as if added up anew."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.core.topology.cluster import Cluster, names
from tests.core.topology.worlds import World, worlds
from tests.parts.drawn import drawn
from tidegate.contracts import facts
from tidegate.core.decide import decide
from tidegate.core.topology.evictable import Limits, Rank
from tidegate.core.topology.fitting.counts import Shape, numbers
from tidegate.core.topology.fitting.request import Layer
from tidegate.core.topology.fitting.tree import PODS, View
from tidegate.core.topology.place import Placer
from tidegate.core.topology.usage import EVICTABLE_MAX, PlacedPods, Topologies
from tidegate.model.topology import HOSTNAME

LIMITS = Limits("a", own=2, others=1)
EACH = {"cpu": 1, PODS: 1}
MOVES = st.lists(
    st.tuples(
        st.integers(0, 3),  # which workload
        st.integers(0, 17),  # where
        st.sampled_from(["hold", "hold", "release", "rank", "leave", "charge"]),
        st.builds(Rank, st.sampled_from("ab"), st.integers(0, 2)),
    ),
    max_size=20,
)


@drawn(60)
@given(world=worlds(), moves=MOVES)
def test_it_is_what_is_free_and_what_evictable_workloads_use(
    world: World, moves: list[tuple[int, int, str, Rank]]
) -> None:
    tree = world.tree()
    topologies = Topologies(placers={"f": Placer(tree=tree)})
    shape = Shape(each=(("cpu", 1),), layers=(Layer(len(world.levels) - 1, 1),))
    for number, where, act, rank in moves:
        key, leaf = f"w{number}", where % len(tree.nodes)
        match act:
            case "hold":
                topologies.charge_workload_pods(
                    key, (PlacedPods("f", tree.shown(leaf), EACH, number + 1),), rank
                )
            case "release":
                topologies.release_workload_pods(key)
            case "charge":
                tree.charge(leaf, EACH, 1)
            case _ if key in topologies.placed:
                topologies.moves.record(key, rank if act == "rank" else None)
            case _:
                pass
        kept = topologies.numbers_without_candidates(LIMITS, "f", shape)
        anew = numbers(tree, _added_up(topologies), shape)
        assert (kept.pods, kept.slices) == (anew.pods, anew.slices)


def _added_up(topologies: Topologies) -> View:
    free = topologies.placers["f"].tree.free
    made = View(leaves=free.leaves, rows={name: list(row) for name, row in free.rows.items()})
    for key, held in topologies.placed.items():
        if LIMITS.may_evict(topologies.moves.ranks.get(key)):
            for placed_pods in held:
                made.add(
                    topologies.placers["f"].tree.number[placed_pods.values],
                    placed_pods.each,
                    placed_pods.pods,
                )
    return made


def test_no_more_views_are_kept_than_a_few() -> None:
    cluster = Cluster(2)
    cluster.job("above", 1, HOSTNAME, priority=100)
    cluster.job("below", 1, HOSTNAME, priority=-1)
    for number in range(2 * EVICTABLE_MAX):
        cluster.job(f"w{number}", 4, "rack", priority=number)
    cluster.decide()
    topologies = cluster.state.forest.topologies
    assert 0 < len(topologies.evictable) <= EVICTABLE_MAX
    kept = {of for of, _ in topologies.placers["hosts"].cached if isinstance(of, Limits)}
    assert kept <= {limits for limits, _ in topologies.evictable}


def test_a_workload_of_lowered_priority_may_be_evicted_from_then_on() -> None:
    cluster = Cluster(1)
    cluster.job("runs", 2, HOSTNAME, priority=3)
    cluster.decide()
    cluster.job("waits", 2, HOSTNAME, priority=2)
    cluster.job("below", 1, HOSTNAME, priority=1)
    assert "WorkloadPreempted" not in names(cluster.decide())
    known = cluster.state.workloads["n/runs"]
    cluster.fold(
        facts.WorkloadChanged(
            at_us=0, workload=known.key, uid=known.uid, queue="q", podsets=known.podsets, priority=1
        )
    )
    assert "WorkloadPreempted" in names(decide(cluster.state))
