"""What would let a workload start: exact, against the core itself and against brute force."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.parts.drawn import drawn
from tests.replay.world import QUEUES, World
from tidegate.contracts.facts import ClusterQueueDefined, WorkloadFinished
from tidegate.core.folding.snapshot import decode, encode
from tidegate.core.state.state import State
from tidegate.errors import TidegateError
from tidegate.model.quota import Quota
from tidegate.replay.rebuild import rebuild
from tidegate.replay.whynot_search.trial import Trial
from tidegate.replay.whynot_search.whynot import WhyNot, why_not

numbers = st.integers(0, 9)
jobs = st.lists(st.tuples(numbers, numbers, numbers), min_size=3, max_size=9)


def crowded(asked: list[tuple[int, int, int]]) -> World:
    """Return a world in which every job that may start runs, and each that must leave has left."""
    world = World().open()
    for which, cpus, priority in asked:
        world.turn(world.submit(QUEUES[which % 3], 1 + cpus % 6, priority % 3))
        world.all_obey()
    world.settle()
    return world


def pending(state: State) -> list[str]:
    return [key for key, workload in state.workloads.items() if workload.phase == "pending"]


def answers(world: World) -> tuple[State, list[WhyNot]]:
    state, _ = rebuild(world.entries)
    before = encode(state)
    answers = [why_not(state, key) for key in pending(state)]
    assert encode(state) == before, "the state is not changed"
    return decode(before), answers


@drawn(12)
@given(jobs)
def test_a_raise_is_enough_and_one_unit_less_of_any_is_not(
    asked: list[tuple[int, int, int]],
) -> None:
    state, values = answers(crowded(asked))
    for answer in values:
        trial = Trial(state, answer.workload)
        for change in answer.quota:
            needed = {quota.flavor: quota.needed for quota in change.raises}
            assert trial.outcome_after([with_quota(state, change.cluster_queue, needed)]).starts
            for flavor, units in needed.items():
                less = {**needed, flavor: units - 1}
                assert not trial.outcome_after(
                    [with_quota(state, change.cluster_queue, less)]
                ).starts


@drawn(8)
@given(jobs)
@example([(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 8, 0), (1, 4, 1)])
def test_no_smaller_set_of_endings_does(asked: list[tuple[int, int, int]]) -> None:
    state, values = answers(crowded(asked))
    for answer in values:
        if answer.endings is None or answer.obstacles:
            continue
        trial = Trial(state, answer.workload)
        assert trial.outcome_after(ended(state, answer.endings.workloads)).starts
        assert answer.endings.smallest
        holding = [key for key, workload in state.workloads.items() if workload.charges]
        for size in range(1, len(answer.endings.workloads)):
            for others in combinations(holding, size):
                assert not trial.outcome_after(ended(state, others)).starts


def test_of_many_alike_as_few_as_needed_end_and_more_trials_are_not_spent() -> None:
    crowd = World(quotas={"a": 4, "b": 4, "c": 200}).open()
    crowd.turn(*(crowd.submit("c", 1, 1) for _ in range(200)))
    crowd.all_obey()
    crowd.turn(crowd.submit("c", 30, 0))
    state, _ = rebuild(crowd.entries)
    [key] = pending(state)
    answer = why_not(state, key, trials_max=100)
    assert answer.endings is not None
    assert (len(answer.endings.workloads), answer.endings.smallest) == (30, False)
    assert answer.trials < 200


def with_quota(state: State, queue: str, nominal: dict[str, int]) -> ClusterQueueDefined:
    defined = state.objects.cluster_queues[queue]
    [group] = defined.spec.groups
    flavors = tuple(
        replace(flavor, quotas={"cpu": Quota(nominal=nominal[flavor.flavor])})
        if flavor.flavor in nominal
        else flavor
        for flavor in group.flavors
    )
    spec = replace(defined.spec, groups=(replace(group, flavors=flavors),))
    return replace(defined, at_us=state.now_us, spec=spec)


def ended(state: State, keys: tuple[str, ...]) -> list[WorkloadFinished]:
    return [WorkloadFinished(at_us=state.now_us, workload=key) for key in keys]


def test_a_stopped_queue_is_in_the_way_and_no_quota_helps() -> None:
    world = World().open()
    world.stops["c"] = "Hold"
    world.turn(world.queue("c"))
    world.turn(world.submit("c", 1, 0))
    _, [answer] = answers(world)
    assert [obstacle.code for obstacle in answer.obstacles] == ["ClusterQueueStopped"]
    assert answer.obstacles[0].since_us > 0
    assert (answer.quota, answer.endings, answer.trials) == ((), None, 0)


def test_in_a_strict_queue_workloads_ahead_must_end_too() -> None:
    world = World().open()
    world.turn(world.submit("b", 40, 0))
    world.turn(world.submit("b", 1, 0))
    large, small = world.jobs
    _, [_, answer] = answers(world)
    assert answer.endings is not None
    assert answer.endings.workloads == (world.jobs[large].workload,)
    assert answer.workload == world.jobs[small].workload


def test_a_running_workload_has_no_answer() -> None:
    world = crowded([(2, 0, 0)])
    state, _ = rebuild(world.entries)
    [key] = state.workloads
    with pytest.raises(TidegateError, match="is admitted, not pending"):
        why_not(state, key)
