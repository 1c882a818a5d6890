"""What LocalQueues consumed decays with the half life towards what they use, as it is sampled.

Every expected amount is worked out by the rule's own formula: after a time, of what is used now
a share of 1 - 0.5^(time / half life) counts, and of what was consumed the rest.
"""

from __future__ import annotations

from decimal import Decimal
from unittest.mock import patch

import pytest
from msgspec.structs import replace

from tests.core.telling import BEGIN, SECOND
from tests.replay.world import World
from tidegate.contracts import observations
from tidegate.contracts.decisions import DecisionEvent, LocalQueueUsageSampled, QuotaReserved
from tidegate.core.folding import snapshot
from tidegate.core.folding.fold import apply
from tidegate.core.queueing.admission_fair_sharing import usage_by_local_queue
from tidegate.core.state import deadlines
from tidegate.core.state.state import State, Workload
from tidegate.model.policy import AdmissionFairSharing, Policy
from tidegate.model.quota import CheckRule, LocalQueueSpec
from tidegate.replay.rebuild import rebuild

HALF_LIFE_S, INTERVAL_S = 10, 5
ALPHA = 1 - 0.5 ** (INTERVAL_S / HALF_LIFE_S)


def shared(half_life_s: int = HALF_LIFE_S) -> Policy:
    return Policy(
        admission_fair_sharing=AdmissionFairSharing(
            half_life_us=half_life_s * SECOND, sampling_interval_us=INTERVAL_S * SECOND
        )
    )


def opened(policy: Policy) -> World:
    """Return a world whose ClusterQueue c offers by usage, with the LocalQueues c and d."""
    world = World().open(policy)
    queue = world.queue("c")
    assert isinstance(queue, observations.ClusterQueueObserved)
    spec = LocalQueueSpec(cluster_queue="c")
    world.turn(
        replace(queue, spec=replace(queue.spec, usage_based_admission=True)),
        observations.LocalQueueObserved(
            namespace="team", name="d", uid="lq-d", version=2, session="a", spec=spec
        ),
    )
    return world


@pytest.fixture
def world() -> World:
    return opened(shared())


def run(world: World, queue: str, cpus: int) -> str:
    """Let a job of a queue run; return its name."""
    world.turn(world.submit(queue, cpus, 0))
    world.all_obey()
    return max(world.jobs)


def consumed(state: State, queue: str) -> float:
    return float(state.local_usage[f"team/{queue}"].consumed.get("cpu", "0"))


def samples(decided: list[DecisionEvent]) -> list[LocalQueueUsageSampled]:
    return [decision for decision in decided if isinstance(decision, LocalQueueUsageSampled)]


def test_what_is_consumed_comes_nearer_to_what_is_used(world: World) -> None:
    state = world.bus.state
    run(world, "c", 4)
    expected = 4 * ALPHA  # the penalty of its admission
    assert consumed(state, "c") == pytest.approx(expected)
    for _ in range(4):
        expected = (1 - ALPHA) * expected + ALPHA * 4
        (decision,) = samples(world.turn(world.wait(INTERVAL_S)))
        assert consumed(state, "c") == pytest.approx(expected)
        assert float(decision.usage[0].consumed["cpu"]) == pytest.approx(expected)
    assert 3 < expected < 4


