"""The cluster in virtual time does to jobs what the recorded one did: checks, ends, pods done."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.parts.drawn import drawn
from tests.replay.world import QUEUES, World
from tidegate.contracts import facts
from tidegate.contracts.chain import GENESIS, seal
from tidegate.contracts.codec import decode
from tidegate.contracts.decisions import QuotaReserved, WorkloadAdmitted
from tidegate.contracts.facts import Event
from tidegate.errors import TidegateError
from tidegate.model.podset import LabelSelector
from tidegate.model.policy import Policy
from tidegate.model.quota import (
    CheckRule,
    ClusterQueueSpec,
    FlavorQuotas,
    FlavorSpec,
    LocalQueueSpec,
    Quota,
    ResourceGroup,
)
from tidegate.replay.rebuild import rebuild
from tidegate.replay.simulator.changes import Defined
from tidegate.replay.simulator.loads import Job, scenario_of_load
from tidegate.replay.simulator.scenario import Scenario, recorded_scenario
from tidegate.replay.simulator.whatif import simulate
from tidegate.replay.whynot_search.whynot import dry_run

SECOND = 1_000_000
GROUP = ResourceGroup(
    resources=("cpu",),
    flavors=(FlavorQuotas(flavor="f", quotas={"cpu": Quota(nominal=4_000)}),),
)
SPEC = ClusterQueueSpec(groups=(GROUP,), namespace_selector=LabelSelector())


def objects(spec: ClusterQueueSpec = SPEC) -> list[Defined]:
    return [
        facts.FlavorDefined(at_us=0, name="f", spec=FlavorSpec()),
        facts.CheckDefined(at_us=0, name="budget", controller="c", active=True),
        facts.ClusterQueueDefined(at_us=0, name="q", spec=spec),
        facts.LocalQueueDefined(
            at_us=0, name="main", namespace="n", spec=LocalQueueSpec(cluster_queue="q")
        ),
    ]


def job(name: str, at_s: int, run_s: int | None, cpu: str = "4", count: int = 1) -> Job:
    run_us = None if run_s is None else run_s * SECOND
    return Job(
        name=name,
        namespace="n",
        queue="main",
        at_us=at_s * SECOND,
        run_us=run_us,
        count=count,
        requests={"cpu": cpu},
    )


def scene(*jobs: Job, spec: ClusterQueueSpec = SPEC) -> Scenario:
    return scenario_of_load(objects(spec), Policy(), jobs, 0)


def heard(scenario: Scenario) -> list[Event]:
    events = list[Event]()
    simulate(scenario, listen=events.append)
    return events


def admissions(scenario: Scenario) -> dict[str, int]:
    return {
        event.workload: event.at_us // SECOND
        for event in heard(scenario)
        if isinstance(event, WorkloadAdmitted)
    }


def test_the_next_starts_the_moment_the_one_before_ends() -> None:
    mapping = admissions(scene(job("a", 0, 60), job("b", 5, 30), job("c", 6, 10)))
    assert mapping == {"n/a": 0, "n/b": 60, "n/c": 90}


def test_a_job_that_runs_on_keeps_the_others_waiting_and_the_play_ends() -> None:
    side = simulate(scene(job("a", 0, None), job("b", 5, 30)))
    assert (side.figures.total.admissions, side.figures.total.waiting) == (1, 1)
    assert side.tally.pending_reasons["n/b"].reason == "WaitingForQuota"


def test_jobs_that_never_settle_are_reported_and_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tidegate.replay.simulator.virtual.DECISIONS_A_JOB", 1)
    with pytest.raises(TidegateError, match="they never settle"):
        simulate(scene(job("a", 0, 60), job("b", 5, 30)))


def test_a_check_answers_as_long_after_the_reservation_as_it_did() -> None:
    spec = replace(SPEC, checks=(CheckRule(name="budget"),))
    scenario = scene(job("a", 0, 60), spec=spec)
    events = heard(scenario)
    reserved = next(place for place, event in enumerate(events) if isinstance(event, QuotaReserved))
    later = [
        replace(event, at_us=event.at_us + 7 * SECOND) if place > reserved else event
        for place, event in enumerate(events)
    ]
    again = recorded_scenario(seal(GENESIS, 1, "local", later))
    assert (admissions(scenario), admissions(again)) == ({"n/a": 0}, {"n/a": 7})


def test_pods_that_are_done_give_their_quota_back_as_early_as_they_did() -> None:
    events = heard(scene(job("a", 0, 60, cpu="1", count=4), job("b", 5, 30, cpu="2")))
    done = facts.PodsReclaimed(at_us=20 * SECOND, workload="n/a", reclaimable={"main": 2})
    uid = next(event.uid for event in events if isinstance(event, facts.WorkloadSubmitted))
    later = [event for event in events if event.at_us > done.at_us]
    until = [event for event in events if event.at_us <= done.at_us]
    again = recorded_scenario(seal(GENESIS, 1, "local", [*until, replace(done, uid=uid), *later]))
    assert admissions(again) == {"n/a": 0, "n/b": 20}


def test_a_job_deleted_while_it_ran_is_removed_after_as_long() -> None:
    events = heard(scene(job("a", 0, 60), job("b", 5, 30)))
    ended = [
        facts.WorkloadRemoved(at_us=event.at_us, workload=event.workload, uid=event.uid)
        if isinstance(event, facts.WorkloadFinished) and event.workload == "n/a"
        else event
        for event in events
    ]
    again = heard(recorded_scenario(seal(GENESIS, 1, "local", ended)))
    assert [type(event) for event in again] == [type(event) for event in ended]


def test_a_job_deleted_while_it_waited_leaves_when_it_did() -> None:
    events = heard(scene(job("a", 0, 60), job("b", 5, 30), job("c", 6, 10)))
    uid = next(
        event.uid
        for event in events
        if isinstance(event, facts.WorkloadSubmitted) and event.workload == "n/b"
    )
    gone = facts.WorkloadRemoved(at_us=20 * SECOND, workload="n/b", uid=uid)
    until = [event for event in events if event.at_us <= gone.at_us]
    ended = [
        event for event in events if isinstance(event, facts.WorkloadFinished) and event.uid != uid
    ]
    again = recorded_scenario(seal(GENESIS, 1, "local", [*until, gone, *ended]))
    assert admissions(again) == {"n/a": 0, "n/c": 60}


numbers = st.integers(0, 9)
jobs = st.lists(st.tuples(numbers, numbers, numbers), max_size=6)


@drawn(25)
@given(jobs, st.tuples(numbers, numbers, numbers))
@example([(0, 4, 0), (0, 3, 0), (0, 3, 0)], (1, 4, 1))  # it starts, and is reclaimed from at once
def test_a_dry_run_says_what_then_happens(
    asked: list[tuple[int, int, int]], last: tuple[int, int, int]
) -> None:
    world = World().open()
    for which, cpus, priority in asked:
        world.turn(world.submit(QUEUES[which % 3], 1 + cpus % 6, priority % 3))
        world.all_obey()
    world.settle()
    state, _ = rebuild(world.entries)
    which, cpus, priority = last
    observed = world.submit(QUEUES[which % 3], 1 + cpus % 6, priority % 3)
    answer = dry_run(state, world.jobs[max(world.jobs)], "jobs.batch")
    world.turn(observed)
    world.all_obey()
    world.settle()
    events = (decode(entry.payload) for entry in world.entries)
    reserved = {event.workload for event in events if isinstance(event, QuotaReserved)}
    assert answer.now.starts == (answer.workload in reserved)


def test_a_job_that_ended_while_it_was_stopped_has_run_as_long_as_it_did() -> None:
    world = World().open()
    world.turn(world.submit("c", 4, 0))
    small = next(iter(world.jobs))
    world.turn(*world.obey(small))
    world.turn(world.wait(30), world.submit("c", 4, 2))
    assert world.entries[-1].type == "WorkloadPending"
    world.turn(world.wait(10), world.finish(small))
    [run] = [run for mine, run in recorded_scenario(world.entries).runs.items() if small in mine]
    assert (run.run_us, run.assumed) == (40 * SECOND, False)
