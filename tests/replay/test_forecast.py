"""A range for when a workload may start: it holds what comes to pass if the assumptions do."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.parts.drawn import drawn
from tests.parts.sample import ENTRIES
from tests.replay.world import QUEUES, World
from tidegate.core.folding.snapshot import encode
from tidegate.core.quota.forest import forest
from tidegate.model.policy import PodsReady, Policy
from tidegate.replay.rebuild import rebuild
from tidegate.replay.simulator.forecast import RuntimeHistory, Start, forecast, runtime_history
from tidegate.replay.simulator.trees import cluster_queue_of, queues_deciding_with, trees_of
from tidegate.replay.whynot_search.whynot import why_not

SECOND_US, MINUTE_US = 1_000_000, 60_000_000
NO_RUNS = RuntimeHistory(by_queue={}, every=[])
SWEEP, HUGE = "a/job-sweep-734ea", "a/job-huge-d526e"
lengths = st.lists(st.integers(1, 90), min_size=1, max_size=9)
jobs = st.lists(st.tuples(st.integers(0, 2), st.integers(1, 5), st.integers(0, 2)), max_size=9)


def test_what_ended_within_a_part_of_a_history_says_how_long_jobs_run() -> None:
    known = runtime_history(ENTRIES)
    assert known.by_queue == {"a/main": [4_200 * SECOND_US], "b/main": [4_199 * SECOND_US]}
    assert known.every == sorted(run for runs in known.by_queue.values() for run in runs)
    assert runtime_history(ENTRIES[40:60]) == NO_RUNS


def test_without_an_ended_job_it_is_now_at_the_earliest_and_no_end_is_shown() -> None:
    state, _ = rebuild(ENTRIES[:51])
    now_us = state.now_us
    start = forecast(state, NO_RUNS, now_us, ["team-a"]).starts()[SWEEP]
    assert now_us <= start.from_us <= now_us + SECOND_US
    assert start.to_us is None


def test_a_job_that_never_fits_has_no_start() -> None:
    state, _ = rebuild(ENTRIES)
    assert (
        forecast(state, runtime_history(ENTRIES), state.now_us, ["team-a", "team-b"]).starts() == {}
    )


@drawn(15)
@given(jobs, lengths)
def test_a_start_is_never_in_the_past_and_a_range_is_in_order(
    asked: list[tuple[int, int, int]], runs: list[int]
) -> None:
    world = World().open(Policy())
    for which, cpus, priority in asked:
        world.turn(world.wait(1), world.submit(QUEUES[which], cpus, priority))
        world.all_obey()
    state, before = rebuild(world.entries)[0], rebuild(world.entries)[0]
    now_us = state.now_us + MINUTE_US
    known = RuntimeHistory(by_queue={}, every=sorted(run * SECOND_US for run in runs))
    starts = forecast(state, known, now_us, QUEUES).starts()
    waiting = {workload.key for workload in state.workloads.values() if workload.phase == "pending"}
    assert set(starts) <= waiting
    for from_us, to_us in starts.values():
        assert now_us <= from_us <= (from_us if to_us is None else to_us)
    assert encode(state) == encode(before)


def test_with_one_run_time_both_ends_are_what_comes_to_pass() -> None:
    world = World().open(Policy())
    for _ in range(3):
        world.turn(world.wait(1), world.submit(QUEUES[0], 5, 0))
        world.all_obey()
    state = rebuild(world.entries)[0]
    known = RuntimeHistory(by_queue={}, every=[10 * MINUTE_US])
    begun = sorted(
        workload.admitted_us
        for workload in state.workloads.values()
        if workload.phase == "admitted"
    )
    starts = sorted(forecast(state, known, state.now_us, QUEUES).starts().values())
    assert starts
    assert starts[0] == Start(begun[0] + 10 * MINUTE_US, begun[0] + 10 * MINUTE_US)


@drawn(15)
@given(jobs, lengths)
def test_a_cohort_tree_played_alone_starts_its_workloads_as_all_trees_do(
    asked: list[tuple[int, int, int]], runs: list[int]
) -> None:
    world = World().open(Policy())
    for which, cpus, priority in asked:
        world.turn(world.wait(1), world.submit(QUEUES[which], cpus, priority))
        world.all_obey()
    state = rebuild(world.entries)[0]
    known = RuntimeHistory(by_queue={}, every=sorted(run * SECOND_US for run in runs))
    everybody = forecast(state, known, state.now_us, QUEUES).starts()
    alone = forecast(state, known, state.now_us, ["a"]).starts() | (
        forecast(state, known, state.now_us, ["c"]).starts()
    )
    assert alone == everybody
    assert encode(trees_of(state, QUEUES)) == encode(state)


def test_a_part_of_a_state_has_one_tree_alone() -> None:
    world = World().open(Policy())
    for which in (0, 1, 2, 0):
        world.turn(world.wait(1), world.submit(QUEUES[which], 5, 0))
    state = rebuild(world.entries)[0]
    part = trees_of(state, ["b"])
    assert {workload.cluster_queue for workload in part.workloads.values()} == {"a", "b"}
    assert len(part.by_uid) == len(part.workloads) == sum(map(len, part.by_queue.values())) == 3
    assert {key.partition("/")[2] for key in part.deadlines.at} <= part.workloads.keys()
    assert len(state.workloads) == 4


def test_trees_that_wait_for_each_others_pods_are_played_together() -> None:
    waits = Policy(pods_ready=PodsReady(block_admission=True))
    state = rebuild(World().open(waits).entries)[0]
    assert queues_deciding_with(state, ["c"]) == {"a", "b", "c"}
    assert queues_deciding_with(rebuild(World().open(Policy()).entries)[0], ["c"]) == {"c"}


def test_a_part_of_a_state_has_no_queues_of_other_trees() -> None:
    state = rebuild(World().open(Policy()).entries)[0]
    part = trees_of(state, ["b"])
    assert part.objects.cluster_queues.keys() == {"a", "b"}
    assert {queue.spec.cluster_queue for queue in part.objects.local_queues.values()} == {"a", "b"}
    assert part.readiness.keys() <= {"a", "b"}
    assert state.objects.cluster_queues.keys() == {"a", "b", "c"}
    assert [queue.name for queue in forest(part).cluster_queues.values()] == ["a", "b"]


def test_a_workload_without_a_queue_is_in_the_part_that_is_asked_for() -> None:
    world = World().open(Policy())
    world.turn(world.wait(1), world.submit("nowhere", 1, 0), world.submit("b", 1, 0))
    state = rebuild(world.entries)[0]
    [lost] = [each for each in state.workloads.values() if each.local_queue == "team/nowhere"]
    part = trees_of(state, [cluster_queue_of(state, lost)])
    assert why_not(part, lost.key) == why_not(state, lost.key)
    assert [obstacle.code for obstacle in why_not(part, lost.key).obstacles] == ["NoLocalQueue"]
    assert lost.key not in trees_of(state, ["b"]).workloads