def test_half_of_it_is_forgotten_in_a_half_life_once_no_workload_runs(world: World) -> None:
    state = world.bus.state
    world.turn(world.finish(run(world, "c", 4)))
    before = consumed(state, "c")
    for _ in range(HALF_LIFE_S // INTERVAL_S):
        world.turn(world.wait(INTERVAL_S))
    assert consumed(state, "c") == pytest.approx(before / 2)


def test_a_time_that_is_longer_than_the_interval_counts_as_a_whole(world: World) -> None:
    state = world.bus.state
    world.turn(world.finish(run(world, "c", 4)))
    before = consumed(state, "c")
    world.turn(world.wait(3 * HALF_LIFE_S))
    assert consumed(state, "c") == pytest.approx(before / 8)


def test_an_admission_counts_on_top_of_what_had_decayed_by_then(world: World) -> None:
    state = world.bus.state
    run(world, "c", 2)
    world.turn(world.wait(2))
    first = consumed(state, "c")
    share = 1 - 0.5 ** (2 / HALF_LIFE_S)
    run(world, "c", 1)
    assert consumed(state, "c") == pytest.approx((1 - share) * first + share * 2 + ALPHA)


def test_much_usage_long_ago_comes_before_less_usage_just_now(world: World) -> None:
    world.turn(world.finish(run(world, "c", 4)))
    world.turn(world.wait(4 * HALF_LIFE_S))
    world.turn(world.finish(run(world, "d", 1)))
    later, sooner = world.submit("d", 4, 0), world.submit("c", 4, 0)
    decided = world.turn(later, sooner)
    first = next(decision for decision in decided if isinstance(decision, QuotaReserved))
    assert isinstance(sooner, observations.JobObserved)
    assert first.uid == sooner.uid


def test_without_a_half_life_nothing_is_remembered() -> None:
    world = opened(shared(half_life_s=0))
    run(world, "c", 4)
    world.turn(world.wait(INTERVAL_S))
    assert consumed(world.bus.state, "c") == 0


def test_no_queue_is_sampled_while_nothing_changes(world: World) -> None:
    """A Quantity has no part below a thousandth, so what decays is gone one day."""
    state = world.bus.state
    world.turn(world.finish(run(world, "c", 4)))
    assert "usage/c" in state.deadlines.at
    (decision,) = samples(world.turn(world.wait(20 * HALF_LIFE_S)))
    assert [decision.consumed for decision in decision.usage] == [{}, {}]
    assert deadlines.next_due(state) is None
    assert samples(world.turn(world.wait(10 * INTERVAL_S))) == []
    run(world, "d", 4)
    assert consumed(state, "d") == pytest.approx(4 * ALPHA)  # the idle time between does not count
    (decision,) = samples(world.turn(world.wait(INTERVAL_S)))
    assert [decision.name for decision in decision.usage if decision.consumed] == ["d"]


def test_a_new_local_queue_is_reported_at_once(world: World) -> None:
    spec = LocalQueueSpec(cluster_queue="c")
    new = observations.LocalQueueObserved(
        namespace="team", name="e", uid="lq-e", version=3, session="a", spec=spec
    )
    (decision,) = samples(world.turn(new))
    assert [decision.name for decision in decision.usage] == ["c", "d", "e"]
    assert decision.at_us >= BEGIN


def test_what_is_consumed_is_the_same_after_a_restart(world: World) -> None:
    run(world, "c", 3)
    world.turn(world.wait(INTERVAL_S))
    live = world.bus.state
    assert rebuild(world.entries)[0].local_usage == live.local_usage
    again = snapshot.decode(snapshot.encode(live))
    decision = LocalQueueUsageSampled(at_us=live.now_us + SECOND, cluster_queue="c")
    for state in (live, again):
        apply(state, decision)
    assert again.deadlines.at == live.deadlines.at


def test_a_penalty_goes_with_its_workload_to_another_queue() -> None:
    world = opened(shared())
    queue = world.queue("c")
    assert isinstance(queue, observations.ClusterQueueObserved)
    spec = replace(queue.spec, usage_based_admission=True, checks=(CheckRule(name="x"),))
    check = observations.CheckObserved(
        name="x", uid="x", version=3, session="a", controller="theirs", active=True
    )
    world.turn(check, replace(queue, spec=spec))
    world.turn(world.submit("c", 4, 0))
    usage, name = world.bus.state.local_usage, max(world.jobs)
    [key] = usage["team/c"].penalties
    world.turn(world.tell(name, queue="d"))
    assert (list(usage["team/c"].penalties), list(usage["team/d"].penalties)) == ([], [key])
    world.turn(world.delete(name))
    assert usage["team/d"].penalties == {}


def test_of_equal_workloads_of_a_local_queue_only_the_first_is_compared(world: World) -> None:
    """Else each admission would cost as many steps as workloads wait."""
    compared = list[int]()

    def counting(state: State, workloads: list[Workload]) -> dict[str, Decimal]:
        compared.append(len(workloads))
        return usage_by_local_queue(state, workloads)

    with patch("tidegate.core.queueing.admission_fair_sharing.usage_by_local_queue", counting):
        world.turn(*(world.submit(queue, 1, 0) for _ in range(20) for queue in ("c", "d")))
    assert len(world.jobs) == 40
    assert max(compared) == 2
